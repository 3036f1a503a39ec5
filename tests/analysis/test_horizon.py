from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmel.analysis.horizon import effective_horizon
from wmel.errors import BadInput


def test_the_published_example_gives_15():
    assert effective_horizon([5, 10, 15, 20, 30], [0, 0.9, 1, 1, 1], 0.01).value == 15


def test_a_wider_epsilon_accepts_a_shorter_horizon():
    assert effective_horizon([5, 10, 15, 20, 30], [0, 0.9, 1, 1, 1], 0.1 + 1e-9).value == 10


def test_a_later_dip_does_not_count_against_a_horizon():
    assert effective_horizon([5, 10, 15], [0.5, 1.0, 0.7]).value == 10


def test_the_order_of_points_does_not_matter():
    assert effective_horizon([15, 5, 10], [1.0, 0.0, 1.0]).value == 10


def test_where_nothing_succeeds_there_is_no_horizon():
    assert effective_horizon([5, 10], [0.0, 0.0]).reason == "no horizon ever succeeded"


@given(
    st.integers(1, 2000).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=1, max_size=8))),
    st.integers(0, 200),
)
def test_it_is_the_shortest_that_no_longer_one_beats_to_the_last_digit(case, thousandths):
    """Compared with exact fractions: 1 - 495/500 <= .01 holds, whatever floating point says."""
    episodes, counts = case
    horizons, epsilon = list(range(1, len(counts) + 1)), Fraction(thousandths, 1000)
    found = effective_horizon(horizons, [count / episodes for count in counts], thousandths / 1000)
    if found.value is None:
        assert max(counts) == 0
        return
    gaps = {h: max((Fraction(c - counts[h - 1], episodes) for c in counts[h:]), default=0) for h in horizons}
    assert found.value == min(h for h in horizons if gaps[h] <= epsilon)


def test_a_gap_of_exactly_epsilon_is_no_gain():
    assert effective_horizon([10, 15], [495 / 500, 1.0], 0.01).value == 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], []), "one success rate per horizon"),
        (([5], [1.0], -0.1), "epsilon"),
        (([5], [float("nan")]), "must lie in"),
    ],
)
def test_bad_input_is_refused(arguments, words):
    with pytest.raises(BadInput, match=words):
        effective_horizon(*arguments)
