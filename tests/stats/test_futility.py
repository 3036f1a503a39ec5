import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.stats.sequential import anytime_decision, chance_of_deciding, is_look, log_wealth_at_zero


@pytest.mark.parametrize(("pairs", "look"), [(20, False), (29, False), (30, True), (35, False), (40, True)])
def test_a_run_considers_giving_up_every_tenth_pair_from_the_thirtieth(pairs, look):
    assert is_look(pairs) == look


@pytest.mark.parametrize(("b", "c", "pairs", "cap"), [(6, 2, 30, 60), (4, 4, 30, 80), (9, 1, 40, 60)])
def test_the_chance_is_that_of_futures_drawn_from_the_posterior(b, c, pairs, cap):
    """20,000 futures: rates from the Jeffreys posterior, then pairs from those rates."""
    rng, futures = np.random.default_rng(0), 20_000
    rates = rng.dirichlet([b + 0.5, c + 0.5, pairs - b - c + 0.5], futures)
    drawn = rng.random((futures, cap - pairs, 1))
    kinds = (drawn > rates.cumsum(axis=1)[:, None, :2]).sum(axis=-1)
    won, lost = b + (kinds == 0).cumsum(axis=1), c + (kinds == 1).cumsum(axis=1)
    share = (log_wealth_at_zero(won, lost) > np.log(20)).any(axis=1).mean()
    assert chance_of_deciding(b, c, pairs, cap=cap) == pytest.approx(share, abs=4 * 0.5 / futures**0.5)


@pytest.mark.parametrize(
    ("counts", "cap", "words"),
    [
        ((20, 20, 30), 60, "must fit into"),
        ((1.5, 0, 30), 60, "whole"),
        ((1, 0, 35), 60, "every tenth pair"),
        ((1, 0, 60), 60, "every tenth pair"),
        ((1, 0, 30), 60.5, "cap must be a whole"),
    ],
)
def test_looks_that_cannot_be_are_refused(counts, cap, words):
    with pytest.raises(BadInput, match=words):
        chance_of_deciding(*counts, cap=cap)


def test_equal_arms_that_never_differ_are_not_given_up_while_equivalence_is_in_reach():
    assert anytime_decision(0, 0, 200) == "equivalence"
    assert anytime_decision(0, 0, 30, cap=200) is None
    assert chance_of_deciding(0, 0, 30, cap=200) > 0.5
    assert anytime_decision(0, 0, 30, cap=40) == "futility"


def test_a_tie_is_given_up_and_a_lead_is_not():
    assert anytime_decision(8, 8, 60, cap=150) == "futility"
    assert anytime_decision(12, 3, 60, cap=150) is None
    assert anytime_decision(8, 8, 60) is None
