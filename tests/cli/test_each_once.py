"""Options given twice, empty, of no trainer or of the wrong value: one line with the part and the value."""

import shlex

import pytest

TWICE = [
    ("run --policy cem --elites 8 --elites 9", "--elites", "'8' and '9'"),
    ("run --policy cem --elites=8 --elites=9", "--elites", "'8' and '9'"),
    ("run --success a --criterion b", "--success", "'a' and 'b'"),
    ("run --seed 0 --seeds 1", "--seeds", "'0' and '1'"),
    ("run --env maze_toy --environment two_room_toy", "--env", "'maze_toy' and 'two_room_toy'"),
    ("run --policy cem --policy mppi", "--policy", "'cem' and 'mppi'"),
    ("run --executor processes --workers 1 --set executor.workers=2", "workers is given twice", "2 and 1"),
    ("train mlp --env maze_toy --output x --learning-rate .1 --learning-rate .2", "--learning-rate", "'.1' and '.2'"),
    ("esnr --env maze_toy --model oracle --sigma .1 --sigma .2", "--sigma", "'.1' and '.2'"),
    ("esnr --env maze_toy --model oracle --oracle --no-oracle", "--oracle", ""),
    ("power --oracle 0.5 --oracle 0.6 --learned 0.5", "--oracle", "'0.5' and '0.6'"),
    ("list --env maze_toy --env two_room_toy", "--env", "'maze_toy' and 'two_room_toy'"),
]
BAD = [
    ("run --policy cem --elites ''", "planner 'cem'", "''"),
    ("run --policy cem --plan-horizon ''", "planner 'cem'", "''"),
    ("run --policy cem --set planner.elites=", "planner 'cem'", "''"),
    ("run --executor processes --workers x", "executor 'processes'", "'x'"),
    ("train mlp --env maze_toy --output x --set planner.elites=3", "planner.elites", "planner"),
    ("train mlp --env maze_toy --output x --set executor.workers=3", "executor.workers", "executor"),
    ("train mlp --env maze_toy --output x --learning-rate x", "trainer 'mlp'", "'x'"),
    ("train --env maze_toy --output x mlp --learning-rate x", "trainer 'mlp'", "'x'"),
    ("train --output mlp --env maze_toy mpl", "'mpl'", "'mlp'"),
    ("train --epochs 3 mpl --env maze_toy --output x", "'mpl'", "'mlp'"),
    ("train mpl --help", "'mpl'", "did you mean 'mlp'?"),
    ("train mlp --output x", "trainer 'mlp'", "--env"),
    ("train mlp --decay", "trainer 'mlp'", "requires an argument"),
    ("esnr --env maze_toy --model oracle --sigma x", "diagnostic 'esnr'", "'x'"),
    ("sweep --policy cem --sweep planner.elites=4,x", "planner 'cem'", "'x'"),
    ("run --policy cem --preset paper --candidates 4", "planner 'cem'", "elites = 6"),
]


@pytest.mark.parametrize(("line", "part", "value"), [*TWICE, *BAD], ids=[line for line, *_ in (*TWICE, *BAD)])
def test_it_is_refused_in_one_line(wmel_command, tmp_path, line, part, value):
    done = wmel_command(*shlex.split(line), cwd=tmp_path)
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
    assert part in done.stderr and value in done.stderr and not list(tmp_path.iterdir())


def test_what_may_be_given_several_times_still_may_be(wmel_command):
    line = "run --policy cem --episodes 1 --set planner.candidates=8 --set planner.elites=2 --metric success@5"
    assert wmel_command(*line.split(), "--metric", "success@9").returncode == 0


@pytest.mark.parametrize("line", ["--env maze_toy mlp --output m", "--output m --env maze_toy mlp"])
def test_the_trainer_is_found_wherever_it_stands(wmel_command, tmp_path, line):
    done = wmel_command("train", *line.split(), "--epochs", "1", "--quiet", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "m" / "card.json").exists(), done.stderr
