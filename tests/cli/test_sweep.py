import json

import pytest

from tests.conftest import says


def test_the_command_of_the_published_repository_works_word_for_word(wmel_command, tmp_path):
    line = "sweep --env maze_toy --plan-horizons 5,10,15,20,30 --output sweep.json"
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "sweep.json").read_text())
    assert [point["plan_horizon"] for point in record["points"]] == [5, 10, 15, 20, 30]
    assert record["metadata"]["episodes_per_point"] == 30 and record["metadata"]["episode_horizon"] == 60
    assert record["metadata"]["epsilon"] == 0.01
    assert record["effective_horizon"]["value"] in (10, 15)
    assert "effective horizon H* =" in done.stdout
    assert "150/150 episodes" in done.stderr


def test_every_option_is_taken(wmel_command, tmp_path):
    line = (
        "sweep --env two_room_toy --policy cem --plan-horizons 12,4 --episodes-per-point 4 --episode-horizon 30 "
        "--epsilon 0.2 --candidates 12 --seed 3 --markdown s.md --output s.json --quiet"
    )
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    record = json.loads((tmp_path / "s.json").read_text())
    assert [point["plan_horizon"] for point in record["points"]] == [4, 12]
    assert record["metadata"]["evaluations"] == 36 and record["metadata"]["epsilon"] == 0.2
    assert record["points"][0]["results"][0]["episode_seed"] == 300000
    text = (tmp_path / "s.md").read_text()
    assert text.startswith("# cem in two_room_toy over plan_horizon\n")
    assert "| 12 | " in text and "effective horizon H\\* = " in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--plan-horizons", ""], "plan_horizons takes one or"),
        (["--plan-horizons", ",,"], "plan_horizons takes one or"),
        (["--plan-horizons", "5,x"], "plan_horizons takes ... got '5,x'"),
        (["--plan-horizons", "5,2.5"], "by commas, got '5,2.5'"),
        (["--plan-horizons", "5,0"], "plan_horizon ... 1, got 0"),
        (["--plan-horizons", "5,5"], "must differ"),
        (["--episodes-per-point", "0"], "episodes: must be above 0, got 0"),
        (["--episode-horizon", "-1"], "horizon: must be above 0, got -1"),
        (["--epsilon", "-1"], "epsilon must lie in [0, 1), got -1.0"),
        (["--epsilon", "nan"], "got nan"),
        (["--policy", "random"], "to sweep plan_horizon of"),
        (["--env", "two_rom_toy"], "did you mean 'two_room_toy'?"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(wmel_command, tmp_path, arguments, words):
    done = wmel_command("sweep", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says(done.stderr, words) and len(done.stderr.splitlines()) == 1
