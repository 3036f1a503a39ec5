import json

import pytest


def test_the_documents_command_line_works_word_for_word(wmel_command, tmp_path):
    line = "run --env maze_toy --policy tabular-world-model --episodes 30 --output run.json"
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["scorecard"]["success_rate"] == 1.0
    assert record["metadata"]["horizon"] == 60 and record["metadata"]["plan_horizon"] == 20
    assert record["metadata"]["evaluations"] == 200 and record["metadata"]["seed"] == 0
    assert len(record["results"]) == 30
    assert "success_rate" in done.stdout and "record: run.json" in done.stdout
    assert "30/30 episodes" in done.stderr


def test_every_option_is_taken(wmel_command, tmp_path):
    line = (
        "run --env two_room_toy --policy cem --episodes 5 --horizon 40 --plan-horizon 12 --candidates 30 --execute 2 "
        "--seed 7 --markdown card.md --out run.json --quiet"
    )
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    metadata = json.loads((tmp_path / "run.json").read_text())["metadata"]
    expected = {"env": "two_room_toy", "policy": "cem", "episodes": 5, "horizon": 40, "plan_horizon": 12, "seed": 7}
    assert metadata | expected | {"evaluations": 90, "model": "oracle", "execute": 2} == metadata
    assert (tmp_path / "card.md").read_text().startswith("### Scorecard: `cem`")


def test_a_layout_of_ones_own_is_run_and_recorded(wmel_command, tmp_path):
    (tmp_path / "corridor.txt").write_text("S...G\n")
    done = wmel_command("run", "--layout", "corridor.txt", "--policy", "greedy", "--out", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["scorecard"]["average_steps_to_success"] == 4
    assert record["metadata"]["layout"] == "S...G\n"


def test_a_metric_without_a_value_is_n_a_with_its_reason(wmel_command):
    done = wmel_command("run", "--policy", "greedy", "--episodes", "3")
    assert "no episode succeeded" in done.stdout
    assert "the policy declares no compute per plan call" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--env", "maze_toi"], "no environment named 'maze_toi'; did you mean 'maze_toy'?"),
        (["--policy", "greddy"], "no policy named 'greddy'; did you mean 'greedy'?"),
        (["--episodes", "0"], "the number of episodes must be positive, got 0"),
        (["--episodes", "-5"], "the number of episodes must be positive, got -5"),
        (["--episodes", "2.5"], "'2.5'"),
        (["--episodes", "many"], "'many'"),
        (["--episodes", "100001"], "at most 100000"),
        (["--horizon", "0"], "horizon must be positive, got 0"),
        (["--plan-horizon", "0"], "plan horizon must be positive, got 0"),
        (["--candidates", "-1"], "candidates must be positive, got -1"),
        (["--seed", "-1"], "seed must be a whole number"),
        (["--policy", "random", "--candidates", "5"], "policy 'random' has no setting 'candidates'; it takes none"),
        (["--output", "/proc/nowhere/run.json"], "cannot write /proc/nowhere/run.json"),
        (["--output", "."], "it is a folder"),
        (["--markdown", "/dev/null/card.md"], "cannot write /dev/null/card.md"),
        (["--layout", "absent.txt"], "cannot read the layout absent.txt"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(wmel_command, tmp_path, arguments, words):
    done = wmel_command("run", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr and done.stderr.startswith("wmel: ")
    assert len(done.stderr.splitlines()) == 1 and done.stdout == ""


def test_a_malformed_layout_names_row_and_character(wmel_command, tmp_path):
    (tmp_path / "bad.txt").write_text("S..\n.x.\n..G\n")
    done = wmel_command("run", "--layout", "bad.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert "row 2, character 2 of the layout is 'x'" in done.stderr
