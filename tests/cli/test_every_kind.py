"""--set takes settings of every kind of part, and --sweep those that change rows."""

import json

import pytest

RUN = "run --env maze_toy --policy cem --episodes 2 --horizon 6 --quiet"
SWEEP = "sweep --env maze_toy --policy cem --episodes 2 --horizon 6 --quiet"


@pytest.fixture
def record(wmel_command, tmp_path):
    def run(words):
        done = wmel_command(*words.split(), "--output", str(tmp_path / "r.json"))
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "r.json").read_text())

    return run


def test_settings_of_metrics_and_of_execution_are_taken(record):
    made = record(f"{RUN} --metric success@ --set metric.steps=3 --set planner.execute=2")
    assert made["metadata"]["metrics"] == ["success@3"] and made["metadata"]["execute"] == 2


def test_perturbations_and_execution_are_swept(record):
    swept = record(f"{SWEEP} --perturbation drop-next --sweep perturbation.k=1,3 --sweep planner.execute=1,none")
    assert [list(point["swept"].values()) for point in swept["points"]] == [[1, None], [1, 1], [3, None], [3, 1]]


def test_settings_of_a_trainer_and_of_a_diagnostic_are_taken(wmel_command, tmp_path):
    pytest.importorskip("dm_control")
    folder = tmp_path / "m"
    words = f"train mlp --env dmc:cartpole-swingup --transitions 40 --set trainer.epochs=2 --output {folder} --quiet"
    assert wmel_command(*words.split()).returncode == 0
    assert json.loads((folder / "card.json").read_text())["trainer"]["epochs"] == 2
    words = f"esnr --env dmc:cartpole-swingup --model {folder} --objective task-reward --methods zog --no-oracle"
    words += f" --states 2 --set diagnostic.samples=4 --plan-horizon 3 --quiet --output {tmp_path / 'e'}"
    assert wmel_command(*words.split()).returncode == 0
    assert json.loads((tmp_path / "e" / "esnr.json").read_text())["parts"]["diagnostic"]["samples"] == 4


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (f"{RUN} --set metric.steps=3", "metric.steps"),
        (f"{RUN} --set planner.execute=x", "'x'"),
        (f"{RUN} --set trainer.epochs=3", "trainer.epochs"),
        (f"{SWEEP} --sweep perturbation.k=1,2", "perturbation"),
        ("train mlp --env maze_toy --epochs 2 --set trainer.epochs=3 --output no", "epochs"),
        ("esnr --env maze_toy --model oracle --samples 4 --set diagnostic.samples=8", "samples"),
    ],
)
def test_what_has_no_part_or_is_given_twice_is_refused(wmel_command, words, value):
    done = wmel_command(*words.split())
    assert done.returncode == 2 and value in done.stderr and done.stderr.count("\n") == 1
