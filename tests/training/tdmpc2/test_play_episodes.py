"""Episodes of the policy's mean action, beside a loop over single episodes."""

import numpy as np
import pytest
import torch

from tests.models.tdmpc2.by_hand import random_network
from tests.training.tdmpc2.test_online import Wider, swingup
from wmel.models.tdmpc2.model import TDMPC2WithDecoder
from wmel.training.tdmpc2.online import play_episodes

LENGTH = 9
SEEDS = np.array([3, 11, 40])


def networks(low: float = -1.0, high: float = 1.0) -> TDMPC2WithDecoder:
    torch.manual_seed(0)
    return TDMPC2WithDecoder(random_network(5, 1), torch.tensor([low]), torch.tensor([high])).requires_grad_(False)


def test_episodes_are_whole():
    made = play_episodes(swingup(LENGTH), networks(), SEEDS)
    assert made.observations.shape == (3, LENGTH + 1, 5)
    assert made.actions.shape == (3, LENGTH, 1) and made.rewards.shape == (3, LENGTH)
    np.testing.assert_allclose(made.returns, [row.sum() for row in made.rewards])


def test_each_is_played_by_the_mean_action_of_its_own_observations():
    world, agent = swingup(LENGTH), networks().agent
    made = play_episodes(world, networks(), SEEDS)
    for row, seed in enumerate(SEEDS):
        states = world.reset(np.array([seed]))
        for step in range(LENGTH):
            seen = world.observe(states)
            np.testing.assert_allclose(made.observations[row, step], seen[0], rtol=1e-4, atol=1e-4)
            mean, _ = agent.policy_distribution(agent.encode(torch.as_tensor(seen, dtype=torch.float32)))
            np.testing.assert_allclose(made.actions[row, step], mean.tanh()[0], rtol=1e-3, atol=1e-4)
            after = world.step(states, made.actions[row : row + 1, step])
            reward = world.quantities(states, made.actions[row : row + 1, step], after)["reward"]
            np.testing.assert_allclose(made.rewards[row, step], reward[0], rtol=1e-4, atol=1e-5)
            states = after


def test_actions_are_in_the_units_of_the_environment():
    wide = play_episodes(Wider(swingup(LENGTH)), networks(0.0, 10.0), SEEDS)
    plain = play_episodes(swingup(LENGTH), networks(), SEEDS)
    np.testing.assert_allclose(wide.actions / 5 - 1, plain.actions, atol=1e-3)
    np.testing.assert_allclose(wide.returns, plain.returns, rtol=1e-3)


def test_nothing_is_left_to_chance():
    one, same = (play_episodes(swingup(LENGTH), networks(), SEEDS) for _ in range(2))
    assert np.array_equal(one.observations, same.observations) and np.array_equal(one.actions, same.actions)
    other = play_episodes(swingup(LENGTH), networks(), SEEDS + 1)
    assert not np.array_equal(one.observations[:, 0], other.observations[:, 0])


@pytest.mark.parametrize("count", [1, 2])
def test_any_number_of_episodes_is_played(count):
    assert len(play_episodes(swingup(LENGTH), networks(), SEEDS[:count]).returns) == count
