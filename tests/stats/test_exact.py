"""The exact tests hold their level, agree with their intervals, and with a second way of computing them."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, fisher_exact, hypergeom, mannwhitneyu

from tests.conftest import examples
from wmel.errors import BadInput
from wmel.stats.estimate import MIN_VALUES
from wmel.stats.exact import (
    EQUIVALENCE_LEVEL,
    GAP_LEVEL,
    MAX_EXACT,
    PRECISION,
    IndependentArms,
    PairedArms,
    critical_score,
    difference_p,
    exact_interval,
    p_value,
    probability_of_improvement,
    shows_gap,
)
from wmel.stats.paired import mcnemar_mid_p, mcnemar_one_sided_mid_p
from wmel.stats.power import discordant_outcomes
from wmel.stats.proportions import fisher_mid_p

DELTA = 0.1

AUDITED = [5, 10, 18, 21, 25, 28, 42, 45, 58, 60, 61, 72, 74]  # among them the worst of the earlier rule
AUDITED_LARGE = [255, 256, 271, 273, 285, 288, 300]
UNEQUAL = [(73, 19), (150, 30), (380, 5), (5, 400), (10, 150), (60, 59)]


def outcomes_of(arms, first_rate, second_rate):
    """Probabilities of all outcomes [first, second]; the rates of pairs are those of the discordant ones."""
    if isinstance(arms, PairedArms):
        likely, mass = discordant_outcomes(arms.n, first_rate, second_rate), np.zeros((arms.n + 1, arms.n + 1))
        mass[np.ix_(likely.first, likely.second)] = likely.mass
        return mass
    return np.outer(
        binom.pmf(np.arange(arms.n_first + 1), arms.n_first, first_rate),
        binom.pmf(np.arange(arms.n_second + 1), arms.n_second, second_rate),
    )


def all_counts(arms):
    """Every outcome [first, second], and which of them are possible."""
    first, room = arms.counts
    first, second = np.meshgrid(first, np.arange(room.max()), indexing="ij")
    fits = second < room[:, None]
    return np.where(fits, first, 0), np.where(fits, second, 0), fits


def rates_apart(arms, difference, count):
    """Rates that are `difference` apart."""
    low, high = arms.nuisance_range(difference)
    second = low + (high - low) * np.sin(np.linspace(0, np.pi / 2, count)) ** 2
    return [(min(rate + difference, 1.0), rate) for rate in second]


def worst(arms, claimed, difference, count=61):
    return max(outcomes_of(arms, *rates)[claimed].sum() for rates in rates_apart(arms, difference, count))


def gap_claims(arms):
    first, second, fits = all_counts(arms)
    return fits & shows_gap(arms, first, second)


def equivalence_claims(arms):
    first, second, fits = all_counts(arms)
    above = arms.score(first, second, -DELTA) >= critical_score(arms, -DELTA, EQUIVALENCE_LEVEL)
    below = -arms.score(first, second, DELTA) >= critical_score(arms.swapped, -DELTA, EQUIVALENCE_LEVEL)
    return fits & above & below


def both_kinds(n):
    return IndependentArms(n, n), PairedArms(n)


@pytest.mark.parametrize("n", AUDITED)
def test_claims_are_false_at_most_as_often_as_their_level_says(n):
    for arms in both_kinds(n):
        assert worst(arms, gap_claims(arms), 0.0) <= GAP_LEVEL * 1.005
        assert worst(arms, equivalence_claims(arms), DELTA) <= EQUIVALENCE_LEVEL * 1.005


@pytest.mark.slow
@pytest.mark.parametrize("n", AUDITED_LARGE)
def test_claims_about_many_episodes_are_false_at_most_as_often_as_their_level_says(n):
    for arms in both_kinds(n):
        assert worst(arms, gap_claims(arms), 0.0, 201) <= GAP_LEVEL * 1.005
        assert worst(arms, equivalence_claims(arms), DELTA, 201) <= EQUIVALENCE_LEVEL * 1.005


@pytest.mark.parametrize("sizes", UNEQUAL)
def test_arms_of_unequal_size_show_a_false_gap_at_most_as_often(sizes):
    arms = IndependentArms(*sizes)
    assert worst(arms, gap_claims(arms), 0.0, 201) <= GAP_LEVEL * 1.005
    assert worst(arms.swapped, gap_claims(arms.swapped), 0.0, 201) <= GAP_LEVEL * 1.005


@pytest.mark.parametrize("n", [10, 16])
def test_an_interval_covers_at_least_as_often_as_it_says(n):
    """By the intervals of all outcomes, not by the test behind them."""
    arms = PairedArms(n)
    first, second, fits = all_counts(arms)
    intervals = {(b, c): exact_interval(arms, int(b), int(c)) for b, c in zip(first[fits], second[fits], strict=True)}
    low, high = np.full(fits.shape, 2.0), np.full(fits.shape, -2.0)
    for place, interval in intervals.items():
        low[place], high[place] = interval
    for difference in (-0.3, -0.1, 0.0, 0.05, 0.1, 0.5):
        covered = (low <= difference + 1e-9) & (high >= difference - 1e-9)
        least = min(outcomes_of(arms, *rates)[covered].sum() for rates in rates_apart(arms, difference, 41))
        assert least >= 0.949


small = st.integers(1, 9)
sizes = st.one_of(small.map(PairedArms), st.builds(IndependentArms, small, small))
differences = st.sampled_from([-0.4, -0.1, 0.0, 0.05, 0.1, 0.7])


@st.composite
def cases(draw):
    arms = draw(sizes)
    first = draw(st.integers(0, len(arms.counts[0]) - 1))
    return arms, first, draw(st.integers(0, int(arms.counts[1][first]) - 1))


@examples(60)
@given(cases(), differences)
def test_a_p_value_is_the_worst_case_of_all_outcomes(case, difference):
    """A second implementation: outcome by outcome, over a fine grid of rates."""
    arms, first, second = case
    ones, others, fits = all_counts(arms)
    scores = np.where(fits, arms.score(ones, others, difference), -np.inf)
    beyond = scores >= scores[first, second] - 1e-8
    found = worst(arms, beyond, difference, 400)
    if difference == 0:
        found = max(found, float(arms.mid_p(np.array(first), np.array(second))))
    assert p_value(arms, first, second, difference) == pytest.approx(found, rel=2e-3, abs=1e-9)


@examples(60)
@example((IndependentArms(1, 7), 0, 4))  # the p-value jumps: both lower bounds are the place of the jump
@given(cases())
def test_the_interval_the_p_values_and_the_mid_p_agree(case):
    arms, first, second = case
    interval, near = exact_interval(arms, first, second), exact_interval(arms, first, second, 0.9)
    assert -1 <= interval.low <= near.low + PRECISION and near.high - PRECISION <= interval.high <= 1
    assert near.low <= arms.gap(first, second) <= near.high
    assert (interval.low > 0) == (p_value(arms, first, second) <= GAP_LEVEL)
    assert (interval.high < 0) == (p_value(arms.swapped, second, first) <= GAP_LEVEL)
    assert (interval.low > 0 or interval.high < 0) == (difference_p(arms, first, second) <= 2 * GAP_LEVEL)
    equivalent = max(p_value(arms, first, second, -DELTA), p_value(arms.swapped, second, first, -DELTA))
    assert (near.low > -DELTA and near.high < DELTA) == (equivalent <= EQUIVALENCE_LEVEL)
    if difference_p(arms, first, second) <= 2 * GAP_LEVEL:
        assert arms.mid_p(first, second) <= GAP_LEVEL or arms.swapped.mid_p(second, first) <= GAP_LEVEL


@examples(40)
@given(cases())
def test_swapping_the_arms_mirrors_the_interval(case):
    arms, first, second = case
    one, other = exact_interval(arms, first, second), exact_interval(arms.swapped, second, first)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


@pytest.mark.parametrize("arms", [PairedArms(12), IndependentArms(9, 14), IndependentArms(40, 5)])
@pytest.mark.parametrize("difference", [-0.5, -0.1, 0.0, 0.1, 0.3])
def test_the_score_rises_with_the_first_count_and_falls_with_the_second(arms, difference):
    """What makes rates exactly `difference` apart the worst case of all that are at most so far apart."""
    first, second, fits = all_counts(arms)
    scores = arms.score(first, second, difference)
    assert (np.diff(scores, axis=0)[fits[1:] & fits[:-1]] >= -1e-9).all()
    assert (np.diff(scores, axis=1)[fits[:, 1:] & fits[:, :-1]] <= 1e-9).all()


@pytest.mark.parametrize("n", [4, 5, 10, 21, 50])
def test_four_pairs_on_one_side_show_nothing(n):
    assert difference_p(PairedArms(n), 4, 0) >= mcnemar_mid_p(4, 0) == 0.0625
    assert exact_interval(PairedArms(n), 4, 0).low <= 0


def test_one_failure_in_ten_beside_many_successes_shows_nothing():
    assert exact_interval(IndependentArms(150, 10), 150, 9).low <= 0


@pytest.mark.parametrize(("arms", "counts"), [(IndependentArms(60, 60), (60, 60)), (PairedArms(60), (0, 0))])
def test_sixty_successes_each_are_equivalent(arms, counts):
    near = exact_interval(arms, *counts, 0.9)
    assert near.low > -DELTA and near.high < DELTA


@pytest.mark.parametrize("arms", [PairedArms(40), IndependentArms(25, 40)])
def test_a_critical_score_is_where_the_p_value_falls_to_the_level(arms):
    first, second, fits = all_counts(arms)
    for difference, level in ((0.0, 0.025), (0.0, 0.003), (-0.1, 0.05)):
        critical = critical_score(arms, difference, level)
        scores = np.where(fits, arms.score(first, second, difference), -np.inf)
        for place in zip(*np.nonzero(np.abs(scores - critical) < 0.15), strict=True):
            if abs(scores[place] - critical) > 2e-4 and difference:
                assert (p_value(arms, *map(int, place), difference) <= level) == (scores[place] >= critical)


@examples(40)
@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_fishers_mid_p_is_that_of_scipy(n_o, n_l, data):
    s_o, s_l = data.draw(st.integers(0, n_o)), data.draw(st.integers(0, n_l))
    exact = fisher_exact([[s_o, n_o - s_o], [s_l, n_l - s_l]], alternative="greater")[1]
    here = hypergeom.pmf(s_o, n_o + n_l, s_o + s_l, n_o)
    assert float(fisher_mid_p(s_o, n_o, s_l, n_l)) == pytest.approx(exact - here / 2, abs=1e-9)


@examples(60)
@given(st.integers(0, 60), st.integers(0, 60))
def test_the_one_sided_mid_p_of_pairs_is_that_of_a_binomial(b, c):
    expected = binom.sf(b, b + c, 0.5) + binom.pmf(b, b + c, 0.5) / 2
    assert float(mcnemar_one_sided_mid_p(b, c)) == pytest.approx(expected, abs=1e-12)


def test_many_episodes_have_the_score_test():
    n = MAX_EXACT + 1
    for arms in both_kinds(n):
        assert critical_score(arms, 0.0, GAP_LEVEL) == pytest.approx(1.959964)
        assert (exact_interval(arms, 60, 30).low > 0) == (p_value(arms, 60, 30) < GAP_LEVEL)


RETURNS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=MIN_VALUES, max_size=40)


@examples(40)
@given(RETURNS)
def test_the_probability_of_improvement_is_the_mean_u_of_single_values(pairs):
    better, worse = np.array(pairs, float).T
    each = [mannwhitneyu([one], [other]).statistic for one, other in pairs]  # of one value against one: 0, 1/2 or 1
    found, back = probability_of_improvement(better, worse), probability_of_improvement(worse, better)
    assert found.value == pytest.approx(np.mean(each))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (back.value, back.low, back.high) == pytest.approx((1 - found.value, 1 - found.high, 1 - found.low))


def test_a_probability_of_improvement_excludes_a_half_exactly_where_the_sign_test_of_pairs_does():
    for above in range(13):
        wins = (np.arange(12) < above).astype(float)
        found = probability_of_improvement(wins, 1 - wins)
        assert (found.low > 0.5 or found.high < 0.5) == (difference_p(PairedArms(12), above, 12 - above) <= 0.05)


@pytest.mark.parametrize("count", range(MIN_VALUES))
def test_a_few_pairs_have_no_probability_of_improvement(count):
    found = probability_of_improvement(np.arange(count), np.zeros(count))
    assert not found.is_defined and str(MIN_VALUES) in found.reason and str(count) in found.reason


def test_pairs_of_unequal_number_have_no_probability_of_improvement():
    with pytest.raises(BadInput, match="6 and 5"):
        probability_of_improvement(np.arange(6), np.arange(5))


LARGE = [PairedArms(MAX_EXACT + 1), PairedArms(20_000), IndependentArms(MAX_EXACT + 1, MAX_EXACT + 1)]


@pytest.mark.parametrize("arms", [PairedArms(6), PairedArms(50), PairedArms(MAX_EXACT), *LARGE])
def test_four_successes_of_one_arm_alone_never_show_a_gap_and_six_do(arms):
    """A fair coin gives four of four to one side with a probability of 1/16, however many pairs agree."""
    for count in (4, 6):
        found = exact_interval(arms, count, 0)
        swapped = exact_interval(arms.swapped, 0, count)
        rejected = difference_p(arms, count, 0) <= 2 * GAP_LEVEL
        assert rejected == (count == 6) == (found.low > 0) == (swapped.high < 0)
        if arms not in LARGE or isinstance(arms, PairedArms):
            assert bool(shows_gap(arms, np.array([count]), np.array([0]))[0]) == rejected


@pytest.mark.parametrize("arms", LARGE)
@pytest.mark.parametrize(("first", "second"), [(4, 0), (9, 2), (30, 15), (400, 330), (3, 3)])
def test_beyond_exact_tests_the_p_value_is_at_least_the_mid_p_and_the_interval_agrees(arms, first, second):
    assert p_value(arms, first, second) >= float(arms.mid_p(np.array(first), np.array(second)))
    for one, other in ((first, second), (second, first)):
        low, high = exact_interval(arms, one, other)
        assert (low <= 0 <= high) == (difference_p(arms, one, other) > 2 * GAP_LEVEL)
