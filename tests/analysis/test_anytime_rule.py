"""Verdicts of runs that were looked at as they grew."""

import numpy as np
import pytest

from tests.analysis.tables import table
from wmel.analysis.gap import counterfactual_planning_gap
from wmel.analysis.verdict import Label, cpg_verdict
from wmel.errors import BadInput
from wmel.stats.sequential import confidence_sequence


def pairs(oracle_only, learned_only, n, **columns):
    places = np.arange(n)
    learned = (places >= oracle_only) & (places < n - 1)
    oracle = (places < oracle_only) | ((places >= oracle_only + learned_only) & (places < n - 1))
    return counterfactual_planning_gap(table(success=oracle), table(success=learned, **columns))


@pytest.mark.parametrize(
    ("counts", "cap", "label"),
    [
        ((9, 0, 20), None, Label.MODEL_BOTTLENECK),
        ((0, 9, 20), None, Label.LEARNED_OUTPERFORMS),
        ((0, 0, 60), None, Label.EQUIVALENT_ONLY),
        ((4, 2, 30), None, Label.INCONCLUSIVE),
        ((8, 8, 60), None, Label.INCONCLUSIVE),
        ((8, 8, 60), 150, Label.INCONCLUSIVE_FUTILE),
        ((12, 3, 60), 150, Label.INCONCLUSIVE),
    ],
)
def test_the_label_rests_on_the_confidence_sequence(counts, cap, label):
    found = cpg_verdict(pairs(*counts), "anytime", cap=cap)
    low, high = confidence_sequence(*counts)
    assert found.label is label and found.rule == "anytime" and found.margins == {"delta": 0.1, "alpha": 0.05}
    assert (found.interval.low, found.interval.high) == (low, high)
    assert f"[{float(low):+.3f}, {float(high):+.3f}]" in found.reason and f"after {counts[2]} pairs" in found.reason


def test_a_gap_that_a_fixed_n_shows_may_be_too_early_to_claim():
    result = pairs(6, 0, 20)
    assert cpg_verdict(result).label is Label.MODEL_BOTTLENECK
    assert cpg_verdict(result, "anytime").label is Label.INCONCLUSIVE


def test_broken_episodes_make_it_inconclusive():
    result = pairs(9, 0, 20, error=["x"] * 5 + [""] * 15)
    assert cpg_verdict(result, "anytime").label is Label.INCONCLUSIVE_ERRORS


def test_arms_that_are_not_paired_are_refused():
    with pytest.raises(BadInput, match="anytime rule needs pairs"):
        cpg_verdict(counterfactual_planning_gap((3, 10), (0, 10)), "anytime")


def test_a_cap_is_for_the_anytime_rule():
    with pytest.raises(BadInput, match="got cap = 50"):
        cpg_verdict(pairs(9, 0, 20), cap=50)
    with pytest.raises(BadInput, match="cap must be a"):
        cpg_verdict(pairs(9, 0, 20), "anytime", cap=50.5)
