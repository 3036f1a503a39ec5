import numpy as np
import pytest

from tests.environments.selection import OTHERS
from wmel import catalog
from wmel.closed_loop.run import run_episodes
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.objective import ModelReward
from wmel.environments.mujoco_rows import DIVERGENCE_LIMIT
from wmel.errors import BadInput, BadStep
from wmel.machine import limit_threads
from wmel.models.imagine import ImaginedCost
from wmel.models.oracle import Oracle


def thrown(world, speed: float) -> np.ndarray:
    """Two starts, the second with a pole that spins at this speed."""
    states = world.reset(np.arange(2))
    states[1, world._suite.batch.layout.velocities.stop - 1] = speed
    return states


@pytest.mark.parametrize("horizon", [1, 2, 15])
@pytest.mark.parametrize("speed", [2e10, 9.9e9, np.nan])
def test_a_simulation_that_diverges_costs_infinity_when_imagined(horizon, speed):
    """MuJoCo resets it and it would look perfect: upright, at rest."""
    world = catalog.environment("dmc:cartpole-swingup")
    states = thrown(world, speed)
    candidates = np.zeros((2, 3, horizon, 1), np.float32)
    for objective in (catalog.objective("upright", world), ModelReward()):
        cost = ImaginedCost(Oracle(world), objective, world.spec.actions, states, world.goals(states), 5)
        costs = cost(candidates).costs
        assert np.isfinite(costs[0]).all()
        assert not np.isfinite(costs[1]).any()


@pytest.mark.parametrize(
    "name",
    [
        "dmc_acrobot", "dmc:pendulum-swingup", "dmc:reacher-hard", "dmc:cheetah-run", "dmc:hopper-stand",
        *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS),
    ],
)  # fmt: skip
def test_that_holds_for_every_task_and_every_objective_it_offers(name):
    world = catalog.environment(name)
    width = world.spec.actions.width
    candidates = np.zeros((2, 2, 3, width), world.spec.actions.dtype)
    for objective in world.spec.objectives:
        states, score = thrown(world, 2e10), catalog.objective(objective, world)
        cost = ImaginedCost(
            Oracle(world), score, world.spec.actions, states, world.goals(states), len(world.spec.observation)
        )
        costs = cost(candidates).costs
        assert np.isfinite(costs[0]).all(), objective
        assert not np.isfinite(costs[1]).any(), objective


@pytest.mark.parametrize("speed", [2e10, 9.9e9, np.nan])
@pytest.mark.parametrize("name", ["dmc:cartpole-swingup", "dmc:cartpole-two_poles"])
def test_a_simulation_that_diverges_is_an_error_when_executed(name, speed):
    """Also where the step that diverges is the last one, and nothing comes after it to notice."""
    world = catalog.environment(name)
    with pytest.raises(BadStep, match="diverged"):
        world.step(thrown(world, speed), np.zeros((2, 1)))


def test_a_control_that_is_no_number_is_refused():
    world = catalog.environment("dmc:cartpole-swingup")
    with pytest.raises(BadStep, match="NaN or infinite"):
        world.step(world.reset(np.arange(1)), np.full((1, 1), np.nan))


@pytest.mark.parametrize("name", ["dmc:walker-walk", "dmc:humanoid-stand"])
def test_no_rows_and_no_steps_are_fine(name):
    world = catalog.environment(name)
    none = world.reset(np.arange(2))[:0]
    assert world.observe(none).shape == (0, len(world.spec.observation))
    assert world.quantities(none, none, none)["reward"].shape == (0,)
    assert world.rollout(world.reset(np.arange(2)), np.zeros((2, 0, world.spec.actions.width))).shape[1] == 1


def test_a_row_beyond_what_mujoco_takes_is_never_returned_as_fine():
    world = catalog.environment("dmc:cartpole-swingup")
    after = world.rollout(thrown(world, 0.99 * DIVERGENCE_LIMIT), np.zeros((2, 4, 1)))
    assert np.isfinite(world.observe(after[0])).all()
    assert np.isnan(world.observe(after[1])[1:]).any(axis=1).all()


@pytest.mark.parametrize("name", ["dmc:walker-walk", "dmc:point_mass-hard", "dmc:hopper-hop"])
def test_threads_and_company_change_no_bit(name):
    world = catalog.environment(name)
    states = np.repeat(world.reset(np.arange(5)), 3, axis=0)
    controls = np.random.default_rng(0).uniform(-1, 1, (15, 6, world.spec.actions.width))
    with limit_threads(1):
        one = world.rollout(states, controls)
    with limit_threads(2):
        two = world.rollout(states, controls)
    alone = np.concatenate([world.rollout(states[k : k + 1], controls[k : k + 1]) for k in range(15)])
    assert np.array_equal(one, two, equal_nan=True)
    assert np.array_equal(one, alone, equal_nan=True)


def test_an_imagined_row_is_not_stepped_on():
    world = catalog.environment("dmc:acrobot-swingup")
    imagined = world.rollout(world.reset(np.arange(2)), np.zeros((2, 3, 1)))[:, -1]
    with pytest.raises(BadInput, match="no warm start"):
        world.step(imagined, np.zeros((2, 1)))
    with pytest.raises(BadInput, match="no warm start"):
        world.rollout(imagined, np.zeros((2, 1, 1)))


def test_a_thrown_episode_is_an_error_row_and_the_others_go_on():
    class Thrown(type(catalog.environment("dmc:cartpole-swingup"))):
        def reset(self, seeds):
            states = super().reset(seeds)
            states[seeds == 1, self._suite.batch.layout.velocities.stop - 1] = 2e10
            return states

    world, steps = Thrown("thrown", "cartpole-swingup"), Trajectories()
    policy = catalog.policy("random", world)
    table = run_episodes(world, policy, [0, 1, 2], max_steps=4, timed_decisions=0, record=steps)
    assert [bool(error) for error in table["error"]] == [False, True, False]
    assert "diverged" in table["error"][1]
    rewards = steps.arrays(world, table)["rewards"]
    assert np.isnan(rewards[1]).all() and np.isfinite(rewards[[0, 2]]).all()
