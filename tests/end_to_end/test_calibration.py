"""No interval covers less, and no verdict over-claims more, than is stated: by exact enumeration."""

import importlib.util
import sys
from pathlib import Path

import pytest

from wmel.stats.power import binomial_table

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
SPEC = importlib.util.spec_from_file_location("calibration", ROOT / "benchmarks" / "calibration.py")
assert SPEC is not None and SPEC.loader is not None
calibration = importlib.util.module_from_spec(SPEC)
sys.modules["calibration"] = calibration
SPEC.loader.exec_module(calibration)

SIZES = [10, 30, 50, pytest.param(150, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", calibration.LEAST_COVERAGE)
def test_intervals_cover_at_least_what_is_stated(name, n):
    assert calibration.coverage(name, n) >= calibration.LEAST_COVERAGE[name]


@pytest.mark.parametrize("n", SIZES)
def test_strict_verdicts_over_claim_at_most_as_often_as_stated(n):
    for label, rate in calibration.false_claims(n, "strict").items():
        assert rate <= calibration.MOST_FALSE[label], label


@pytest.mark.parametrize("n", SIZES)
def test_strict_verdicts_of_pairs_over_claim_at_most_as_often_as_stated(n):
    for claim, rate in calibration.false_claims_of_pairs(n).items():
        assert rate <= calibration.MOST_FALSE_OF_PAIRS[claim], claim


def test_independent_arms_of_18_show_a_gap_that_is_not_there_more_often_than_was_tabled():
    """The specification says .029 at most (docs/findings.md)."""
    assert calibration.false_claims(18, "strict")[calibration.Label.MODEL_BOTTLENECK] == pytest.approx(0.0326, abs=5e-5)


def test_the_paper_rule_over_claims_where_it_rests_on_point_estimates():
    """A model 10 points worse than a perfect oracle is called as good 35% of the time at n = 10."""
    made = calibration.paper_made(10)[calibration.Label.AS_GOOD]
    assert binomial_table(10, 1.0) @ made @ binomial_table(10, 0.9) == pytest.approx(0.35, abs=0.005)


@pytest.mark.slow
def test_the_published_page_is_what_the_enumeration_gives():
    assert (ROOT / "docs" / "calibration.md").read_text() == calibration.page(calibration.SIZES), (
        "run `make calibration`"
    )
