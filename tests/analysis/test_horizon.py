import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmel.analysis.horizon import effective_horizon
from wmel.errors import BadInput


def test_the_documents_example_gives_15():
    assert effective_horizon([5, 10, 15, 20, 30], [0, 0.9, 1, 1, 1], 0.01).value == 15


def test_a_wider_epsilon_accepts_a_shorter_horizon():
    assert effective_horizon([5, 10, 15, 20, 30], [0, 0.9, 1, 1, 1], 0.1 + 1e-9).value == 10


def test_a_later_dip_does_not_count_against_a_horizon():
    assert effective_horizon([5, 10, 15], [0.5, 1.0, 0.7]).value == 10


def test_the_order_of_points_does_not_matter():
    assert effective_horizon([15, 5, 10], [1.0, 0.0, 1.0]).value == 10


def test_where_nothing_succeeds_there_is_no_horizon():
    assert effective_horizon([5, 10], [0.0, 0.0]).reason == "no horizon ever succeeded"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 0.99))
def test_it_is_the_shortest_that_no_longer_one_beats(rates, epsilon):
    horizons = list(range(1, len(rates) + 1))
    found = effective_horizon(horizons, rates, epsilon)
    if found.value is None:
        assert max(rates) == 0
        return
    good = [h for h in horizons if all(rates[k - 1] - rates[h - 1] <= epsilon for k in horizons if k > h)]
    assert found.value == min(good)


@pytest.mark.parametrize(
    ("arguments", "words"), [(([], []), "one success rate per horizon"), (([5], [1.0], -0.1), "epsilon")]
)
def test_bad_input_is_refused(arguments, words):
    with pytest.raises(BadInput, match=words):
        effective_horizon(*arguments)
