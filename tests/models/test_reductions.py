import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmel.contract.objective import ClosestApproach, DiscountedSum
from wmel.errors import BadInput
from wmel.models.imagine import closest_approach, discounted_sum, reduce_costs


def published_rule(costs):
    """Begin with the last step; scan from the first and replace only by something strictly lower."""
    value, cut = costs[-1], len(costs)
    for step, cost in enumerate(costs, start=1):
        if cost < value:
            value, cut = cost, step
    return value, cut


tables = st.integers(1, 7).flatmap(
    lambda horizon: st.lists(st.lists(st.integers(0, 4), min_size=horizon, max_size=horizon), min_size=1, max_size=6)
)


@given(tables)
def test_closest_approach_is_the_published_rule(rows):
    outcome = closest_approach(np.array(rows, float))
    assert list(zip(outcome.costs.tolist(), outcome.lengths.tolist(), strict=True)) == [published_rule(r) for r in rows]


@given(tables)
def test_memory_layout_does_not_matter(rows):
    costs = np.array(rows, float)
    assert np.array_equal(closest_approach(costs).lengths, closest_approach(np.asfortranarray(costs)).lengths)


def test_a_tie_with_the_last_step_keeps_the_whole_plan():
    assert closest_approach(np.array([[3.0, 1.0, 2.0, 1.0]])).lengths.tolist() == [4]
    assert closest_approach(np.array([[3.0, 1.0, 1.0, 2.0]])).lengths.tolist() == [2]


def test_a_nan_anywhere_spoils_the_candidate():
    outcome = closest_approach(np.array([[1.0, np.nan, 3.0]]))
    assert math.isnan(outcome.costs[0])
    assert 1 <= outcome.lengths[0] <= 3


def test_a_discounted_sum_is_its_formula():
    costs = np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 8.0]])
    outcome = discounted_sum(costs, 0.5)
    assert outcome.costs.tolist() == [1 + 1 + 1, 2]
    assert outcome.lengths.tolist() == [3, 3]


def test_each_reduction_is_chosen_by_its_value():
    costs = np.array([[3.0, 1.0, 2.0]])
    assert reduce_costs(ClosestApproach(), costs).costs.tolist() == [1]
    assert reduce_costs(DiscountedSum(), costs).costs.tolist() == [6]


@pytest.mark.parametrize("rate", [0, 1.5, -1])
def test_a_discount_rate_is_a_share(rate):
    with pytest.raises(BadInput, match="discount rate"):
        DiscountedSum(rate)
