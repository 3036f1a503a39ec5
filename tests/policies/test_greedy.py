import numpy as np
import pytest

from wmel import catalog
from wmel.errors import BadInput
from wmel.policies.direct import greedy
from wmel.randomness import Streams

NO_STREAMS = Streams(np.zeros(0, int), np.zeros(0, int))


def moves_of(environment, percept):
    decision = catalog.policy("greedy", environment).act(percept, None, NO_STREAMS)
    names = environment.spec.actions.names
    return [[names[a] for a in row[:k, 0]] for row, k in zip(decision.actions, decision.lengths, strict=True)]


def test_in_the_maze_it_plans_right_then_down_into_the_wall(maze, percept_of):
    assert moves_of(maze, percept_of(maze, maze.reset(np.arange(1)))) == [["right"] * 4 + ["down"] * 4]


def test_it_goes_through_the_door_and_walks_the_shortest_path(two_rooms, percept_of):
    moves = moves_of(two_rooms, percept_of(two_rooms, two_rooms.reset(np.arange(1))))
    assert moves == [["right"] * 3 + ["up"] * 2 + ["right"] * 4 + ["up"] * 2]


def test_it_plans_no_more_steps_than_are_left(two_rooms, percept_of):
    assert len(moves_of(two_rooms, percept_of(two_rooms, two_rooms.reset(np.arange(1)), 5))[0]) == 5


def test_rows_walk_on_their_own(two_rooms, percept_of):
    here, there = two_rooms.reset(np.arange(1)), np.array([[7 + 9 * 5]])  # one step left of the goal
    assert moves_of(two_rooms, percept_of(two_rooms, np.concatenate([there, here])))[0] == ["right"]


def test_a_world_that_cannot_be_walked_is_refused():
    class Pendulum:
        class spec:
            name = "pendulum"

    with pytest.raises(BadInput, match="pendulum does not"):
        greedy(Pendulum())
