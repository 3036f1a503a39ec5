import pytest

from wmel.environments.grids import Layout
from wmel.errors import BadLayout


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
        ("S.\n.xG", "row 2 of the layout has 3 characters, row 1 has 2"),
        ("S.G\n.x.", "row 2, character 2 of the layout is 'x'"),
        ("..G", "exactly one start 'S', got 0"),
        ("SSG", "exactly one start 'S', got 2"),
        ("S..", "exactly one goal 'G', got 0"),
        ("SDDG", "at most one door 'D', got 2"),
        ("S\t.G", "row 1, character 2"),
    ],
)
def test_a_bad_drawing_is_named_where_it_is_bad(drawing, words):
    with pytest.raises(BadLayout, match=words):
        Layout.parse(drawing)
