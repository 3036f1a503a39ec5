"""Updates are counted one by one, however they are asked for."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training.tdmpc2.short_trainings import CPU, SETTINGS
from wmel.models.tdmpc2.network import SIZES, TDMPC2
from wmel.training.tdmpc2.learner import Learner, UpdateLoop
from wmel.training.tdmpc2.replay import Replay


def updates() -> UpdateLoop:
    """On a few random episodes; torch's own generator draws."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    replay = Replay.of(rng.normal(size=(3, 8, 2)), rng.uniform(-1, 1, size=(3, 7, 1)), rng.normal(size=(3, 7)), 3, CPU)
    return UpdateLoop(Learner(TDMPC2(2, 1, SIZES[1]), replace(SETTINGS, batch=2), 0.95), replay)


def steps(made: UpdateLoop) -> int:
    """As the optimiser counted them."""
    return max((int(state["step"]) for state in made.learner.optimiser.state.values()), default=0)


def weights(made: UpdateLoop) -> torch.Tensor:
    return torch.cat([value.flatten() for value in made.learner.network.state_dict().values()])


@pytest.mark.parametrize("wanted", [0, 1, 4])
@pytest.mark.parametrize("beyond", [0, 1, 100])
def test_as_many_are_done_as_are_wanted(wanted, beyond):
    made = updates()
    made.run_until(wanted, at_most=wanted + beyond)
    assert made.done == steps(made) == wanted


def test_those_that_are_done_count():
    made = updates()
    for wanted in (2, 2, 1, 3):
        made.run_until(wanted, at_most=wanted)
    assert made.done == steps(made) == 3
    made.done = 10  # as one that goes on
    made.run_until(11, at_most=11)
    assert made.done == 11 and steps(made) == 4


def test_in_parts_or_at_once_they_are_the_same():
    once, parts = updates(), updates()
    torch.manual_seed(1)
    once.run_until(5, at_most=5)
    torch.manual_seed(1)
    for wanted in (1, 2, 5):
        parts.run_until(wanted, at_most=wanted)
    assert torch.equal(weights(once), weights(parts)) and not torch.equal(weights(once), weights(updates()))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("wanted", [(1, 2, 9), (3, 4), (9,)], ids=str)
def test_capturing_never_does_more_than_at_most(wanted):
    device, made = torch.device("cuda"), updates()
    replay = made.replay
    arrays = (part[0].transpose(0, 1).numpy() for part in (replay.observations, replay.actions, replay.rewards))
    network = TDMPC2(2, 1, SIZES[1]).to(device)
    there = UpdateLoop(Learner(network, SETTINGS, 0.95, capturable=True), Replay.of(*arrays, 3, device))
    for one in wanted:
        there.run_until(one, at_most=one)
        assert there.done == steps(there) == one
