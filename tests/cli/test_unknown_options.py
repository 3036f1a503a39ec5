"""A setting that is typed as an option of its own is named with the part that has it, and how it is written."""

import pytest

SPELLED = {  # what is typed -> how it is written
    "run --policy cem --smoothing 0.2": "planner 'cem': --set planner.smoothing=0.2",
    "run --policy=mppi --temperature=0.2": "planner 'mppi': --set planner.temperature=0.2",
    "run --perturbation drop-next-5 --probability 0.5": "'drop-next': --set perturbation.probability=0.5",
    "run --metric success@3 --steps 5": "metric 'success@': --set metric.steps=5",
    "run --env maze_toy --max-steps 5": "environment 'maze_toy': --set environment.max_steps=5",
    "run --max-steps 5": "environment 'maze_toy': --set environment.max_steps=5",
    "run --policy tests.experiments.swept_parts:Weighted --weight": "--set planner.weight=VALUE",
    "cpg --env maze_toy --model mlp --epochs 3": "trainer 'mlp': --set trainer.epochs=3",
    "cpg --env maze_toy --model x:y --planner mppi --temperature 3": "planner 'mppi': --set planner.temperature=3",
    "diagnose prediction-error --env maze_toy --objective task-reward --discount 0.5": "--set objective.discount=0.5",
    "train mlp --env maze_toy --max-steps 5 --output x": "--set environment.max_steps=5",
}


@pytest.mark.parametrize(("line", "spelling"), SPELLED.items(), ids=list(SPELLED))
def test_a_setting_typed_as_an_option_is_spelled_out(wmel_command, tmp_path, line, spelling):
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.endswith(f"{spelling}\n") and done.stderr.count("\n") == 1
    assert not done.stdout and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run --policy nope --smoothing 0.2", "--smoothing"),
        ("run --policy cem --smothing 0.2", "--smothing"),
        ("run --candidate 3", "--candidates"),
        ("train mlp --env maze_toy --epoch 3 --output x", "did you mean 'epochs'"),
        ("diagnose prediction-error --env maze_toy --stps 3", "did you mean 'steps'"),
        ("study x.toml --elites 3", "--elites"),
        ("list --elites", "--elites"),
    ],
)
def test_an_option_that_is_no_setting_of_what_is_named_is_refused(wmel_command, line, words):
    done = wmel_command(*line.split())
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout
