"""No verdict claims too much and no interval covers too little, and docs/calibration.md has the computed numbers."""

import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from wmel.analysis.gap import CPGResult
from wmel.analysis.verdict import Correction, Label, cpg_verdict
from wmel.stats.exact import PairedArms, difference_p
from wmel.stats.paired import PairedCounts, holm
from wmel.stats.power import binomial_table
from wmel.stats.sequential import anytime_p_value

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import calibration  # noqa: E402
import claims  # noqa: E402
import false_claims  # noqa: E402
import interval_coverage  # noqa: E402
import repeated_claims  # noqa: E402
import sampled_coverage  # noqa: E402

PAGE = (ROOT / "docs" / "calibration.md").read_text()
WORST_NS = [18, 21, 25, 42, 58, 61, 74]  # of the rule before, by the outside audit
MORE_NS = [*range(5, 60), 72, 100, 200, 255, 271, 285, 288, 300]
EQUIVALENCE = (Label.AS_GOOD, Label.EQUIVALENT)


def normal_critical(arms, difference, level):
    """The score that the rule before required: that of a normal distribution."""
    return NormalDist().inv_cdf(1 - level)


def missed_bounds(measured):
    """The findings that miss their bound, of some groups."""
    groups = {group: measured.get(group, {}) for group in claims.all_groups()}
    return [one for one in claims.findings(groups) if not one.holds]


@pytest.mark.parametrize("n", [*WORST_NS, *(pytest.param(n, marks=pytest.mark.slow) for n in MORE_NS)])
def test_every_label_is_false_at_most_as_often_as_its_bound_allows(n):
    assert missed_bounds({"branches": {(n,): false_claims.false_claims(n)}}) == []


@pytest.mark.parametrize("n", [25, 58])
def test_the_enumeration_finds_the_false_equivalence_of_score_tests(n):
    """The audit found .072 at 25, and more than .052 at 58, for independent arms and for pairs."""
    found = false_claims.false_claims(n, normal_critical)
    assert {one.bound for one in missed_bounds({"branches": {(n,): found}})} >= {Label.EQUIVALENT}
    if n == 25:
        assert list(found[Label.EQUIVALENT].values()) == pytest.approx([0.072, 0.072], abs=5e-4)


@pytest.mark.parametrize("n", [12, 25, 34])
def test_the_enumerated_labels_are_those_of_verdicts(n):
    """At the edge of every label, where a difference would show."""
    labels = false_claims.independent_claims(n)
    inconclusive = ~np.any([labels[label] for label in false_claims.BRANCHES], axis=0)
    changes = inconclusive[:, 1:] != inconclusive[:, :-1]
    for oracle, learned in list(zip(*np.nonzero(changes), strict=True))[:: max(1, changes.sum() // 10)]:
        for successes in (learned, learned + 1):
            label = cpg_verdict(CPGResult(int(oracle), n, int(successes), n)).label
            claimed = {one for one in false_claims.BRANCHES if labels[one][oracle, successes]}
            named = {label} | ({Label.EQUIVALENT} if label is Label.AS_GOOD else set())
            assert claimed == named - {Label.INCONCLUSIVE}, (oracle, successes)


def test_equal_arms_can_be_shown_to_be_equal():
    assert cpg_verdict(CPGResult(60, 60, 60, 60)).label is Label.AS_GOOD
    assert all(false_claims.independent_claims(60)[label][60, 60] for label in EQUIVALENCE)


@pytest.mark.parametrize(("one", "other"), [(73, 19), (150, 30), (380, 5), (150, 10), (5, 400)])
def test_arms_of_unequal_size_show_a_false_gap_one_time_in_twenty_at_most(one, other):
    assert missed_bounds({"unequal": {(one, other): false_claims.unequal_false_claims(one, other)}}) == []


@pytest.mark.slow
@pytest.mark.parametrize("n", repeated_claims.FIRST_LOOKS)
def test_advised_pairs_do_not_make_a_false_gap_likelier_than_its_bound(n):
    assert missed_bounds({"follow-up": {(n,): repeated_claims.follow_ups(n)}}) == []


def test_the_enumerated_follow_up_is_what_a_simulation_gives(monkeypatch):
    """With 20 pairs added wherever the first look shows no gap, in place of the advice, which takes long."""
    n, added, share, runs = 12, 20, 0.25, 40_000

    def first_look(_, b, c):
        is_gap = difference_p(PairedArms(n), b, c) <= 0.05
        return repeated_claims.FirstLook(is_gap, 0 if is_gap else added)

    monkeypatch.setattr(repeated_claims, "first_look", first_look)
    found, rng = repeated_claims.follow_up(n, share), np.random.default_rng(4)
    looks, later = (rng.multinomial(size, [share, share, 1 - 2 * share], runs) for size in (n, added))
    at_once = np.array([first_look(n, *counts).is_gap for counts in np.unique(looks[:, :2], axis=0).tolist()])
    shown = at_once[np.unique(looks[:, :2], axis=0, return_inverse=True)[1]]
    b, c = (looks + later)[:, :2].T
    p_again = {counts: difference_p(PairedArms(n + added), *counts) for counts in set(zip(b, c, strict=True))}
    again = np.array([p_again[counts] <= 0.05 for counts in zip(b, c, strict=True)])
    anytime = np.array([anytime_p_value(*counts) < 0.05 for counts in zip(b, c, strict=True)])
    for exact, simulated in (
        (found.once, shown),
        (found.advised, shown | anytime),
        (found.again, shown | again),
    ):
        assert exact == pytest.approx(simulated.mean(), abs=4 * sampled_coverage.standard_error(exact, runs))
    assert found.advised < found.whenever


@pytest.mark.slow
def test_judging_the_advised_pairs_by_the_strict_rule_again_would_miss_the_bound():
    found = repeated_claims.follow_up(20, 0.25)
    assert found.advised < claims.MOST_FALSE["a gap in either direction, pairs added: measured"] < found.again


@pytest.mark.parametrize("n", [5, 6, 9, 12, 30, 100])
def test_what_is_guaranteed_of_added_pairs_holds_its_bound(n):
    assert missed_bounds({"follow-up, guaranteed": {(n,): repeated_claims.guaranteed_false_gap(n)}}) == []


@pytest.mark.parametrize("n", [10, 29])
def test_what_is_guaranteed_of_equivalence_holds_its_bound(n):
    found = repeated_claims.guaranteed_false_equivalence(n)
    assert missed_bounds({"follow-up equivalence, guaranteed": {(n,): found}}) == []


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 30])
def test_no_enumerated_follow_up_exceeds_what_is_guaranteed(n):
    measured = repeated_claims.follow_ups(n).values()
    most = repeated_claims.guaranteed_false_gap(n)
    assert max(one.advised for one in measured) <= max(one.whenever for one in measured) < most


def test_the_guarantee_rests_on_the_rule_that_judges_added_pairs(monkeypatch):
    """With a threshold of 5 in place of 20 a false gap would be far more likely."""
    monkeypatch.setattr(repeated_claims, "ALPHA", 0.2)
    assert missed_bounds({"follow-up, guaranteed": {(30,): repeated_claims.guaranteed_false_gap(30)}})


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_looking_after_every_pair_shows_a_false_gap_one_time_in_twenty_at_most(share):
    assert missed_bounds({"anytime gap": {(share,): repeated_claims.anytime_false_gap(share)}}) == []


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_looking_after_every_pair_shows_false_equivalence_one_time_in_twenty_at_most(rate):
    assert missed_bounds({"anytime equivalence": {(rate,): repeated_claims.anytime_false_equivalence(rate)}}) == []


@pytest.mark.parametrize("k", repeated_claims.FAMILIES)
def test_several_comparisons_show_any_false_gap_one_time_in_twenty_at_most(k):
    assert (
        missed_bounds({"independent family": {(k, n): repeated_claims.family_of_independent(k, n) for n in (30, 50)}})
        == []
    )


def test_the_label_of_a_comparison_is_that_of_the_corrected_test():
    """On this the enumeration of families rests."""
    counts = [(9, 1), (8, 0), (3, 3), (9, 2), (0, 12)]
    results = [CPGResult(10 + b, 30, 10 + c, 30, PairedCounts(10, b, c, 20 - b - c)) for b, c in counts]
    adjusted = holm([one.p_value.value for one in results]).tolist()
    labels = [cpg_verdict(one, correction=Correction(p, 5)).label for one, p in zip(results, adjusted, strict=True)]
    gaps = (Label.MODEL_BOTTLENECK, Label.LEARNED_OUTPERFORMS)
    assert [label in gaps for label in labels] == [p <= 0.05 for p in adjusted]
    assert 0 < sum(p <= 0.05 for p in adjusted) < 5


@pytest.mark.slow
@pytest.mark.parametrize("worse", repeated_claims.WORSE)
def test_models_of_one_oracle_show_any_false_gap_one_time_in_twenty_at_most(worse):
    calls = [(k, (30, 0.5), worse) for k in repeated_claims.FAMILIES]
    assert (
        missed_bounds({"family of one oracle": {call: repeated_claims.family_of_one_oracle(*call) for call in calls}})
        == []
    )


@pytest.mark.parametrize("trainings", [3, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("recipe", ["20% failed", "normal, deviation 0.3"])
def test_the_interval_of_a_recipe_covers_trainings_with_unequal_episodes(recipe, trainings, monkeypatch):
    monkeypatch.setitem(sampled_coverage.RUNS, "recipe", 200)
    call = (recipe, "100 and 10 in turn", trainings)
    assert missed_bounds({"recipe": {call: sampled_coverage.recipe_coverage(*call)}}) == []


@pytest.mark.parametrize(
    ("group", "call"),
    [
        ("mean", ("normal", 1, 5)),
        ("mean", ("normal", 10, 5)),
        ("middle", ("50% fail", 15)),
        ("middle", ("normal", 15)),
        ("improvement", ("tasks differ", 2, 5)),
        ("percentile", ("decisions alike", (95, 72), 5)),
        ("ratio", ("normal", 10)),
        ("ratio", ("uniform, bounded", 10)),
    ],
)
def test_sampled_intervals_cover_at_the_fewest_values(group, call, monkeypatch):
    monkeypatch.setitem(sampled_coverage.RUNS, group, 300)
    assert missed_bounds({group: {call: claims.all_groups()[group][0](*call)}}) == []


@pytest.mark.parametrize("n", [10, *(pytest.param(n, marks=pytest.mark.slow) for n in (30, 50, 150))])
@pytest.mark.parametrize("name", interval_coverage.NAMES)
def test_intervals_cover_at_least_what_is_stated(name, n):
    if interval_coverage.is_enumerated(name, n):
        assert missed_bounds({"interval": {(name, n): interval_coverage.coverage(name, n)}}) == []


def test_the_paper_rule_over_claims_where_it_rests_on_point_estimates():
    """A model 10 points worse than a perfect oracle is called as good 35% of the time at n = 10."""
    made = interval_coverage.paper_made(10)[Label.AS_GOOD]
    assert binomial_table(10, 1.0) @ made @ binomial_table(10, 0.9) == pytest.approx(0.35, abs=0.005)


def test_a_missed_bound_is_named():
    found = {label: {"independent": 0.0, "pairs": 0.0} for label in false_claims.BRANCHES}
    found[Label.AS_GOOD]["pairs"] = 0.06
    (missed,) = missed_bounds({"branches": {(25,): found}, "recipe": {("20% failed", "50 each", 3): 0.95}})
    assert (missed.bound, missed.where) == (Label.AS_GOOD, "pairs, n = 25")
    (short,) = missed_bounds({"recipe": {("20% failed", "50 each", 3): 0.89}})
    assert short.bound == "recipe"


@pytest.mark.parametrize("n", [n for n in calibration.SHOWN_NS if n <= 60 or n == 300])
def test_the_page_has_the_enumerated_labels(n):
    assert calibration.table_row(calibration.branch_row(n, false_claims.false_claims(n))) in PAGE


def test_the_page_has_the_gaps_of_unequal_arms():
    pairs = [tuple(sorted((150, other))) for other in calibration.SHOWN_SIZES]
    found = {pair: false_claims.unequal_false_claims(*pair) for pair in pairs}
    assert calibration.table_row(calibration.unequal_row(150, found)) in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 30])
def test_the_page_has_the_coverage_of_intervals(n):
    found = {(name, n): interval_coverage.coverage(name, n) for name in interval_coverage.NAMES}
    assert calibration.table_row(calibration.interval_row(n, found)) in PAGE


def test_the_page_says_that_every_bound_holds():
    rows = [line for line in PAGE.splitlines() if line.startswith(tuple(f"| {kind} | " for kind in claims.BOUNDS))]
    bounds = [f"| {kind} | {bound}" for kind, bounds in claims.BOUNDS.items() for bound in bounds]
    assert sorted(" | ".join(row.split(" | ")[:2]) for row in rows) == sorted(bounds)
    assert all(row.endswith("| yes |") for row in rows)
    assert all((ROOT / "docs" / "figures" / calibration.figure_name(label)).exists() for label in false_claims.BRANCHES)
