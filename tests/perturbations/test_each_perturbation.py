"""Each perturbation on a step whose outcome is known by hand."""

from dataclasses import replace

import numpy as np
import pytest

from wmel import catalog
from wmel.contract.environment import Box
from wmel.contract.perturbation import Delivery, Disturbance, PendingStep
from wmel.errors import BadInput, UnknownPart
from wmel.perturbations import (
    ActionDelay,
    CompositePerturbation,
    DropNextActions,
    EnvPerturbation,
    HoldNextActions,
    ObservationNoise,
    perturb_actions,
    perturb_observations,
    perturb_step,
    rows_in_window,
)
from wmel.randomness import Streams

STREAMS = Streams(np.array([5, 6]), np.array([3, 3]))


class Idler:
    """A world with an idle action and nothing that happens by itself."""

    def __init__(self, maze):
        self.spec = replace(maze.spec, name="idler", actions=Box(-np.ones(1), np.ones(1)), idle=np.array([0.5]))


def pending(queue, lengths, since=(0, 0), last=((9.0,), (8.0,))):
    return PendingStep(
        np.zeros((2, 1)), np.array(queue, float)[..., None], np.array(lengths), np.array(last), np.array(since)
    )


def deliveries(perturbation, world, actions):
    """What arrives of the actions of two rows, one step after the other."""
    carried, arrived = perturbation.carry(world, 2), []
    for step, action in enumerate(actions):
        delivery = Delivery(np.array([[action], [10 * action]], np.float32), np.full(2, step), carried)
        after = perturb_actions(perturbation, world, delivery)
        carried = after.carried
        arrived.append(after.actions[:, 0].tolist())
    return arrived


QUEUE = [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_a_drop_takes_the_next_actions_out_and_no_time_passes():
    after = DropNextActions(2).strike(None, pending(QUEUE, [4, 3]), STREAMS)
    assert after.lengths.tolist() == [2, 1]
    assert after.queue[0, :2, 0].tolist() == [3, 4] and after.queue[1, 0, 0] == 7


def test_dropping_all_there_is_leaves_nothing():
    assert DropNextActions(9).strike(None, pending(QUEUE, [4, 3]), STREAMS).lengths.tolist() == [0, 0]


def test_holding_the_last_action_replaces_the_next_ones_and_the_rest_follows(maze):
    after = HoldNextActions(2, "last").strike(maze, pending(QUEUE, [4, 1]), STREAMS)
    assert after.queue[0, :, 0].tolist() == [9, 9, 3, 4] and after.lengths.tolist() == [4, 2]
    assert after.queue[1, :2, 0].tolist() == [8, 8]


def test_holding_longer_than_the_plan_outlasts_it(maze):
    after = HoldNextActions(6, "last").strike(maze, pending(QUEUE, [4, 4]), STREAMS)
    assert after.queue.shape[1] == 6 and after.lengths.tolist() == [6, 6]


def test_holding_idle_runs_the_idle_action(maze):
    assert HoldNextActions(1).strike(Idler(maze), pending(QUEUE, [4, 4]), STREAMS).queue[:, 0, 0].tolist() == [0.5, 0.5]


def test_a_delay_runs_idle_first_and_then_every_action_late(maze):
    arrived = deliveries(ActionDelay(2), Idler(maze), [0.1, 0.2, 0.3, 0.4])
    assert np.allclose(arrived, [[0.5, 0.5], [0.5, 0.5], [0.1, 1.0], [0.2, 2.0]])


def test_a_delay_that_is_over_delivers_at_once(maze):
    arrived = deliveries(ActionDelay(1, window=2), Idler(maze), [0.1, 0.2, 0.3])
    assert np.allclose(np.array(arrived)[:, 0], [0.5, 0.1, 0.3])


def test_noise_has_the_asked_deviation_and_differs_between_steps():
    seeds = np.arange(20000)
    clean = np.zeros((20000, 3), np.float32)
    noisy = ObservationNoise(0.5).sense(clean, seeds * 0, Streams(seeds, seeds * 0))
    assert abs(noisy.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * noisy.size)
    assert abs(noisy.mean()) < 4 * 0.5 / np.sqrt(noisy.size)
    later = ObservationNoise(0.5).sense(clean, seeds * 0, Streams(seeds, seeds * 0 + 1))
    assert abs(np.corrcoef(noisy.ravel(), later.ravel())[0, 1]) < 0.02


@pytest.mark.parametrize(
    "nothing",
    [DropNextActions(0), HoldNextActions(0, "last"), ActionDelay(0), ObservationNoise(0.0)],
    ids=lambda p: p.name,
)
def test_at_strength_zero_nothing_changes(nothing, maze):
    before = pending(QUEUE, [4, 3])
    after = nothing.strike(maze, before, STREAMS)
    assert np.array_equal(after.queue, before.queue) and np.array_equal(after.lengths, before.lengths)
    seen = np.array([[1.5, -2.0], [0.0, 3.0]])
    assert np.array_equal(nothing.sense(seen, np.zeros(2, int), STREAMS), seen)


def test_the_environments_own_push_moves_back_against_the_last_move(maze):
    states = maze.step(maze.step(maze.reset(np.arange(2)), np.array([[1], [1]])), np.array([[1], [0]]))
    pushed = EnvPerturbation().strike(maze, replace(pending(QUEUE, [4, 4]), states=states), STREAMS)
    # down, down and then one up again; down, up and then one down again
    assert maze.observe(states).tolist() == [[1, 3], [1, 5]]
    assert maze.observe(pushed.states).tolist() == [[1, 4], [1, 4]]


def test_before_the_first_move_the_push_does_nothing(maze):
    states = maze.reset(np.arange(3))
    assert np.array_equal(maze.perturb(states, STREAMS), states)


def test_a_blocked_move_is_not_remembered_and_a_push_into_a_wall_does_nothing(two_rooms):
    start = two_rooms.reset(np.arange(1))
    blocked = two_rooms.step(start, np.array([[3]]))  # right to (2,1)
    for _ in range(3):
        blocked = two_rooms.step(blocked, np.array([[3]]))  # (3,1), then twice against the wall at x = 4
    assert two_rooms.observe(two_rooms.perturb(blocked, STREAMS)).tolist() == [[2, 1]]
    cornered = two_rooms.step(start, np.array([[2]]))  # left to (0,1); pushed back to (1,1), still facing left
    again = two_rooms.perturb(two_rooms.perturb(cornered, STREAMS), STREAMS)
    assert two_rooms.observe(again).tolist() == [[2, 1]]


def test_parts_of_a_composite_act_in_order_each_in_its_own_window(maze):
    both = CompositePerturbation(DropNextActions(1), HoldNextActions(1, "last"), ObservationNoise(0.1, window=3))
    assert both.window == 3 and both.name == "composite:drop-next-1+hold-last-1+observation-noise-0.1@3"
    at_once = perturb_step(both, maze, pending(QUEUE, [4, 4]), STREAMS)
    assert at_once.queue[0, :3, 0].tolist() == [9, 3, 4] and at_once.lengths.tolist() == [3, 3]
    later = perturb_step(both, maze, pending(QUEUE, [4, 4], since=(1, 2)), STREAMS)
    assert np.array_equal(later.queue[..., 0], QUEUE)
    seen = both.sense(np.zeros((2, 2)), np.array([1, 2]), STREAMS)
    assert (seen != 0).all()


def test_a_composite_keeps_the_lines_of_its_parts_apart(maze):
    both = CompositePerturbation(ActionDelay(1), ActionDelay(2))
    arrived = np.array(deliveries(both, Idler(maze), [0.1, 0.2, 0.3, 0.4, 0.6]))[:, 0]
    assert np.allclose(arrived, [0.5, 0.5, 0.5, 0.1, 0.2])  # three steps late in all


def test_noise_on_whole_numbers_is_noise():
    seen = perturb_observations(ObservationNoise(0.4), np.zeros((2, 3), np.int64), np.zeros(2, int), STREAMS)
    assert (seen != 0).all() and np.issubdtype(seen.dtype, np.floating)


def test_a_window_begins_at_the_step_and_ends_after_its_length():
    since = np.array([-3, -1, 0, 1, 2, 3])
    assert rows_in_window(ObservationNoise(0.1, window=2), since).tolist() == [2, 3]
    assert rows_in_window(ObservationNoise(0.1), since).tolist() == [2, 3, 4, 5]
    assert rows_in_window(DropNextActions(1), since).tolist() == [2]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("env-default", "env-default"),
        ("drop-next-5", "drop-next-5"),
        ("drop-next", "drop-next-1"),
        ("hold-idle-2", "hold-idle-2"),
        ("observation-noise-0.05", "observation-noise-0.05"),
        ("observation-noise-1e-3@20", "observation-noise-0.001@20"),
        ("action-delay-3", "action-delay-3"),
        ("action-delay-3@5", "action-delay-3@5"),
        ("composite:env-default+drop-next-2", "composite:env-default+drop-next-2"),
    ],
)
def test_a_perturbation_reads_as_it_is_typed(text, name):
    assert catalog.perturbation(text).name == name


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("drop-nxt-5", UnknownPart, "'drop-nxt-5'; did you.*'drop-next'"),
        ("composite:", BadInput, "one part, got none"),
        ("composite:+", BadInput, "one part, got none"),
        ("drop-next-1.5", BadInput, "whole number"),
        ("drop-next--2", BadInput, "k must.*0,.*-2"),
        ("observation-noise-nan", BadInput, "sigma must be a"),
        ("observation-noise-loud", BadInput, "'loud' in 'observation-noise-loud'"),
        ("action-delay-0.5", BadInput, "whole number"),
        ("observation-noise-0.1@0", BadInput, "window"),
        ("drop-next-2@5", BadInput, "lasts one step and"),
        ("hold-last-3@5", BadInput, "lasts one step and"),
        ("env-default-3", BadInput, "has no strength"),
    ],
)
def test_what_is_no_perturbation_is_refused(text, kind, words):
    with pytest.raises(kind, match=words):
        catalog.perturbation(text)


@pytest.mark.parametrize("perturbation", [ActionDelay(0), HoldNextActions(0, "idle")], ids=lambda p: p.name)
def test_at_strength_zero_no_idle_action_is_needed(perturbation, maze):
    perturbation.check(maze)


@pytest.mark.parametrize("perturbation", [ActionDelay(1), HoldNextActions(1, "idle")], ids=lambda p: p.name)
def test_an_environment_without_an_idle_action_is_refused(perturbation, maze):
    with pytest.raises(BadInput, match=f"{perturbation.name} requires an idle action"):
        perturbation.check(maze)


def test_an_environment_without_a_perturbation_of_its_own_is_refused(maze):
    with pytest.raises(BadInput, match="idler has no perturbation"):
        CompositePerturbation(DropNextActions(1), EnvPerturbation()).check(Idler(maze))


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_is_a_share(probability):
    with pytest.raises(BadInput, match="must lie in"):
        Disturbance(EnvPerturbation(), probability)
