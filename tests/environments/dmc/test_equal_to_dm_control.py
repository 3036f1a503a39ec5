"""Executed and imagined steps equal dm_control's own: states bit for bit, what is seen of them to 1e-10."""

import numpy as np
import pytest

from tests.environments.dmc.reference import played, suite
from wmel import catalog
from wmel.control_suite import NEEDS_GRAPHICS, REWARD_OF_OBSERVATION, TASKS, VECTORISED
from wmel.environments.dmc.suite import FORMULAS

QUICK = ["acrobot-swingup", "cartpole-swingup", "reacher-easy", "finger-turn_hard", "hopper-stand", "point_mass-hard"]
SLOW = [task for task in TASKS if task not in QUICK and task not in NEEDS_GRAPHICS]
STEPS, BRANCH = 30, 7


@pytest.mark.parametrize("seed", [0, 7, 300012])
@pytest.mark.parametrize("task", [*QUICK, *(pytest.param(task, marks=pytest.mark.slow) for task in SLOW)])
def test_states_bit_for_bit_and_what_is_seen_to_1e_10(task, seed):
    world = catalog.environment(f"dmc:{task}")
    space = world.spec.actions
    controls = np.random.default_rng(seed).uniform(space.low, space.high, (STEPS, space.width)).astype(np.float32)
    theirs, layout = played(task, seed, controls.astype(float)), world._suite.batch.layout
    states = [world.reset(np.array([seed]))]
    for control in controls:
        states.append(world.step(states[-1], control[None]))
    executed = np.concatenate(states)
    imagined = world.rollout(states[BRANCH], controls[None, BRANCH:])[0]
    for rows, first in ((executed, 0), (imagined, BRANCH)):
        assert np.array_equal(rows[:, layout.positions], theirs.positions[first:])
        assert np.array_equal(rows[:, layout.velocities], theirs.velocities[first:])
        np.testing.assert_allclose(world.observe(rows), theirs.observations[first:], rtol=0, atol=1e-10)
        rewards = world.quantities(rows[:-1], controls[first:], rows[1:])["reward"]
        np.testing.assert_allclose(rewards, theirs.rewards[first:], rtol=0, atol=1e-10)


def test_the_names_are_those_of_the_suite():
    assert sorted(TASKS) == sorted(f"{domain}-{task}" for domain, task in suite.ALL_TASKS)


def test_what_is_listed_as_vectorised_has_a_formula_and_the_rest_has_none():
    assert set(FORMULAS) == set(VECTORISED)
    for task in VECTORISED:
        assert hasattr(catalog.environment(f"dmc:{task}"), "reward_of") == (task in REWARD_OF_OBSERVATION)


@pytest.mark.parametrize("task", QUICK)
def test_a_reset_does_not_depend_on_what_ran_before(task):
    world = catalog.environment(f"dmc:{task}")
    first = world.reset(np.array([5]))
    states = world.reset(np.arange(20, 24))
    world.step(states, np.zeros((4, world.spec.actions.width)))
    assert np.array_equal(world.reset(np.array([5])), first)


def test_seeds_beyond_32_bits_start_somewhere_else():
    world = catalog.environment("dmc:acrobot-swingup")
    starts = world.reset(np.array([1, 2**32 + 1, 2**33 + 1]))
    assert len(np.unique(starts, axis=0)) == 3
