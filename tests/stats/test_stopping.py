import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.stats.sequential import anytime_decision, confidence_sequence


@pytest.mark.parametrize(
    ("counts", "decision"),
    [((6, 0, 6), None), ((7, 0, 7), "gap"), ((0, 7, 7), "gap"), ((0, 0, 20), None), ((0, 0, 200), "equivalence")],
)
def test_decisions_by_counts(counts, decision):
    assert anytime_decision(*counts) == decision


def test_a_true_difference_of_delta_is_seldom_called_equivalent():
    """1,000 runs of up to 300 pairs with a gap of exactly delta, looked at every fifty."""
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(1000):
        draws = rng.choice([-1, 0, 1], p=[0.05, 0.8, 0.15], size=300)
        for n in range(100, 301, 50):
            if anytime_decision(int((draws[:n] == 1).sum()), int((draws[:n] == -1).sum()), n) == "equivalence":
                wrong += 1
                break
    assert wrong / 1000 < 0.05


def test_the_decision_is_what_the_interval_says():
    for pairs in (25, 150, 260):
        for b in range(0, 30, 3):
            for c in range(0, min(30, pairs - b), 4):
                low, high = confidence_sequence(b, c, pairs)
                expected = "gap" if low > 0 or high < 0 else "equivalence" if low > -0.1 and high < 0.1 else None
                assert anytime_decision(b, c, pairs) == expected


@pytest.mark.parametrize(
    ("counts", "words"), [((3, 3, 5), "must fit into"), ((1.5, 0, 5), "whole"), (("a", 0, 5), "whole")]
)
def test_counts_that_cannot_be_are_refused(counts, words):
    with pytest.raises(BadInput, match=words):
        anytime_decision(*counts)


def test_a_margin_must_be_one():
    with pytest.raises(BadInput, match="delta"):
        anytime_decision(1, 0, 5, delta=0)
