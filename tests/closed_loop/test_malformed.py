"""Decisions and quantities that are none end their own episode and no other."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.closed_loop.worlds import Countdown, Scripted, waiting
from wmel.closed_loop.run import run_episodes
from wmel.contract.criterion import Criterion, Stop, When
from wmel.contract.policy import Decision
from wmel.errors import BadInput


def deciding(**fields):
    """A policy whose decision is right but for some fields."""

    def decide(percept, streams):
        count = len(percept)
        right = {
            "actions": np.zeros((count, 1, 1), np.int32),
            "lengths": np.ones(count, int),
            "memory": None,
            "model_steps": np.zeros(count, int),
            "errors": {},
        }
        return Decision(**{**right, **fields})

    return Scripted(decide)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"lengths": np.array([0.5])}, "whole lengths"),
        ({"lengths": np.array([np.nan])}, "whole lengths"),
        ({"lengths": np.array([2])}, "within 0..1"),
        ({"lengths": np.array([-1])}, "within 0..1"),
        ({"model_steps": None}, "whole numbers of model steps"),
        ({"model_steps": np.array([1.5])}, "whole numbers of model steps"),
        ({"model_steps": np.array([[1]])}, "whole numbers of model steps"),
        ({"errors": {1: "x"}}, "errors must map rows within 0..0"),
        ({"errors": {-1: "x"}}, "errors must map rows within 0..0"),
        ({"errors": {0: ""}}, "to messages"),
        ({"actions": np.zeros((1, 1), np.int32)}, r"actions \[1,K,1\]"),
        ({"actions": np.zeros((1, 1, 1))}, "outside the action space"),
        ({"actions": np.full((1, 1, 1), 2, np.int32)}, "outside the action space"),
    ],
)
def test_a_malformed_decision_is_an_error_row(fields, words):
    table = run_episodes(Countdown((3,)), deciding(**fields), [0], block=1, timed_decisions=0)
    assert table["error"][0].startswith("BadDecision: ")
    assert re.search(words, table["error"][0])


def test_lengths_may_be_a_list_and_zero_in_it_gives_up():
    table = run_episodes(Countdown((3,)), deciding(lengths=[0]), [0], timed_decisions=0)
    assert not table["success"][0] and table["steps"][0] == 0 and table["error"][0] == ""


def test_an_error_beats_a_length_of_zero():
    table = run_episodes(Countdown((3,)), deciding(lengths=np.array([0]), errors={0: "why"}), [0], timed_decisions=0)
    assert table["error"][0] == "why"


def test_what_is_not_executed_may_be_anything():
    table = run_episodes(Countdown((1,)), deciding(actions=np.array([[[0], [77]]], np.int32)), [0], timed_decisions=0)
    assert table["success"][0]
    failing = deciding(actions=np.array([[[77]]], np.int32), errors={0: "no plan"})
    assert run_episodes(Countdown((1,)), failing, [0], timed_decisions=0)["error"][0] == "no plan"


@pytest.mark.parametrize("block", [1, 3])
def test_giving_up_everywhere_at_once_ends_the_block_and_not_the_run(block):
    """An environment that cannot step nobody is never asked to."""

    class Strict(Countdown):
        def step(self, states, actions):
            return np.stack([np.maximum(row - 1, 0) for row in states])

    def decide(percept, streams):
        count = len(percept)
        lengths = np.where(streams.episode_seeds < 3, 0, 1)
        return Decision(np.zeros((count, 1, 1), np.int32), lengths, None, np.zeros(count, int))

    table = run_episodes(Strict((2,)), Scripted(decide), np.arange(6), block=block, timed_decisions=0)
    assert table["success"].tolist() == [False] * 3 + [True] * 3


@pytest.mark.parametrize("shape", ["column", "scalar"])
def test_quantities_of_another_shape_are_an_error_of_the_environment(shape):
    class Odd(Countdown):
        def quantities(self, states, actions, next_states):
            return {"left": next_states if shape == "column" else 3.0}

    assert run_episodes(Odd((3,)), waiting(), [0], timed_decisions=0)["error"][0].startswith("BadStep: quantity 'left'")


NO_NUMBERS = {
    "list": list,
    "object": lambda numbers: numbers.astype(object),
    "U32": lambda numbers: numbers.astype("U32"),
    "complex128": lambda numbers: numbers.astype(complex),
    "MaskedArray": lambda numbers: np.ma.masked_array(numbers, mask=True),
    "datetime64": lambda numbers: numbers.astype("M8[s]"),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
@pytest.mark.parametrize("what", ["quantity 'reward'", "states", "observations"])
def test_what_is_no_array_of_real_numbers_is_an_error_row_that_names_it(what, kind):
    convert = NO_NUMBERS[kind]

    class Odd(Countdown):
        """Its numbers are none after two steps."""

        def late(self, left, numbers):
            return convert(numbers) if (left == 1).any() else numbers

        def step(self, states, actions):
            after = super().step(states, actions)
            return self.late(after, after) if what == "states" else after

        def observe(self, states):
            return self.late(states, states) if what == "observations" else states

        def quantities(self, states, actions, next_states):
            found = super().quantities(states, actions, next_states)
            late = self.late(next_states, found["reward"]) if "reward" in what else found["reward"]
            return {**found, "reward": late}

    table = run_episodes(Odd((3, 4), reward=True), waiting(), [0, 1], timed_decisions=0)
    assert table["steps"].tolist() == ([2, 3] if what == "observations" else [1, 2])
    assert all(what in error and kind in error and error.startswith("BadStep") for error in table["error"])


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (lambda states: np.concatenate([states, states]), r"\[1,1\], got shape \(2, 1\)"),
        (lambda states: np.concatenate([states, states], axis=1), r"\[1,1\], got shape \(1, 2\)"),
        (lambda states: states[:, :0], r"\[1,1\], got shape \(1, 0\)"),
    ],
    ids=["rows", "wider", "narrower"],
)
def test_states_of_another_shape_end_their_episode_and_no_other(after, words):
    class Growing(Countdown):
        def step(self, states, actions):
            found = super().step(states, actions)
            return after(found) if (found == 1).any() else found

    table = run_episodes(Growing((3, -1)), waiting(), [0, 1], max_steps=6, timed_decisions=0)
    assert re.search(words, table["error"][0]) and table["error"][1] == "" and table["steps"].tolist() == [1, 6]


def test_a_quantity_that_is_missing_at_a_later_step_is_an_error_that_names_it():
    class Forgetful(Countdown):
        def quantities(self, states, actions, next_states):
            found = super().quantities(states, actions, next_states)
            return found if (next_states > 1).all() else {}

    table = run_episodes(Forgetful((3, 3)), waiting(), [0, 1], timed_decisions=0)
    assert all("left" in error for error in table["error"]) and table["steps"].tolist() == [1, 1]


def test_a_quantity_may_be_called_state():
    class Named(Countdown):
        def quantities(self, states, actions, next_states):
            return {"left": next_states[:, 0], "state": np.full(len(states), 99.0)}

    assert run_episodes(Named((3,)), waiting(), [0], timed_decisions=0)["steps"][0] == 3


def test_observations_of_too_few_rows_are_an_error_of_the_environment():
    class Blind(Countdown):
        def observe(self, states):
            return states[:0]

    assert "[1,1], got shape (0, 1)" in (run_episodes(Blind((3,)), waiting(), [0], timed_decisions=0)["error"][0])


def test_a_reward_of_nan_is_a_return_of_nan():
    class Gappy(Countdown):
        def quantities(self, states, actions, next_states):
            return {"left": next_states[:, 0], "reward": np.where(next_states[:, 0] == 7, np.nan, 1.0)}

    table = run_episodes(Gappy((9,)), waiting(), [0], stop=Stop.HORIZON, max_steps=10, timed_decisions=0)
    assert np.isnan(table["return"][0])


def test_rules_may_be_given_as_words():
    criterion = Criterion("left", at_most=0, when="at_end")
    assert criterion.when is When.AT_END
    table = run_episodes(
        Countdown((3,)), waiting(), [0], criterion=criterion, stop="horizon", max_steps=6, timed_decisions=0
    )
    assert table["first_success_step"][0] == 6
    assert run_episodes(Countdown((3,)), waiting(), [0], stop="success", timed_decisions=0)["steps"][0] == 3


@pytest.mark.parametrize("words", [{"stop": "sucess"}, {"criterion": {"when": "never"}}, {"criterion": {"steps": 3}}])
def test_words_that_are_no_rule_are_refused(words):
    with pytest.raises(BadInput):
        criterion = Criterion("left", at_most=0, **words.pop("criterion", {}))
        run_episodes(Countdown((3,)), waiting(), [0], criterion=criterion, **words)


def test_a_streak_that_breaks_begins_anew():
    class Blinking(Countdown):
        def step(self, states, actions):
            return states + 1

        def quantities(self, states, actions, next_states):
            return {"left": np.where(next_states[:, 0] % 3 == 0, 1.0, 0.0)}  # holds twice, breaks once

    sustained = Criterion("left", at_most=0, when=When.SUSTAINED, steps=3)
    table = run_episodes(
        Blinking((0,)), waiting(), [0], criterion=sustained, stop="horizon", max_steps=20, timed_decisions=0
    )
    assert not table["success"][0]


def test_an_error_takes_back_success_and_return():
    def decide(percept, streams):
        if percept.steps_left[0] == 2:
            raise OSError("late")
        return waiting().act(percept, None, streams)

    table = run_episodes(
        Countdown((3,), reward=True), Scripted(decide), [0], stop="horizon", max_steps=8, timed_decisions=0
    )
    assert table["error"][0] and not table["success"][0]
    assert table["first_success_step"][0] == -1 and np.isnan(table["return"][0]) and table["steps"][0] == 6


def test_giving_up_takes_back_success_and_return_too():
    def decide(percept, streams):
        count, last = len(percept), percept.steps_left[0] == 2
        return Decision(np.zeros((count, 1, 1), np.int32), np.full(count, 0 if last else 1), None, np.zeros(count, int))

    table = run_episodes(
        Countdown((3,), reward=True), Scripted(decide), [0], stop="horizon", max_steps=8, timed_decisions=0
    )
    assert not table["success"][0] and np.isnan(table["return"][0]) and table["error"][0] == ""


def test_the_idle_action_is_what_judges_a_start():
    class Sliding(Countdown):
        """The idle action moves one step nearer; the zero action does not."""

        @property
        def spec(self):
            return replace(super().spec, idle=np.array([1], np.int32))

        def step(self, states, actions):
            return states - actions

    assert run_episodes(Sliding((1,)), waiting(), [0], max_steps=2, timed_decisions=0)["pre_solved"][0]


@pytest.mark.parametrize("changes", [{"max_steps": 2.5}, {"block": 1.5}, {"timed_decisions": 0.5}, {"max_steps": True}])
def test_numbers_that_are_not_whole_are_refused(changes):
    with pytest.raises(BadInput, match="must be a whole number"):
        run_episodes(Countdown((3,)), waiting(), [0], **changes)


def test_seeds_too_large_for_a_table_are_refused():
    with pytest.raises(BadInput, match="below 2\\^63"):
        run_episodes(Countdown((3,)), waiting(), np.array([2**63], np.uint64))
