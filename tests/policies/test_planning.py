"""Bring your own model: the same model in three ways gives the same outcomes."""

import numpy as np
import pytest

from tests.policies.own_models import Batched, Four, dynamics
from wmel import catalog
from wmel.closed_loop.run import run_episodes
from wmel.episodes import OUTCOMES
from wmel.errors import BadInput
from wmel.models.callable_model import CallableModel
from wmel.policies.four_methods import FourMethodsPolicy
from wmel.policies.planning import adapted

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
    tables = [run(maze, model, execute=2, candidates=24) for model in (Batched(), dynamics, Four())]
    for other in tables[1:]:
        assert np.array_equal(other["steps"], tables[0]["steps"])


def test_a_class_is_made_into_an_object():
    assert isinstance(adapted(Batched), Batched)


def test_a_callable_becomes_a_model():
    assert isinstance(adapted(dynamics), CallableModel)


class OnlyThree:
    def encode(self, observation): ...
    def rollout(self, latent, actions): ...
    def plan(self, observation, goal, horizon): ...


class NoDecode:
    spec = None

    def encode(self, percept, previous): ...
    def step(self, latents, actions): ...


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (OnlyThree(), "OnlyThree is not an object with the four methods: it lacks score"),
        (NoDecode(), "NoDecode is not a batched model: it lacks decode"),
        (5, "a model is a batched model"),
    ],
)
def test_what_is_no_model_is_refused_with_what_it_lacks(thing, words):
    with pytest.raises(BadInput, match=words):
        adapted(thing)


def test_a_model_that_changes_its_latent_width_is_an_error_of_its_episodes(maze):
    class Growing(Batched):
        def encode(self, percept, previous):
            width = 2 if previous is None else previous.shape[1] + 1
            return np.zeros((len(percept), width), np.float32)

    table = run(maze, Growing())
    assert all(error.startswith("BadModel: batched changed its latents from") for error in table["error"])


def test_a_step_that_changes_the_width_is_an_error(maze):
    class Shrinking(Batched):
        def step(self, latents, actions):
            return latents[:, :1]

    assert run(maze, Shrinking())["error"][0].startswith("BadModel: a step must keep the shape of its latents")


def test_a_callable_that_changes_its_input_is_told_so(maze):
    def meddling(state, action):
        state += 1
        return state

    assert "meddling changed the state or action it was given" in run(maze, meddling)["error"][0]


def test_a_callable_that_returns_another_shape_is_told_so(maze):
    assert "must return a state of shape (2,), got (1,)" in run(maze, lambda state, action: state[:1])["error"][0]


def test_a_rollout_of_the_wrong_length_is_told_so(maze):
    class Short(Four):
        def rollout(self, latent, actions):
            return [latent]

    assert "Short.rollout must return 21 latents for 20 actions, got 1" in run(maze, Short())["error"][0]


def test_nan_from_a_model_is_a_typed_error(maze):
    table = run(maze, lambda state, action: state * np.nan)
    assert set(table["error"]) == {"NoFiniteCandidate: none of 72 candidates had a finite cost"}


def test_native_without_a_model_is_refused(maze):
    with pytest.raises(BadInput, match="needs a model of your own"):
        catalog.policy("native", maze)


def test_a_native_plan_that_is_no_plan_is_an_error(maze):
    class Mumbling(Four):
        def plan(self, observation, goal, horizon):
            return ["somewhere"]

    assert "BadDecision: native plans are lists of actions" in run(maze, Mumbling(), "native")["error"][0]


def test_a_four_method_object_starts_anew_each_time(maze):
    with pytest.raises(BadInput, match="a warm start needs a batched model"):
        catalog.policy("cem", maze, model=Four(), warm_start=True, execute=1)


def test_the_four_methods_are_planned_over_by_their_own_policy(maze):
    policy = catalog.policy("mppi", maze, model=Four())
    assert isinstance(policy, FourMethodsPolicy) and policy.settings["model"] == "Four"
