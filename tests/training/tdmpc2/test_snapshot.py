"""The snapshot of a training, written and read back."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from wmel.errors import BadInput, CannotWrite
from wmel.training.tdmpc2.resume import SNAPSHOT_FILE, TrainingSnapshot
from wmel.training.tdmpc2.trainer import CurvePoint

REQUEST = {
    "model": {"environment": "point", "observation": ["place"], "init": None},
    "updates": 100,
    "batch": 4,
    "learning_rate": 3e-4,
}
CURVE = [CurvePoint(0, 24, 0.125, None, {"total": 0.0}), CurvePoint(6, 48, 1 / 3, 2.5, {"total": 0.1})]


def some(best: float | None = 1 / 3) -> TrainingSnapshot:
    """Tensors of every kind a training has: weights, counters, the state of a generator, a number."""
    torch.manual_seed(0)
    tensors = {
        "learner.network.weight": torch.randn(3, 4).t(),
        "learner.scale": torch.tensor(1.5),
        "learner.optimiser.0.step": torch.tensor(6.0),
        "draws.host": torch.get_rng_state(),
    }
    return TrainingSnapshot(REQUEST, tensors, 6, 8, 2, best, list(CURVE))


@pytest.mark.parametrize("best", [None, 1 / 3, -0.0])
def test_what_is_written_is_found(tmp_path, best):
    some(best).write(tmp_path)
    found = TrainingSnapshot.read(tmp_path, REQUEST)
    for name in ("request", "updates", "episodes", "rounds", "best_return", "curve"):
        assert getattr(found, name) == getattr(some(best), name)
    assert found.tensors.keys() == some().tensors.keys()
    for name, value in some().tensors.items():
        assert torch.equal(found.tensors[name], value) and found.tensors[name].dtype == value.dtype
    assert [file.name for file in tmp_path.iterdir()] == [SNAPSHOT_FILE]


def test_the_last_writing_counts(tmp_path):
    some(1.0).write(tmp_path)
    some(2.0).write(tmp_path)
    assert TrainingSnapshot.read(tmp_path, REQUEST).best_return == 2.0


@pytest.mark.parametrize("where", ["", "nowhere"])
def test_where_there_is_none_none_is_found(tmp_path, where):
    assert TrainingSnapshot.read(tmp_path / where, REQUEST) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch": 5}, "with batch 4, now 5"),
        ({"learning_rate": 1e-3}, "with learning rate 0.0003, now 0.001"),
        ({"data": "abc"}, "with data None, now abc"),
        ({"model": {**REQUEST["model"], "init": "fixed"}}, "'init': None.* now .*'init': 'fixed'"),
    ],
)
def test_one_that_was_asked_for_something_else_is_refused(tmp_path, change, words):
    some().write(tmp_path)
    with pytest.raises(BadInput, match=f"{words}.*remove .*{SNAPSHOT_FILE}"):
        TrainingSnapshot.read(tmp_path, REQUEST | change)


def without(text: dict, name: str) -> dict:
    return {key: value for key, value in text.items() if key != name}


def stored() -> dict:
    """The metadata of the file of a snapshot."""
    counts = {name: getattr(some(), name) for name in ("updates", "episodes", "rounds", "best_return")}
    return {"asked": REQUEST, **counts, "curve": [vars(point) for point in CURVE]}


SPOILT = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 4),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "weights alone": lambda path: save_file(load_file(path), path),
    "no JSON": lambda path: save_file(load_file(path), path, {"unfinished": "{"}),
    "a list": lambda path: save_file(load_file(path), path, {"unfinished": "[]"}),
    "no curve": lambda path: save_file(load_file(path), path, {"unfinished": json.dumps(without(stored(), "curve"))}),
    "no rounds": lambda path: save_file(load_file(path), path, {"unfinished": json.dumps(without(stored(), "rounds"))}),
    "more": lambda path: save_file(load_file(path), path, {"unfinished": json.dumps({**stored(), "more": 1})}),
} | {
    f"{name} {value}": lambda path, name=name, value=value: save_file(
        load_file(path), path, {"unfinished": json.dumps({**stored(), name: value})}
    )
    for name, value in (("updates", -5), ("updates", "7"), ("updates", 10**9), ("rounds", -1), ("best_return", "high"))
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_file_that_is_none_is_refused_in_one_sentence(tmp_path, how):
    some().write(tmp_path)
    SPOILT[how](tmp_path / SNAPSHOT_FILE)
    with pytest.raises(BadInput) as raised:
        TrainingSnapshot.read(tmp_path, REQUEST)
    assert str(tmp_path / SNAPSHOT_FILE) in str(raised.value) and "\n" not in str(raised.value)


def test_where_nothing_can_be_written_that_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match=r"cannot write .*unfinished"):
        some().write(tmp_path / "file")
