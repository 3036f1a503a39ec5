"""Action repeat: one decision is several control steps of the environment inside, in every respect."""

import json
import math

import numpy as np
import pytest

from tests.conftest import says
from wmel import catalog, testing
from wmel.closed_loop.run import BenchmarkRunner
from wmel.contract.environment import HasRewardFormula, Recoverable
from wmel.environments.dmc.environment import ActionRepeatEnvironment, DmcEnvironment
from wmel.errors import BadInput, BadStep
from wmel.experiments.spec import EnvironmentKeys
from wmel.models.imagine import rollout_by_steps
from wmel.models.oracle import Oracle
from wmel.parts import implements
from wmel.training.checkpoints import check_action_repeat, check_same_environment, describe_environment

CARTPOLE, REACHER = "dmc:cartpole-swingup", "dmc:reacher-easy"
TASKS = [CARTPOLE, REACHER, "dmc:walker-walk", "dmc:fish-swim"]  # closed form; a moving target; sensors; row by row


def sampled_actions(world, rows, steps):
    """Actions [rows,steps,A] within bounds."""
    space, generator = world.spec.actions, np.random.default_rng(3)
    return generator.uniform(space.low, space.high, (rows, steps, space.width))


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("repeat", [2, 3])
def test_a_step_is_so_many_inner_steps_and_their_rewards_added_up(name, repeat):
    plain, world = catalog.environment(name), catalog.environment(name, action_repeat=repeat)
    inside, states = plain.reset(np.arange(4)), world.reset(np.arange(4))
    for actions in sampled_actions(world, 4, 3).swapaxes(0, 1):
        before, earned = states, np.zeros(4)
        states = world.step(before, actions)
        for _ in range(repeat):
            reached = plain.step(inside, actions)
            earned += plain.quantities(inside, actions, reached)["reward"]
            inside = reached
        assert np.array_equal(world.observe(states), plain.observe(inside))
        assert np.array_equal(world.quantities(before, actions, states)["reward"], earned)


@pytest.mark.parametrize("name", TASKS)
def test_the_oracle_imagines_what_steps_do(name):
    world = catalog.environment(name, action_repeat=2)
    oracle, start, actions = Oracle(world), world.reset(np.arange(5)), sampled_actions(world, 5, 6)
    stepped, imagined = rollout_by_steps(world.step, start, actions), oracle.rollout(start, actions)
    assert imagined.shape == stepped.shape and np.array_equal(imagined[:, 0], start)
    seen = (world.observe(part.reshape(-1, start.shape[1])) for part in (imagined, stepped))
    np.testing.assert_allclose(*seen, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(oracle.rewards(imagined, actions), stepped[:, 1:, -1], rtol=1e-9, atol=1e-9)


def test_all_candidates_are_imagined_in_one_inner_rollout():
    calls = []

    class Counted(DmcEnvironment):
        def rollout(self, states, actions):
            calls.append(actions.shape)
            return super().rollout(states, actions)

    world = ActionRepeatEnvironment(Counted(CARTPOLE, "cartpole-swingup"), 2)
    world.rollout(world.reset(np.zeros(64, int)), sampled_actions(world, 64, 10))
    assert calls == [(64, 20, 1)]


def test_a_plan_without_steps_ends_where_it_starts():
    world = catalog.environment(CARTPOLE, action_repeat=2)
    start = world.reset(np.arange(3))
    assert np.array_equal(world.rollout(start, np.empty((3, 0, 1))), start[:, None])


def test_a_simulation_that_diverges_within_a_decision_has_no_reward():
    world = catalog.environment(CARTPOLE, action_repeat=2)
    start = world.reset(np.arange(2))
    start[1, world.inner._suite.batch.layout.velocities.stop - 1] = 2e10
    imagined = world.rollout(start, np.zeros((2, 3, 1)))
    assert np.isfinite(imagined[0, :, -1]).all() and np.isnan(imagined[1, 1:, -1]).all()
    with pytest.raises(BadStep, match="diverged"):
        world.step(start, np.zeros((2, 1)))


@pytest.mark.parametrize("settings", [{}, {"action_repeat": 1}])
def test_a_repeat_of_one_is_the_plain_environment(settings):
    world = catalog.environment(CARTPOLE, **settings)
    assert isinstance(world, DmcEnvironment)
    assert (world.spec.name, world.spec.action_repeat, world.spec.max_steps) == (CARTPOLE, 1, 1000)


@pytest.mark.parametrize("repeat", [2, 3, 7, 1000])
def test_an_episode_has_as_many_decisions_as_cover_its_control_steps(repeat):
    plain, world = catalog.environment(CARTPOLE), catalog.environment(CARTPOLE, action_repeat=repeat)
    assert world.spec.max_steps == math.ceil(1000 / repeat)
    assert world.spec.step_ms == repeat * plain.spec.step_ms
    assert catalog.environment(CARTPOLE, max_steps=1000, action_repeat=repeat).spec.max_steps == world.spec.max_steps


def test_the_spec_tells_the_repeat_and_keeps_the_rest():
    plain = catalog.environment(CARTPOLE, init="fixed").spec
    spec = catalog.environment(CARTPOLE, init="fixed", action_repeat=4).spec
    assert (spec.name, spec.action_repeat) == (f"{CARTPOLE}[action_repeat=4]", 4)
    for name in ("observation", "idle", "init", "single_start", "branchable"):
        assert np.array_equal(getattr(spec, name), getattr(plain, name)), name
    assert np.array_equal([spec.actions.low, spec.actions.high], [plain.actions.low, plain.actions.high])


@pytest.mark.parametrize("name", [CARTPOLE, REACHER])
def test_what_only_the_last_control_step_could_tell_is_not_claimed(name):
    world = catalog.environment(name, action_repeat=2)
    assert world.default_criterion is None and not implements(world, HasRewardFormula)
    assert world.spec.objectives[0] == "model-reward" and "task-reward" not in world.spec.objectives
    for objective in world.spec.objectives:
        catalog.objective(objective, world)
    with pytest.raises(BadInput, match="'task-reward'; it has model-reward"):
        catalog.objective("task-reward", world)


def test_the_state_is_recovered_where_the_inner_one_is():
    world = catalog.environment(REACHER, action_repeat=2)
    assert implements(world, Recoverable) and not implements(
        catalog.environment("dmc:walker-walk", action_repeat=2), Recoverable
    )
    states = world.step(world.reset(np.arange(6)), sampled_actions(world, 6, 1)[:, 0])
    recovered = world.recover(world.observe(states))
    assert recovered.shape == states.shape
    np.testing.assert_allclose(world.observe(recovered), world.observe(states), atol=1e-12)


@pytest.mark.parametrize("name", TASKS)
def test_it_conforms(name):
    world = catalog.environment(name, action_repeat=2)
    assert testing.failures(testing.check_environment(world)) == []
    assert testing.failures(testing.check_world_model(Oracle(world), world)) == []


@pytest.mark.parametrize("objective", [None, "upright"])
@pytest.mark.parametrize("perturbation", [None, "observation-noise-0.1", "hold-idle-2"])
def test_planners_run_in_it(objective, perturbation):
    world = catalog.environment(CARTPOLE, action_repeat=2)
    chosen = {} if objective is None else {"objective": objective}
    policy = catalog.policy("cem", world, plan_horizon=4, candidates=16, execute=1, **chosen)
    struck = None if perturbation is None else catalog.perturbation(perturbation)
    run = BenchmarkRunner(world, policy, 2, 6, perturb_prob=0.0 if struck is None else 1.0, perturbation=struck).run()
    assert run.environment_name == f"{CARTPOLE}[action_repeat=2]" and not any(run.table["error"])
    assert run.table["steps"].tolist() == [6, 6] and np.isfinite(run.table["return"]).all()


def test_the_return_of_an_episode_is_that_of_its_control_steps():
    """Nothing done for ten control steps, five decisions or ten."""
    returns = []
    for repeat in (1, 2):
        world = catalog.environment("dmc:cartpole-balance", action_repeat=repeat)
        states, earned = world.reset(np.arange(3)), np.zeros(3)
        for _ in range(10 // repeat):
            before, idle = states, np.zeros((3, 1))
            states = world.step(before, idle)
            earned += world.quantities(before, idle, states)["reward"]
        returns.append(earned)
    np.testing.assert_allclose(*returns, rtol=1e-12)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "1, got 0"),
        (-2, "1, got -2"),
        (2.0, "got 2.0"),
        (0.5, "got 0.5"),
        (True, "got True"),
        ("2", "got '2'"),
        (1001, "1..1000 ... got 1001"),
    ],
)
def test_a_bad_repeat_is_refused_in_a_sentence(value, words):
    with pytest.raises(BadInput) as refused:
        catalog.environment(CARTPOLE, action_repeat=value)
    assert says(str(refused.value), f"'{CARTPOLE}': action_repeat ... {words}")


@pytest.mark.parametrize("name", ["maze_toy", "dmc_cartpole"])
def test_other_environments_have_no_such_setting(name):
    with pytest.raises(BadInput, match=f"'{name}' has no setting 'action_repeat'"):
        catalog.environment(name, action_repeat=2)


def test_the_command_line_and_studies_take_it(wmel_command, tmp_path):
    line = f"run --env {CARTPOLE} --action-repeat 4 --policy random --episodes 1 --out run.json --quiet"
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    metadata = json.loads((tmp_path / "run.json").read_text())["metadata"]
    assert (metadata["env"], metadata["horizon"]) == (f"{CARTPOLE}[action_repeat=4]", 250)
    assert EnvironmentKeys(name=CARTPOLE, action_repeat=4).action_repeat == 4


def test_a_checkpoint_knows_its_action_repeat():
    once, twice = catalog.environment(CARTPOLE), catalog.environment(CARTPOLE, action_repeat=2)
    assert "action_repeat" not in describe_environment(once) and describe_environment(twice)["action_repeat"] == 2
    for world in (once, twice):
        check_same_environment(world, describe_environment(world))
    with pytest.raises(BadInput, match=r"2;.*1:.*--action-repeat 2$"):
        check_same_environment(once, describe_environment(twice))
    with pytest.raises(BadInput, match=r"1; here.*2:.*--action-repeat$"):
        check_action_repeat(twice, describe_environment(once))
