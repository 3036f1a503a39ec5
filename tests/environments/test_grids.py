from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.selection import GRIDS
from wmel import catalog
from wmel.environments.grids import Layout, maze_toy, two_room_toy
from wmel.errors import BadInput, BadLayout

MOVES = [(0, 1), (0, -1), (-1, 0), (1, 0)]


def scalar_step(layout, cell, action):
    """The rule in one line, for one agent."""
    ahead = (cell[0] + MOVES[action][0], cell[1] + MOVES[action][1])
    return ahead if layout.is_free(ahead) else cell


def free_cells(layout):
    return [(x, y) for x in range(layout.width) for y in range(layout.height) if layout.is_free((x, y))]


def state_of(environment, cell):
    return np.array([[cell[0] + environment.layout.width * cell[1]]])


def shortest_path(layout):
    frontier, seen = deque([(layout.start, 0)]), {layout.start}
    while frontier:
        cell, steps = frontier.popleft()
        if cell == layout.goal:
            return steps
        for action in range(4):
            ahead = scalar_step(layout, cell, action)
            if ahead not in seen:
                seen.add(ahead)
                frontier.append((ahead, steps + 1))
    return None


@pytest.mark.parametrize(("environment", "steps"), [(maze_toy(), 14), (two_room_toy(), 11)])
def test_the_shortest_path_is_that_of_wmel_0_18(environment, steps):
    assert shortest_path(environment.layout) == steps


def test_the_maze_is_that_of_wmel_0_18(maze):
    assert (maze.layout.start, maze.layout.goal) == ((1, 5), (5, 1))
    assert len(free_cells(maze.layout)) == 16  # 64 transitions
    assert maze.spec.actions.names == ("up", "down", "left", "right")


def test_the_two_rooms_are_those_of_wmel_0_18(two_rooms):
    layout = two_rooms.layout
    assert (layout.width, layout.height, layout.start, layout.goal) == (9, 7, (1, 1), (8, 5))
    assert layout.walls == {(4, y) for y in range(7) if y != 3}


@pytest.mark.parametrize("name", GRIDS)
def test_every_transition_equals_the_scalar_rule(name):
    environment = catalog.environment(name)
    for cell in free_cells(environment.layout):
        for action in range(4):
            after = environment.step(state_of(environment, cell), np.array([[action]]))
            assert tuple(environment.observe(after)[0]) == scalar_step(environment.layout, cell, action)


@given(st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=9))
def test_a_rollout_equals_its_steps(sequences):
    environment = two_room_toy()
    actions = np.array(sequences)[:, :, None]
    states = environment.reset(np.arange(len(actions)))
    trajectory = environment.rollout(states, actions)
    for step in range(actions.shape[1]):
        assert np.array_equal(trajectory[:, step], states)
        states = environment.step(states, actions[:, step])
    assert np.array_equal(trajectory[:, -1], states)


def test_stepping_changes_no_argument(maze):
    states, actions = maze.reset(np.arange(3)), np.array([[0], [1], [2]])
    before = states.copy(), actions.copy()
    maze.step(states, actions)
    assert np.array_equal(states, before[0]) and np.array_equal(actions, before[1])


def test_the_distance_is_what_is_left_after_the_step(maze):
    states = maze.reset(np.arange(1))
    after = maze.step(states, np.array([[1]]))
    assert maze.quantities(states, np.array([[1]]), after)["distance"].tolist() == [7]  # (1,4) to (5,1)


def test_the_waypoint_is_the_door_only_from_across(two_rooms):
    states = np.concatenate([state_of(two_rooms, cell) for cell in ((1, 1), (3, 6), (4, 3), (7, 0))])
    assert two_rooms.waypoint(states).tolist() == [[4, 3], [4, 3], [8, 5], [8, 5]]


def test_a_drawing_of_ones_own_is_walked():
    environment = maze_toy(layout="S.G")
    states = environment.step(environment.reset(np.arange(1)), np.array([[3]]))
    assert environment.observe(states).tolist() == [[1, 0]]


def test_an_episode_needs_a_step():
    with pytest.raises(BadInput, match="max_steps must be positive, got 0"):
        maze_toy(max_steps=0)


def test_cells_count_from_the_bottom_left():
    layout = Layout.parse("#G\nS.")
    assert (layout.start, layout.goal, layout.walls) == ((0, 0), (1, 1), {(0, 1)})


def test_blank_lines_around_a_drawing_do_not_count():
    assert Layout.parse("\n\nS.G\n\n") == Layout.parse("S.G")


def test_beyond_the_grid_nothing_is_free():
    layout = Layout.parse("S.G")
    assert layout.is_free((0, 0)) and not layout.is_free((-1, 0)) and not layout.is_free((3, 0))


@pytest.mark.parametrize(
    ("drawing", "words"),
    [
        ("", "at least one row"),
        ("\n \n", "at least one row"),
        ("S.\n.xG", "2.*3.*1.*2"),
        ("S.G\n.x.", "2, character 2.*'x'"),
        ("..G", "exactly one start 'S', got 0"),
        ("SSG", "exactly one start 'S', got 2"),
        ("S..", "exactly one goal 'G', got 0"),
        ("SDDG", "door 'D', got 2"),
        ("S\t.G", "row 1, character 2"),
    ],
)
def test_a_bad_drawing_is_named_where_it_is_bad(drawing, words):
    with pytest.raises(BadLayout, match=words):
        Layout.parse(drawing)
