"""Bring your own model: the same model in three ways gives the same outcomes."""

import numpy as np
import pytest

from tests.conftest import says
from tests.policies.own_models import Batched, Four, dynamics
from wmel import catalog
from wmel.closed_loop.run import run_episodes
from wmel.contract.environment import EnvironmentSpec, Finite
from wmel.contract.policy import Percept
from wmel.errors import BadInput
from wmel.models.callable_model import CallableModel, adapt_model
from wmel.planners.random_shooting import RandomShooting
from wmel.policies.native import FourMethodsPolicy
from wmel.randomness import Streams
from wmel.schema import OUTCOMES

SEEDS = np.arange(6)


def run(maze, model, policy="cem", **settings):
    return run_episodes(maze, catalog.policy(policy, maze, model=model, **settings), SEEDS, timed_decisions=0)


@pytest.mark.parametrize("policy", ["cem", "tabular-world-model"])
def test_the_same_model_in_three_ways_gives_the_same_rows(maze, policy):
    settings = {"plan_horizon": 15, "candidates": 24}
    tables = [run(maze, model, policy, **settings) for model in (Batched(), dynamics, Four(), None)]
    assert tables[0]["success"].all() and not (tables[0]["error"] != "").any()
    for other in tables[1:]:
        for name in OUTCOMES:
            equal_nan = other[name].dtype.kind == "f"
            assert np.array_equal(other[name], tables[0][name], equal_nan=equal_nan), name


def test_native_calls_the_objects_own_plan_with_a_copy_per_episode(maze):
    table = run(maze, Four(), "native")
    assert table["success"].all()
    assert (table["steps"] == 14).all() and (table["plan_calls"] == 5).all()


def test_execute_works_with_every_way(maze):
    settings = {"execute": 2, "candidates": 24, "warm_start": False}
    tables = [run(maze, model, **settings) for model in (Batched(), dynamics, Four())]
    for other in tables[1:]:
        assert np.array_equal(other["steps"], tables[0]["steps"])


def test_a_class_is_made_into_an_object():
    assert isinstance(adapt_model(Batched)[1], Batched)


def test_a_callable_becomes_a_model():
    assert isinstance(adapt_model(dynamics)[1], CallableModel)


class OnlyThree:
    def encode(self, observation): ...
    def rollout(self, latent, actions): ...
    def plan(self, observation, goal, horizon): ...


class NoDecode:
    spec = "something"

    def encode(self, percept, previous): ...
    def step(self, latents, actions): ...


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (OnlyThree(), "OnlyThree is not an"),
        (NoDecode(), "NoDecode is not a"),
        (5, "model is a batched"),
    ],
)
def test_what_is_no_model_is_refused_with_what_it_lacks(thing, words):
    with pytest.raises(BadInput, match=words):
        adapt_model(thing)


def test_a_model_that_changes_its_latent_width_is_an_error_of_its_episodes(maze):
    class Growing(Batched):
        def encode(self, percept, previous):
            width = 2 if previous is None else previous.shape[1] + 1
            return np.zeros((len(percept), width), np.float32)

    table = run(maze, Growing())
    assert all(error.startswith("BadModel: batched changed its latents") for error in table["error"])


def test_a_step_that_changes_the_width_is_an_error(maze):
    class Shrinking(Batched):
        def step(self, latents, actions):
            return latents[:, :1]

    assert run(maze, Shrinking())["error"][0].startswith("BadModel: a step must keep")


def test_a_callable_that_changes_its_input_is_told_so(maze):
    def meddling(state, action):
        state += 1
        return state

    assert "meddling changed its argument" in run(maze, meddling)["error"][0]


def test_a_callable_that_returns_another_shape_is_told_so(maze):
    assert "shape (2,), got (1,)" in run(maze, lambda state, action: state[:1])["error"][0]


def test_a_rollout_of_the_wrong_length_is_told_so(maze):
    class Short(Four):
        def rollout(self, latent, actions):
            return [latent]

    assert says(run(maze, Short())["error"][0], "Short.rollout ... 16 ... 15 ... got 1")


def test_nan_from_a_model_is_a_typed_error(maze):
    table = run(maze, lambda state, action: state * np.nan)
    assert set(table["error"]) == {"NoFiniteCandidate: none of 72 candidates had a finite cost"}


def test_native_without_a_model_is_refused(maze):
    with pytest.raises(BadInput, match="model of your own"):
        catalog.policy("native", maze)


def test_a_native_plan_that_is_no_plan_is_an_error(maze):
    class Mumbling(Four):
        def plan(self, observation, goal, horizon):
            return ["somewhere"]

    assert "BadDecision: a native plan" in run(maze, Mumbling(), "native")["error"][0]


def test_a_four_method_object_starts_anew_each_time(maze):
    with pytest.raises(BadInput, match="start needs a batched"):
        catalog.policy("cem", maze, model=Four(), warm_start=True, execute=1)


def test_the_four_methods_are_planned_over_by_their_own_policy(maze):
    policy = catalog.policy("mppi", maze, model=Four())
    assert isinstance(policy, FourMethodsPolicy) and policy.settings["model"] == "Four"


def test_executing_a_part_of_each_plan_warm_starts_the_next_unless_told_otherwise(maze):
    assert catalog.policy("cem", maze, execute=2).has_warm_start
    assert not catalog.policy("cem", maze, execute=2, warm_start=False).has_warm_start
    assert not catalog.policy("cem", maze).has_warm_start
    assert not catalog.policy("cem", maze, model=Four(), execute=2).planner.warm_start


@pytest.mark.parametrize("setting", [None, True])
def test_what_is_executed_in_parts_is_planned_as_with_a_warm_start(maze, setting):
    """Not told, a planner of which 2 actions are executed plans as one told to start warm, and as no other."""
    untold = run(maze, None, "cem", execute=2, candidates=8, plan_horizon=15)
    other = run(maze, None, "cem", execute=2, candidates=8, plan_horizon=15, warm_start=bool(setting))
    assert np.array_equal(untold["steps"], other["steps"]) == bool(setting)


def test_knots_reach_the_planner(maze):
    assert catalog.policy("mppi", maze, knots=5).planner.knots == 5


def test_a_setting_a_policy_does_not_have_is_named(maze):
    with pytest.raises(BadInput, match=r"'cem' has.*'iteratons';.*'iterations'\?"):
        catalog.policy("cem", maze, iteratons=5)


def test_a_model_that_is_both_batched_and_four_methods_is_batched(maze):
    class Both(Batched):
        def rollout(self, latents, actions):
            path = [latents]
            for step in range(actions.shape[1]):
                path.append(self.step(path[-1], actions[:, step]))
            return np.stack(path, axis=1)

        def score(self, latent, goal):
            raise AssertionError("never asked")

        def plan(self, observation, goal, horizon):
            raise AssertionError("never asked")

    table = run(maze, Both(), candidates=24)
    assert np.array_equal(table["steps"], run(maze, Batched(), candidates=24)["steps"])


def test_a_rollout_without_the_start_is_told_so(maze):
    class Late(Batched):
        def rollout(self, latents, actions):
            return np.repeat(latents[:, None], actions.shape[1], axis=1)

    assert "including the start" in run(maze, Late())["error"][0]


def test_a_class_that_needs_arguments_is_told_so(maze):
    class Needy(Batched):
        def __init__(self, weights):
            pass

    with pytest.raises(BadInput, match=r"Needy cannot be.*TypeError"):
        catalog.policy("cem", maze, model=Needy)


def test_a_rollout_that_writes_into_its_latent_spoils_no_candidate(maze):
    class InPlace(Four):
        def encode(self, observation):
            return np.array(observation, float)

        def rollout(self, latent, actions):
            path = [latent.copy()]
            for action in actions:
                latent[:] = dynamics(latent, action)
                path.append(latent.copy())
            return path

    table = run(maze, InPlace(), candidates=24, plan_horizon=15)
    assert np.array_equal(table["steps"], run(maze, Four(), candidates=24, plan_horizon=15)["steps"])


def test_a_native_object_that_fails_in_one_episode_leaves_the_others_alone(maze):
    """Stateful objects: a call that is repeated because a neighbour broke must find them as they were."""

    class Fragile(Four):
        def plan(self, observation, goal, horizon):
            plan = super().plan(observation, goal, horizon)
            if self.fails and plan[0] == "up":
                raise OSError("broke")
            return plan

    class OneBad(Fragile):
        count = 0
        fails = False

        def __deepcopy__(self, memo):
            copy = OneBad()
            copy.__dict__.update(self.__dict__)
            if "fails" not in self.__dict__:
                OneBad.count += 1
                copy.fails = OneBad.count == 3
            return copy

    table = run(maze, OneBad(), "native")
    assert [bool(error) for error in table["error"]] == [row == 2 for row in range(6)]
    assert table["steps"].tolist() == [14, 14, 5, 14, 14, 14]
    assert table["plan_calls"].tolist() == [5, 5, 2, 5, 5, 5]


@pytest.mark.parametrize("plan", [[1.9, 2.7], [2**32 + 1], [7], [[1, 2]], [None]])
def test_native_actions_are_not_bent_into_shape(maze, plan):
    class Odd(Four):
        def plan(self, observation, goal, horizon):
            return plan

    assert run(maze, Odd(), "native")["error"][0].startswith("BadDecision: a native plan")


def test_a_native_plan_longer_than_the_episode_is_cut(maze):
    class Long(Four):
        def plan(self, observation, goal, horizon):
            return ["up"] * (horizon + 50)

    table = run(maze, Long(), "native")
    assert (table["steps"] == 60).all() and (table["plan_calls"] == 1).all()


def test_an_empty_native_plan_gives_up(maze):
    class Empty(Four):
        def plan(self, observation, goal, horizon):
            return []

    table = run(maze, Empty(), "native")
    assert not table["success"].any() and not table["steps"].any() and not (table["error"] != "").any()


def test_native_needs_the_four_methods(maze):
    with pytest.raises(BadInput, match="native needs an object"):
        catalog.policy("native", maze, model=Batched())
    with pytest.raises(BadInput, match="it lacks score"):
        catalog.policy("native", maze, model=OnlyThree())


def test_four_methods_get_action_values_not_indices():
    class Levels:
        def encode(self, observation):
            return float(observation[0])

        def rollout(self, latent, actions):
            seen.append(actions.copy())
            return [latent] * (len(actions) + 1)

        def score(self, latent, goal):
            return 0.0

        def plan(self, observation, goal, horizon):
            return []

    seen = []
    space = Finite(("left", "right"), values=np.array([[-0.5], [0.5]]))
    world = EnvironmentSpec("levels", ("x",), space, max_steps=3)
    policy = FourMethodsPolicy("p", world, Levels(), RandomShooting(3, 8))
    percept = Percept(np.zeros((1, 1)), np.zeros((1, 1)), None, np.zeros((1, 1)), np.full(1, 3))
    policy.act(percept, None, Streams(np.zeros(1, int), np.zeros(1, int)))
    assert set(np.concatenate(seen).ravel().tolist()) == {-0.5, 0.5}
