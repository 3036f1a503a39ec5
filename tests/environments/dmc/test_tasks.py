"""dmc_acrobot, dmc_cartpole and dmc_reacher equal those of the wmel 0.18 repository: starts, actions, thresholds."""

import numpy as np
import pytest

from tests.environments.dmc.reference import flat, suite
from wmel import catalog
from wmel.closed_loop.run import episode_seeds, run_episodes

DOCUMENTED = {
    "dmc_acrobot": ("acrobot", "swingup"),
    "dmc_cartpole": ("cartpole", "swingup"),
    "dmc_reacher": ("reacher", "easy"),
}
FIXED = {
    "dmc_acrobot": [0.30192, 0.99613, 0.95333, -0.08787, 0, 0],
    "dmc_cartpole": [0.01764, -0.99999, -0.004, 0.00979, 0.02241],
    "dmc_reacher": [0.30670, 1.20184, -0.20113, -0.26121, 0, 0],
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_fixed_start_is_the_published_one(name):
    world = catalog.environment(name, init="fixed")
    states = world.reset(np.array([3, 900001]))
    assert np.array_equal(states[0], states[1]) and world.spec.single_start
    np.testing.assert_allclose(world.observe(states)[0], FIXED[name], atol=6e-6)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_task_starts_are_those_of_the_published_seeds(name):
    world, seeds = catalog.environment(name), episode_seeds(2, 3)
    theirs = [
        flat(suite.load(*DOCUMENTED[name], task_kwargs={"random": int(seed)}).reset().observation) for seed in seeds
    ]
    np.testing.assert_allclose(world.observe(world.reset(seeds)), theirs, rtol=0, atol=1e-10)


def test_the_published_observations_of_acrobot_under_full_torque():
    world = catalog.environment("dmc_acrobot", init="fixed")
    one = world.step(world.reset(np.zeros(1, int)), np.ones((1, 1)))
    two = world.step(one, np.ones((1, 1)))
    published = [
        [0.3019288498, 0.9960442651, 0.9533304619, -0.0888584382, 0.0022515137, 0.1963152595],
        [0.3019630122, 0.9957753564, 0.9533196417, -0.0918228711, 0.005041878, 0.3916216131],
    ]
    np.testing.assert_allclose(world.observe(np.concatenate([one, two])), published, rtol=0, atol=6e-11)


def test_actions_are_those_of_wmel_0_18():
    five = [[-1], [-0.5], [0], [0.5], [1]]
    assert catalog.environment("dmc_acrobot").spec.actions.values.tolist() == five
    assert catalog.environment("dmc_cartpole").spec.actions.values.tolist() == five
    nine = [[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)]
    assert catalog.environment("dmc_reacher").spec.actions.values.tolist() == nine


@pytest.mark.parametrize(
    ("name", "criterion", "objective"),
    [
        ("dmc_acrobot", "reward>=0.6", "upright"),
        ("dmc_cartpole", "reward>=0.6", "upright"),
        ("dmc_reacher", "reward>=0.5", "target-distance"),
    ],
)
def test_thresholds_objectives_and_length_are_those_of_wmel_0_18(name, criterion, objective):
    world = catalog.environment(name)
    assert str(world.default_criterion) == criterion
    assert (world.spec.max_steps, world.spec.objectives[0]) == (500, objective)


def test_the_acrobot_threshold_is_a_tip_within_671_thousandths():
    """A Gaussian that is 1 to .2 and .1 a metre further is .6 at .2 + sqrt(log .6 / log .1)."""
    world = catalog.environment("dmc_acrobot")
    distance = 0.2 + (np.log(0.6) / np.log(0.1)) ** 0.5
    assert distance == pytest.approx(0.671, abs=5e-4)
    below = np.arccos(1 - distance / 2)  # both arms at this angle on either side put the tip straight below the target
    seen = np.array([np.sin(below), -np.sin(below), np.cos(below), np.cos(below), 0, 0])
    assert world.reward_of(seen, np.zeros(1)) == pytest.approx(0.6, abs=1e-12)


def test_the_starts_already_solved_are_the_two_known_ones():
    """Of seeds 0-2 x 50 episodes: seed 0 episode 1 and seed 1 episode 14."""
    world = catalog.environment("dmc_acrobot")
    seeds = np.concatenate([episode_seeds(seed, 50) for seed in range(3)])
    table = run_episodes(world, catalog.policy("random", world), seeds, max_steps=1, timed_decisions=0)
    assert table["episode_seed"][table["pre_solved"]].tolist() == [1, 100014]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_state_is_recovered_from_what_is_seen(name):
    world = catalog.environment(name)
    states = world.reset(np.arange(40))
    for _ in range(5):
        states = world.step(states, world.spec.actions.values[np.arange(40) % world.spec.actions.count])
    recovered = world.recover(world.observe(states))
    np.testing.assert_allclose(world.observe(recovered), world.observe(states), atol=1e-12)
    values = np.repeat(world.spec.actions.values[-1:], 40, axis=0)
    np.testing.assert_allclose(
        world.observe(world.step(recovered, values)), world.observe(world.step(states, values)), atol=1e-6
    )
