"""Live objects are recognised by what they hold and by their code; where that is impossible, it is said."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import wmel
from wmel.errors import BadInput
from wmel.experiments.executors import Processes
from wmel.experiments.identity import check_picklable, identity_of, why_unidentified
from wmel.models.mlp import MLP, MLPModel

TINY = {"episodes": 2, "horizon": 4, "quiet": True}
SCALE = 1.0


class Still:
    spec = wmel.WorldModelSpec("mine", action_input="index")

    def __init__(self, shift=0.0, names=("a", "b", "c")):
        self.shift, self.names = np.full(3, shift), set(names)

    def encode(self, percept, previous):
        return percept.observation

    def step(self, latents, actions):
        return latents * SCALE

    def decode(self, latents):
        return latents


class Net(Still):
    def __init__(self, seed=0):
        torch.manual_seed(seed)
        self.network = torch.nn.Linear(2, 2)


class WithFile(Still):
    def __init__(self):
        self.file = Path(__file__).open()  # noqa: SIM115


def test_equal_objects_are_one_and_others_are_others():
    assert identity_of(Still()) == identity_of(Still()) != identity_of(Still(1.0))
    assert identity_of(Net()) == identity_of(Net()) != identity_of(Net(1))
    assert why_unidentified(Still()) is None


def test_other_code_is_another_object(monkeypatch):
    before = identity_of(Still())
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 2.0)  # which a method refers to
    assert identity_of(Still()) != before
    monkeypatch.undo()
    monkeypatch.setattr(Still, "decode", lambda self, latents: latents + 1)
    assert identity_of(Still()) != before


def test_another_process_finds_the_same_identity():
    code = "from tests.experiments.test_identity import *; print(identity_of(Still()), identity_of(Net()))"
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)}
    root = Path(__file__).parents[2]
    printed = subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True)
    assert printed.stdout.split() == [identity_of(Still()), identity_of(Net())], printed.stderr


def test_a_model_given_as_an_object_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr(wmel.experiments.run, "run_block", counted := Counted(wmel.experiments.run.run_block))
    wmel.cpg("maze_toy", {"mine": Still()}, output=tmp_path, **TINY)
    first = counted.calls
    wmel.cpg("maze_toy", {"mine": Still()}, output=tmp_path, **TINY)
    assert counted.calls == first
    wmel.cpg("maze_toy", {"mine": Still(1.0)}, output=tmp_path, **TINY)
    assert counted.calls == first + 1


class Counted:
    def __init__(self, work):
        self.work, self.calls = work, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.work(*arguments)


def test_a_model_that_cannot_be_recognised_runs_again_and_it_is_said_why(tmp_path, capsys):
    for _ in range(2):
        wmel.cpg("maze_toy", {"mine": WithFile()}, output=tmp_path, episodes=2, horizon=4)
    noted = [line for line in capsys.readouterr().err.splitlines() if "cannot be identified" in line]
    assert len(noted) == 1 and "WithFile: TypeError: cannot pickle" in noted[0]


def test_an_object_that_cannot_be_sent_to_workers_is_refused_before_they_start():
    for thing in (WithFile(), lambda state, action: state):
        with pytest.raises(BadInput, match=r"^'mine' cannot be sent"):
            wmel.cpg("maze_toy", {"mine": thing}, executor=Processes(2), **TINY)


class OnlyHere:
    """Pickled, and not to be found by another process."""

    def __reduce__(self):
        return _raise_elsewhere, (HERE,)


HERE = np.random.default_rng().integers(1 << 60)


def _raise_elsewhere(here):
    if here != HERE:
        raise AttributeError("it is not here")
    return OnlyHere()


def test_an_object_that_a_fresh_interpreter_cannot_read_is_refused():
    with pytest.raises(BadInput, match=r"'mine' cannot be.*AttributeError:"):
        check_picklable({("model", "mine"): OnlyHere()}, Processes(1))


def test_equal_weights_that_are_used_in_another_way_are_another_model():
    """As a card whose target was edited would build them."""

    def model(**settings):
        torch.manual_seed(0)
        return MLPModel(MLP(2, 4, (8,), **settings), action_input="index")

    one, other = model(), model(target="delta")
    assert one.spec.weights == other.spec.weights and identity_of(one) == identity_of(model()) != identity_of(other)
    assert identity_of(replace(one, action_input="value")) != identity_of(one)


def test_a_hash_of_weights_covers_the_code_of_its_class_too(monkeypatch):
    monkeypatch.setattr(Net, "spec", wmel.WorldModelSpec("mine", weights="w"))
    before = identity_of(Net())
    assert before == identity_of(Net(1))
    monkeypatch.setattr(Net, "decode", lambda self, latents: latents + 1)
    assert identity_of(Net()) != before
