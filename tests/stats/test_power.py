from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import examples
from wmel.errors import BadInput
from wmel.stats.exact import MAX_EXACT, IndependentArms, PairedArms, critical_score, p_value
from wmel.stats.power import (
    MAX_SEARCHED,
    Design,
    detectable_gap,
    discordant_outcomes,
    episodes_for_half_width,
    expected_half_width,
    independent_outcomes,
    required_episodes,
)
from wmel.stats.proportions import agresti_caffo


@pytest.mark.parametrize(
    ("oracle", "learned", "n"),
    [(0.3, 0, 21), (0.27, 0.1, 81), (0.5, 0.3, 94), (0.9, 0.7, 61), (0.9, 0.5, 19), (0.6, 0.5, 392)],
)
def test_the_published_numbers_by_the_interval_of_the_cpg_paper(oracle, learned, n):
    assert required_episodes(Design(oracle, learned, agresti_caffo=True)) == n


def test_the_exact_test_of_pairs_needs_at_most_a_twentieth_more_than_the_score_test():
    """Published for Tango's interval at phi 0, .3 and .5: 95, 64 and 47. The exact test never needs fewer."""
    for phi, published in ((0, 95), (0.3, 64), (0.5, 47)):
        design = Design(0.5, 0.3, paired=True, phi=phi)
        assert published <= required_episodes(design) <= 1.07 * published
        assert design.power(published) <= design.normal_power(published) + 1e-12


@pytest.mark.parametrize(("n", "gap"), [(10, 0.50), (30, 0.34), (50, 0.27), (150, 0.16)])
def test_the_published_detectable_gaps(n, gap):
    assert detectable_gap(0.5, n) == gap


@pytest.mark.parametrize(("rate", "published"), [(0.5, 431), (0.9, 162), (0.98, 59)])
def test_exact_equivalence_needs_a_few_more_than_the_published_numbers_of_the_score_test(rate, published):
    """By enumeration the score test needs one episode fewer than published in each case (docs/findings.md)."""
    design = Design(rate, rate, equivalence=0.1)
    assert design.normal_power(published - 1) >= 0.8 > design.normal_power(published - 2)
    found = required_episodes(design)
    assert published <= found <= 1.05 * published
    assert design.power(found) >= 0.8 > design.power(found - 1)


def over_the_whole_grid(design, n):
    """The same power with the rule applied to every outcome: by the tests for few episodes, by the scores for many."""
    arms = PairedArms(n) if design.paired else IndependentArms(n, n)
    outcomes, rates = (independent_outcomes, (design.oracle, design.learned))
    if design.paired:
        outcomes, rates = (discordant_outcomes, design.discordant)
    table = outcomes(n, *rates)
    one, other = (counts + np.zeros(table.mass.shape) for counts in (table.first[:, None], table.second[None, :]))
    first, second = (one, other) if design.oracle >= design.learned else (other, one)

    def shows(ones, others, difference, level):
        if n > MAX_EXACT:
            shown = arms.score(ones, others, difference) >= NormalDist().inv_cdf(1 - level)
            return shown & (arms.mid_p(ones, others) <= level) if design.paired and difference == 0 else shown
        if n > 12:
            shown = arms.score(ones, others, difference) >= critical_score(arms, difference, level) - 1e-9
            return shown & (arms.mid_p(ones, others) <= level) if difference == 0 else shown
        values = [p_value(arms, int(a), int(b), difference) for a, b in zip(ones.flat, others.flat, strict=True)]
        return np.reshape(values, ones.shape) <= level

    possible = table.mass > 0
    one, other, first, second = (np.where(possible, counts, 0) for counts in (one, other, first, second))
    if design.agresti_caffo:
        decides = agresti_caffo(first, n, second, n).low > 0
    elif design.equivalence is None:
        decides = shows(first, second, 0.0, 0.025)
    else:
        decides = shows(first, second, -design.equivalence, 0.05) & shows(second, first, -design.equivalence, 0.05)
        decides &= ~shows(first, second, 0.0, 0.025) & ~shows(second, first, 0.0, 0.025)
    return float(table.mass[decides & possible].sum())


KINDS = [{}, {"agresti_caffo": True}, {"paired": True}, {"equivalence": 0.1}, {"paired": True, "equivalence": 0.25}]


@examples(60)
@given(rates=st.tuples(*[st.integers(0, 50)] * 2), n=st.integers(1, 130), kind=st.sampled_from(KINDS))
def test_power_is_that_of_the_whole_grid(rates, n, kind):
    design = Design(rates[0] / 50, rates[1] / 50, **kind)
    assert design.power(n) == pytest.approx(over_the_whole_grid(design, n), abs=1e-9)


@pytest.mark.parametrize(
    "design", [Design(0.52, 0.5), Design(0.5, 0.5, equivalence=0.02), Design(0.5, 0.48, paired=True)]
)
def test_power_is_that_of_the_whole_grid_where_n_is_large(design):
    assert design.power(3000) == pytest.approx(over_the_whole_grid(design, 3000), abs=1e-9)


def test_equal_rates_are_called_equivalent_at_most_as_often_as_they_are_not_called_a_gap():
    """The strict rule claims a gap first, which equal rates show 5% of the time at any n."""
    assert Design(0.5, 0.5, equivalence=0.1).power(20_000) == pytest.approx(0.95, abs=0.003)
    assert required_episodes(Design(0.5, 0.5, equivalence=0.1), power=0.97) is None


def test_power_is_what_simulation_gives():
    rng, n = np.random.default_rng(0), 40
    s_o, s_l = rng.binomial(n, 0.6, 40000), rng.binomial(n, 0.3, 40000)
    share = (agresti_caffo(s_o, n, s_l, n).low > 0).mean()
    assert Design(0.6, 0.3, agresti_caffo=True).power(n) == pytest.approx(share, abs=4 * (0.25 / 40000) ** 0.5)


def test_paired_power_is_what_simulation_gives():
    rng, n, design = np.random.default_rng(0), 30, Design(0.6, 0.4, paired=True, phi=0.4)
    b, c = design.discordant
    sampled = rng.multinomial(n, [b, c, 1 - b - c], 40000)
    share = ((sampled[:, 0] - sampled[:, 1]) > 1.959964 * np.sqrt(sampled[:, 0] + sampled[:, 1])).mean()
    assert design.power(n) == pytest.approx(share, abs=4 * (0.25 / 40000) ** 0.5)


def test_a_gap_in_the_other_direction_needs_as_many():
    assert required_episodes(Design(0.3, 0.5)) == required_episodes(Design(0.5, 0.3))


def test_equal_rates_never_show_a_gap():
    assert required_episodes(Design(0.5, 0.5)) is None
    assert detectable_gap(0.05, 10) is None


def test_to_decide_either_way_takes_fewer_than_to_decide_one_way():
    gap, equal = Design(0.5, 0.47), Design(0.5, 0.47, equivalence=0.1)
    n = required_episodes(gap, equal)
    assert gap.power(n) + equal.power(n) >= 0.8 > gap.power(n - 1) + equal.power(n - 1)
    assert n < required_episodes(gap)


def test_unequal_rates_count_as_equal_only_until_the_gap_shows():
    """Rates .5 and .48 come to be called equivalent, but 50,000 episodes show the gap."""
    equal = Design(0.5, 0.48, equivalence=0.1)
    n = required_episodes(equal)
    assert equal.power(n) >= 0.8 > equal.power(n - 1)
    assert equal.power(50_000) < 0.1


def test_the_search_reaches_its_stated_end():
    """Rates of .53 and .516 need 19,900 or so: beyond the last power of two below 20,000."""
    needed = required_episodes(Design(0.53, 0.516))
    assert needed is not None and 16_384 < needed <= MAX_SEARCHED


@pytest.mark.parametrize(("oracle", "phi"), [(0.555, 0.0), (0.5, 0.9), (0.9, -0.1), (1.0, 0.0), (0.005, 0.0)])
def test_a_detectable_gap_never_leaves_what_the_rates_allow(oracle, phi):
    gap = detectable_gap(oracle, 40, paired=True, phi=phi)
    assert gap is None or (gap <= oracle and Design(oracle, max(0, oracle - gap), True, phi).power(40) >= 0.8)


@pytest.mark.parametrize("oracle", [float("nan"), -0.1, 1.5])
def test_a_detectable_gap_needs_a_rate(oracle):
    with pytest.raises(BadInput, match="oracle rate must lie in"):
        detectable_gap(oracle, 3)


@pytest.mark.parametrize("n", [10**8, 10**24])
def test_more_episodes_than_can_be_enumerated_are_refused(n):
    with pytest.raises(BadInput, match=r"100000 episodes|at most"):
        Design(0.5, 0.4).power(n)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"oracle": 1.2, "learned": 0.5}, "oracle rate must lie in"),
        ({"oracle": "x", "learned": 0.5}, "oracle rate must lie in"),
        ({"oracle": 0.5, "learned": float("nan")}, "learned rate must lie in"),
        ({"oracle": 0.5, "learned": 0.3, "phi": 0.5}, "only paired arms correlate"),
        ({"oracle": 0.9, "learned": 0.1, "paired": True, "phi": 1.0}, "cannot correlate"),
        ({"oracle": 0.9, "learned": 0.9, "paired": True, "phi": -0.5}, "cannot correlate"),
        ({"oracle": 0.5, "learned": 0.5, "equivalence": 0}, "margin must lie in"),
    ],
)
def test_designs_that_cannot_be_are_refused(arguments, words):
    with pytest.raises(BadInput, match=words):
        Design(**arguments)


@pytest.mark.parametrize(("oracle", "half"), [(0.3, 0.0742), (0.5, 0.0805), (0.7, 0.0742), (0.9, 0.0505)])
def test_half_widths_of_the_wmel_018_repository_at_150_episodes(oracle, half):
    assert expected_half_width(oracle, 0, 150) == pytest.approx(half, abs=5e-5)


@pytest.mark.parametrize(
    ("half_width", "needed"), [(0.05, (327, 387, 327, 153)), (0.10, (84, 98, 84, 46)), (0.02, (2021, 2403, 2021, 881))]
)
def test_episodes_for_a_half_width_of_the_wmel_018_repository(half_width, needed):
    assert tuple(episodes_for_half_width(oracle, 0, half_width) for oracle in (0.3, 0.5, 0.7, 0.9)) == needed


def test_a_close_pair_needs_765_episodes():
    assert episodes_for_half_width(0.5, 0.533, 0.05) == 765


@pytest.mark.parametrize(("oracle", "learned", "clears"), [(94, 92, False), (94, 78, True), (78, 75, False)])
def test_which_gaps_clear_zero_at_100_episodes(oracle, learned, clears):
    assert (agresti_caffo(oracle, 100, learned, 100).low > 0) == clears


def test_what_no_budget_reaches():
    assert episodes_for_half_width(0.5, 0.5, 0.0001) is None
    with pytest.raises(BadInput, match="half-width"):
        episodes_for_half_width(0.5, 0.5, 0)
