"""Verdicts against the values of the specification, and their properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.tables import table
from tests.conftest import examples, says
from wmel.analysis.gap import CPGResult, counterfactual_planning_gap
from wmel.analysis.verdict import DELTA, Label, cpg_verdict
from wmel.errors import BadInput
from wmel.stats.exact import IndependentArms, critical_score, shows_gap
from wmel.stats.paired import PairedCounts
from wmel.stats.power import Design, binomial_table, required_episodes


def verdict(oracle, learned, rule="strict"):
    return cpg_verdict(counterfactual_planning_gap(oracle, learned), rule)


@pytest.mark.parametrize(
    ("oracle", "learned", "label"),
    [
        ((3, 10), (0, 10), Label.INCONCLUSIVE),
        ((40, 150), (0, 150), Label.MODEL_BOTTLENECK),
        ((9, 10), (0, 10), Label.MODEL_BOTTLENECK),
        ((0, 10), (0, 10), Label.INCONCLUSIVE),
        ((10, 10), (10, 10), Label.INCONCLUSIVE),
        ((0, 30), (0, 30), Label.PLANNER_BOTTLENECK),
        ((30, 30), (30, 30), Label.AS_GOOD),
        ((5, 150), (4, 150), Label.PLANNER_BOTTLENECK),
        ((1, 30), (1, 30), Label.INCONCLUSIVE),
        ((0, 30), (20, 30), Label.LEARNED_OUTPERFORMS),
        ((500, 1000), (500, 1000), Label.EQUIVALENT),
    ],
)
def test_the_strict_rule_is_the_specification(oracle, learned, label):
    assert verdict(oracle, learned).label is label


@pytest.mark.parametrize(
    ("oracle", "learned", "label"),
    [
        ((3, 10), (0, 10), Label.INCONCLUSIVE),
        ((40, 150), (0, 150), Label.MODEL_BOTTLENECK),
        ((9, 10), (0, 10), Label.MODEL_BOTTLENECK),
        ((15, 30), (16, 30), Label.INCONCLUSIVE),
        ((0, 1), (0, 1), Label.PLANNER_BOTTLENECK),
        ((3, 3), (0, 3), Label.MODEL_BOTTLENECK),
        ((10, 10), (10, 10), Label.AS_GOOD),
    ],
)
def test_the_paper_rule_is_that_of_the_cpg_paper(oracle, learned, label):
    assert verdict(oracle, learned, "paper").label is label


@pytest.mark.parametrize(
    ("counts", "tau", "label"),
    [
        ((1, 1), 0.05, Label.INCONCLUSIVE),  # both rates are .1: within tau of 0 from tau = .1 on
        ((1, 1), 0.09, Label.INCONCLUSIVE),
        ((1, 1), 0.1, Label.PLANNER_BOTTLENECK),
        ((8, 9), 0.1, Label.INCONCLUSIVE),  # the lower rate is .8: within tau of 1 from tau = .2 on
        ((8, 9), 0.2, Label.AS_GOOD),
        ((10, 10), 0.0, Label.AS_GOOD),
        ((10, 0), 0.5, Label.MODEL_BOTTLENECK),  # an interval that excludes 0 comes first, whatever tau is
    ],
)
def test_tau_is_the_distance_to_0_or_1_at_which_the_paper_rule_calls_both_rates_failing_or_solving(counts, tau, label):
    result = counterfactual_planning_gap(*((one, 10) for one in counts))
    found = cpg_verdict(result, "paper", tau=tau)
    assert found.label is label and found.margins == {"tau": tau}


def test_a_tau_outside_its_range_or_for_another_rule_is_refused():
    result = counterfactual_planning_gap((1, 10), (1, 10))
    for tau in (-0.01, 0.51, float("nan")):
        with pytest.raises(BadInput, match="tau"):
            cpg_verdict(result, "paper", tau=tau)
    with pytest.raises(BadInput, match="strict"):
        cpg_verdict(result, tau=0.1)


def test_a_verdict_carries_its_rule_margins_reason_and_the_n_that_would_decide():
    found = verdict((3, 10), (0, 10))
    assert found.rule == "strict" and found.margins == {"delta": 0.1, "rho": 0.1, "alpha": 0.05}
    assert found.interval.method == "exact score"
    words = f"about {found.n_that_decides} fresh episodes per arm would decide with 80% probability"
    assert "holds 0" in found.reason and words in found.reason


@pytest.mark.parametrize("n", [1, 12, 25])
def test_where_neither_arm_succeeds_the_reason_begins_with_what_to_change(n):
    """More episodes would show that both fail, and nothing of the model."""
    for result in (counterfactual_planning_gap((0, n), (0, n)), counterfactual_planning_gap(*arms(*np.zeros((2, n))))):
        found = cpg_verdict(result)
        assert found.label is Label.INCONCLUSIVE and found.n_that_decides is None
        assert says(found.reason, "neither arm ever succeeds ... cannot see the model ... a stronger planner")
        assert "would decide" not in found.reason


@pytest.mark.parametrize(("oracle", "learned"), [((3, 10), (0, 10)), ((9, 10), (4, 8)), ((29, 30), (59, 60))])
def test_the_n_that_decides_does_so_four_times_in_five(oracle, learned):
    """By the tests of every outcome of so many episodes with the observed rates."""

    def decided(n):
        arms, counts = IndependentArms(n, n), np.arange(n + 1.0)
        one, other = np.meshgrid(counts, counts, indexing="ij")
        near = critical_score(arms, -DELTA, 0.05)
        claims = shows_gap(arms, one, other) | shows_gap(arms, other, one)
        claims |= (arms.score(one, other, -DELTA) >= near) & (arms.score(other, one, -DELTA) >= near)
        chances = [binomial_table(n, successes / episodes) for successes, episodes in (oracle, learned)]
        return chances[0] @ claims @ chances[1]

    n = verdict(oracle, learned).n_that_decides
    assert decided(n - 1) < 0.8 <= decided(n) < 0.95


def test_pairs_need_fewer_episodes_than_independent_arms_of_the_same_rates():
    oracle, learned = np.arange(20) < 10, np.arange(20) < 7
    paired = cpg_verdict(counterfactual_planning_gap(*arms(oracle, learned)))
    assert paired.label is Label.INCONCLUSIVE
    assert paired.n_that_decides < verdict((10, 20), (7, 20)).n_that_decides


def test_where_no_n_decides_it_says_so_and_gives_advice_that_fits_the_rule():
    found = verdict((15, 30), (15, 30), "paper")
    assert found.n_that_decides is None and "none up to 20000" in found.reason
    assert "delta" not in found.reason and "the strict rule can" in found.reason
    assert verdict((15, 30), (15, 30)).n_that_decides == required_episodes(Design(0.5, 0.5, equivalence=DELTA))


def test_the_search_for_n_does_not_depend_on_how_many_episodes_there_are():
    few, many = verdict((5, 10), (5, 10)), verdict((50, 100), (50, 100))
    assert few.n_that_decides == many.n_that_decides is not None


def test_equivalence_says_only_what_is_known_of_the_oracle():
    found = verdict((950, 1000), (950, 1000))
    assert found.label is Label.AS_GOOD and "is shown to solve 0.9" in found.reason
    found = verdict((905, 1000), (905, 1000))
    assert found.label is Label.EQUIVALENT and "solve 0.9 of episodes" in found.reason


def test_an_interval_beyond_one_is_printed_clipped_and_kept_exact():
    result = counterfactual_planning_gap((9, 10), (0, 10))
    assert result.agresti_caffo.high == pytest.approx(1.0125, abs=5e-5)
    assert "+1.000] (clipped)" in cpg_verdict(result, "paper").reason


counts = st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@examples(60)
@given(oracle=counts, learned=counts, rule=st.sampled_from(["strict", "paper"]))
def test_every_pair_of_counts_gets_exactly_one_verdict_and_swapping_mirrors_it(oracle, learned, rule):
    one, other = verdict(oracle, learned, rule).label, verdict(learned, oracle, rule).label
    mirrored = {Label.MODEL_BOTTLENECK: Label.LEARNED_OUTPERFORMS, Label.LEARNED_OUTPERFORMS: Label.MODEL_BOTTLENECK}
    similar = {Label.AS_GOOD, Label.EQUIVALENT}  # as good is asked of the oracle alone
    assert other is mirrored.get(one, one) or {one, other} == similar


def arms(oracle, learned, **columns):
    return table(success=oracle, **columns), table(success=learned)


def test_tables_of_the_same_seeds_are_paired_whatever_the_order_of_rows():
    rng = np.random.default_rng(0)
    oracle, learned = rng.random(40) < 0.8, rng.random(40) < 0.4
    one, other = arms(oracle, learned)
    result = counterfactual_planning_gap(one, other)
    shuffled = rng.permutation(40)
    mixed = type(other)({name: column[shuffled] for name, column in other.columns.items()})
    again = counterfactual_planning_gap(one, mixed)
    assert result.pairs is not None and again.pairs is not None
    assert result.pairs.oracle_only == again.pairs.oracle_only == (oracle & ~learned).sum()
    assert result.gap.method == "exact score" and result.mid_p.value == again.mid_p.value


def test_pairing_can_decide_what_independent_arms_cannot():
    oracle, learned = np.arange(30) < 20, np.arange(30) < 14  # the learned arm never wins alone
    paired = cpg_verdict(counterfactual_planning_gap(*arms(oracle, learned)))
    assert paired.label is Label.MODEL_BOTTLENECK
    assert verdict((20, 30), (14, 30)).label is not paired.label


def test_the_gap_of_an_arm_with_itself_is_exactly_zero():
    one = table(success=np.arange(20) % 3 == 0)
    assert counterfactual_planning_gap(one, one).gap.value == 0


def test_losses_and_failures_are_split():
    result = counterfactual_planning_gap((40, 150), (0, 150))
    assert result.relative_loss.value == 1
    assert result.failure_split == pytest.approx({"planner and score": 1 - 40 / 150, "model": 40 / 150})
    assert counterfactual_planning_gap((0, 10), (0, 10)).relative_loss.value is None


def test_errors_that_could_change_the_verdict_make_it_inconclusive():
    broken = ["OSError: x"] * 12 + [""] * 18
    oracle, learned = table(success=[True] * 30), table(success=[False] * 12 + [True] * 18, error=broken)
    found = cpg_verdict(counterfactual_planning_gap(oracle, learned))
    assert found.label is Label.INCONCLUSIVE_ERRORS and "12 episodes broke" in found.reason
    assert "it is MODEL BOTTLENECK" in found.reason


@pytest.mark.parametrize("first_seed", [0, 1000])
def test_an_episode_that_broke_is_a_failure_whatever_its_row_says(first_seed):
    oracle = table(success=[True] * 10)
    learned = table(success=[True] * 10, error=["x"] * 4 + [""] * 6, episode_seed=range(first_seed, first_seed + 10))
    result = counterfactual_planning_gap(oracle, learned)
    assert (result.learned_successes, result.errors) == (6, 4)
    assert (result.pairs is None) == bool(first_seed) and result.without_errors.learned_successes == 6


def test_a_few_errors_that_change_nothing_leave_the_verdict():
    learned = table(success=[False] * 300, error=["x"] + [""] * 299)
    assert (
        cpg_verdict(counterfactual_planning_gap(table(success=[True] * 300), learned)).label is Label.MODEL_BOTTLENECK
    )


@pytest.mark.parametrize(
    ("oracle", "learned", "words"),
    [
        ((0, 0), (1, 10), "at least one episode"),
        ((11, 10), (1, 10), "between 0 and"),
        (table(success=[True] * 3), (1, 10), "both as tables"),
        (table(success=[True] * 3), table(success=[True] * 2), "share 2 seeds of 3 and 2"),
        ("abc", (1, 10), "an arm is"),
        ((2.5, 10), (1, 10), "successes must be.*2.5"),
        ((True, 10), (1, 10), "successes must be a"),
        (("3", "10"), (1, 10), "successes must be.*'3'"),
        (([3], [10]), (1, 10), "successes must be a"),
        ((3, 10**400), (1, 10), "at most"),
        ((3, 10**14), (1, 10), "at most"),
        ((-1, 10), (1, 10), "not be negative"),
        (table(success=[True] * 2, episode_seed=[4, 4]), table(success=[True] * 2), "got 4 more than once"),
    ],
)
def test_arms_that_cannot_be_compared_are_refused(oracle, learned, words):
    with pytest.raises(BadInput, match=words):
        counterfactual_planning_gap(oracle, learned)


def test_an_unknown_rule_is_refused():
    with pytest.raises(BadInput, match="no verdict rule named 'lenient'"):
        verdict((1, 2), (1, 2), "lenient")


def test_episodes_run_without_a_criterion_have_no_gap():
    unjudged = table(success=[False] * 5, judged=[False] * 5)
    with pytest.raises(BadInput, match="run without one"):
        counterfactual_planning_gap(unjudged, unjudged)


pair_counts = st.tuples(*[st.integers(0, 40)] * 4).filter(any)


@given(pair_counts)
def test_the_loss_agrees_with_the_gap_and_the_failures_add_up(cells):
    outcomes = np.repeat([(1, 1), (1, 0), (0, 1), (0, 0)], cells, axis=0).astype(bool)
    result = counterfactual_planning_gap(*arms(outcomes[:, 0], outcomes[:, 1]))
    loss, gap = result.relative_loss, result.gap
    if loss.value is not None:
        assert (loss.low >= 0) >= (gap.low > 0) and (loss.high <= 0) >= (gap.high < 0)
        assert gap.low > 0 or gap.high < 0 or loss.low <= 0 <= loss.high
        assert loss.low <= loss.value + 1e-9 and loss.value - 1e-9 <= loss.high
    split = result.failure_split
    assert min(split.values()) >= 0 and sum(split.values()) == pytest.approx(1 - result.learned_success_rate)


def test_a_loss_that_the_pairs_show_is_no_longer_hidden():
    outcomes = np.repeat([(1, 1), (1, 0), (0, 1), (0, 0)], (100, 10, 1, 39), axis=0).astype(bool)
    result = counterfactual_planning_gap(*arms(outcomes[:, 0], outcomes[:, 1]))
    assert result.gap.low > 0 and result.relative_loss.low > 0


def test_a_model_that_breaks_at_every_call_is_blamed_for_it():
    oracle, learned = table(success=[True] * 6 + [False] * 4), table(success=[False] * 10, error=["x"] * 10)
    split = counterfactual_planning_gap(oracle, learned).failure_split
    assert split == {"errors": 1.0, "planner and score": 0.0, "model": 0.0}


def test_independent_arms_have_no_split_where_the_model_fails_less_often():
    assert counterfactual_planning_gap((5, 10), (8, 10)).failure_split == {}


def test_the_advice_depends_on_the_pairs_that_differ_alone():
    """A gap of .1 is .30 - .20 or .25 - .15: as floats, one of them is less than the margin of equivalence."""
    pairs = [PairedCounts(both, 4, 2, 14 - both) for both in range(1, 14)]
    results = [CPGResult(int(one.both) + 4, 20, int(one.both) + 2, 20, one) for one in pairs]
    assert len({cpg_verdict(result).n_that_decides for result in results}) == 1


@pytest.mark.parametrize("pairs", [6, 12, 50])
def test_the_fewest_pairs_that_can_show_a_gap_are_named(pairs):
    """All of them on one side: of four, the mid-p is 1 in 32, above .025; of five, 1 in 64."""
    learned = [False] * pairs
    for alone in (4, 5):
        oracle = [place < alone for place in range(pairs)]
        verdict = cpg_verdict(counterfactual_planning_gap(table(success=oracle), table(success=learned)))
        assert ("at least 5 pairs" in verdict.reason and "here 4" in verdict.reason) == (alone == 4)
        assert (verdict.label is Label.MODEL_BOTTLENECK) == (alone == 5)
