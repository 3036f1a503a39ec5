"""Every interval of a difference against published values, a second implementation, and its own properties."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import examples
from wmel.errors import BadInput
from wmel.stats.paired import PairedCounts, holm, mcnemar_mid_p, paired_score, tango
from wmel.stats.proportions import agresti_caffo, clopper_pearson, miettinen_nurminen, relative_loss, score

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from reference_intervals import bonett_price, newcombe, newcombe_paired

UNPAIRED = {"agresti-caffo": agresti_caffo, "newcombe": newcombe, "miettinen-nurminen": miettinen_nurminen}
PAIRED = {"tango": tango, "newcombe": newcombe_paired, "bonett-price": bonett_price}


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((3, 10, 0, 10), -0.0592, 0.5592),
        ((40, 150, 0, 150), 0.1914, 0.3349),
        ((9, 10, 0, 10), 0.4875, 1.0125),
        ((132, 150, 0, 150), 0.8143, 0.9225),
        ((44, 50, 0, 50), 0.746, 0.946),
        ((45, 50, 0, 50), 0.771, 0.960),
        ((41, 50, 0, 50), 0.675, 0.902),
        ((27, 30, 0, 30), 0.714, 0.973),
        ((27, 30, 6, 30), 0.473, 0.840),
        ((15, 30, 0, 30), 0.285, 0.652),
        ((15, 30, 4, 30), 0.130, 0.558),
        ((27, 30, 15, 30), 0.167, 0.583),
        ((15, 30, 2, 30), 0.206, 0.607),
        ((15, 30, 16, 30), -0.276, 0.2135),
    ],
)
def test_published_agresti_caffo_intervals_reproduce(counts, low, high):
    assert agresti_caffo(*counts) == pytest.approx((low, high), abs=6e-4 if round(low, 3) == low else 6e-5)


@pytest.mark.parametrize(
    ("counts", "low", "high"), [((56, 70, 48, 80), 0.0528, 0.3382), ((9, 10, 3, 10), 0.1700, 0.8406)]
)
def test_published_score_intervals_reproduce(counts, low, high):
    assert miettinen_nurminen(*counts) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("interval", "low", "high"),
    [(tango, -0.517, -0.026), (newcombe_paired, -0.507, -0.026), (bonett_price, -0.508, -0.013)],
)
def test_published_paired_intervals_reproduce(interval, low, high):
    assert interval(PairedCounts(1, 1, 7, 12)) == pytest.approx((low, high), abs=6e-4)


@pytest.mark.parametrize(("ours", "theirs"), [(agresti_caffo, "agresti-caffo"), (newcombe, "newcomb")])
def test_statsmodels_agrees(ours, theirs):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    rng = np.random.default_rng(0)
    for n_o, n_l in rng.integers(2, 200, (40, 2)):
        s_o, s_l = rng.integers(0, n_o + 1), rng.integers(0, n_l + 1)
        expected = proportion.confint_proportions_2indep(s_o, n_o, s_l, n_l, method=theirs)
        assert ours(s_o, n_o, s_l, n_l) == pytest.approx(expected, abs=3e-5)  # 1.96 against 1.959964


def test_clopper_pearson_is_the_exact_binomial_tail():
    """The bounds are the rates at which so many, or so few, successes have probability 2.5%."""
    from scipy.stats import binom

    for successes, trials in ((0, 10), (3, 10), (10, 10), (40, 150), (149, 150)):
        low, high = clopper_pearson(successes, trials)
        assert low == 0 if successes == 0 else binom.sf(successes - 1, trials, low) == pytest.approx(0.025)
        assert high == 1 if successes == trials else binom.cdf(successes, trials, high) == pytest.approx(0.025)


def test_the_restricted_rates_maximise_the_likelihood():
    """Brute force over a fine grid: the score built on the best restricted rates is ours."""
    grid = np.linspace(0, 1, 200_001)[1:-1]
    for s_o, n_o, s_l, n_l, gap in (
        (3, 10, 0, 10, 0.2),
        (9, 10, 3, 10, -0.4),
        (56, 70, 48, 80, 0.1),
        (5, 9, 9, 9, -0.6),
    ):
        p_l = grid[(grid + gap > 0) & (grid + gap < 1)]
        p_o = p_l + gap
        logs = s_o * np.log(p_o) + (n_o - s_o) * np.log1p(-p_o) + s_l * np.log(p_l) + (n_l - s_l) * np.log1p(-p_l)
        best = p_l[logs.argmax()]
        p_o = best + gap
        total = n_o + n_l
        variance = (p_o * (1 - p_o) / n_o + best * (1 - best) / n_l) * total / (total - 1)
        expected = (s_o / n_o - s_l / n_l - gap) / np.sqrt(variance)
        assert score(*map(float, (s_o, n_o, s_l, n_l)), gap) == pytest.approx(expected, rel=2e-3)


def test_tangos_score_maximises_the_paired_likelihood():
    grid = np.linspace(0, 1, 400_001)[1:-1]
    for b, c, n, gap in ((1, 7, 21, -0.1), (8, 2, 30, 0.05), (5, 0, 12, 0.2), (3, 3, 40, -0.02)):
        q = grid[(grid + gap > 0) & (2 * grid + gap < 1)]
        logs = b * np.log(q + gap) + c * np.log(q) + (n - b - c) * np.log1p(-2 * q - gap)
        best = q[logs.argmax()]
        expected = (b - c - n * gap) / np.sqrt(n * (2 * best + gap - gap**2))
        assert paired_score(*map(float, (b, c, n)), gap) == pytest.approx(expected, rel=2e-3)


def test_at_no_gap_the_restricted_rates_are_the_pooled_share():
    for counts in ((3, 10, 0, 10), (56, 70, 48, 80), (5, 9, 9, 9)):
        nearly, exactly = (score(*map(float, counts), gap) for gap in (1e-9, 0.0))
        assert nearly == pytest.approx(float(exactly), rel=1e-5)


def test_at_no_gap_tangos_score_is_mcnemars():
    assert paired_score(9.0, 3.0, 40.0, 0.0) == pytest.approx((9 - 3) / 12**0.5)


def test_mcnemar_is_exact_binomial_and_overflows_nowhere():
    from math import comb

    for b, c in ((1, 7), (0, 5), (4, 4), (10, 3)):
        tail = sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
        point = comb(b + c, min(b, c)) / 2 ** (b + c)
        assert mcnemar_mid_p(b, c) == pytest.approx(min(1, 2 * tail - point))
    assert mcnemar_mid_p(0, 0) == 1
    assert 0 < mcnemar_mid_p(600, 500) < 0.01


@pytest.mark.parametrize("discordant", [2**31 - 2, 2**31 + 10, 10**10, 10**12])
@pytest.mark.parametrize("deviations", [1, 2, 4])
def test_mcnemar_is_right_where_counts_outgrow_32_bits(discordant, deviations):
    """There the binomial is normal to nine digits."""
    from statistics import NormalDist

    sd = discordant**0.5 / 2
    fewer = discordant // 2 - round(deviations * sd)
    tail = NormalDist(discordant / 2, sd).cdf
    assert mcnemar_mid_p(fewer, discordant - fewer) == pytest.approx(2 * tail(fewer), rel=1e-7)


counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize("name", UNPAIRED)
@examples(60)
@given(one=counts, other=counts)
def test_swapping_the_arms_flips_the_interval(name, one, other):
    low, high = UNPAIRED[name](*one, *other)
    flipped_low, flipped_high = UNPAIRED[name](*other, *one)
    assert (low, high) == pytest.approx((-flipped_high, -flipped_low), abs=1e-9)


@pytest.mark.parametrize("name", UNPAIRED)
@examples(60)
@given(one=counts, other=counts)
def test_more_successes_of_the_oracle_raise_both_bounds(name, one, other):
    if one[0] == one[1]:
        return
    low, high = UNPAIRED[name](*one, *other)
    more_low, more_high = UNPAIRED[name](one[0] + 1, one[1], *other)
    assert more_low >= low - 1e-9 and more_high >= high - 1e-9


cells = st.tuples(*[st.integers(0, 25)] * 4).filter(lambda cell: sum(cell) > 0)


@pytest.mark.parametrize("name", PAIRED)
@examples(60)
@given(cell=cells)
def test_paired_intervals_flip_and_stay_inside(name, cell):
    a, b, c, d = cell
    low, high = PAIRED[name](PairedCounts(a, b, c, d))
    flipped = PAIRED[name](PairedCounts(a, c, b, d))
    assert (low, high) == pytest.approx((-flipped[1], -flipped[0]), abs=1e-9)
    assert -1 - 1e-12 <= low <= (b - c) / (a + b + c + d) + 1e-9 and high <= 1 + 1e-12


@examples(60)
@given(one=counts, other=counts)
def test_score_intervals_stay_inside_and_hold_the_gap(one, other):
    low, high = miettinen_nurminen(*one, *other)
    assert -1 <= low <= one[0] / one[1] - other[0] / other[1] + 1e-9 and high <= 1


def test_arrays_give_what_single_counts_give():
    s_o, s_l = np.meshgrid(np.arange(11), np.arange(11))
    for interval in UNPAIRED.values():
        low, high = interval(s_o, 10, s_l, 10)
        for i, j in ((0, 0), (3, 7), (10, 0)):
            alone = [float(bound) for bound in interval(s_o[i, j], 10, s_l[i, j], 10)]
            assert [low[i, j], high[i, j]] == pytest.approx(alone, abs=1e-9)


def test_the_relative_loss_of_all_success_is_one():
    """+.267 at an oracle rate of .267 is total failure; +.30 at 1 is a loss of 30%."""
    low, high = relative_loss(40, 150, 0, 150)
    assert high == 1 and low > 0.9
    low, high = relative_loss(30, 30, 21, 30)
    assert low < 0.3 < high
    assert relative_loss(0, 10, 0, 10)[0] == -np.inf


@pytest.mark.parametrize("interval", UNPAIRED.values())
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ((0, 0, 1, 10), "at least one episode"),
        ((11, 10, 1, 10), "between 0 and"),
        ((np.nan, 10, 1, 10), "finite"),
        (("a", 10, 1, 10), "finite numbers, got 'a'"),
        ((True, 10, 1, 10), "finite numbers, got True"),
        ((1, 10**400, 1, 10), "finite numbers"),
        ((1, 10**13, 1, 10), "at most 1e\\+12 episodes"),
    ],
)
def test_impossible_counts_are_refused(interval, bad, words):
    with pytest.raises(BadInput, match=words):
        interval(*bad)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, float("nan"), "x", True])
def test_a_confidence_that_is_no_share_is_refused(confidence):
    intervals = [lambda f=f: f(PairedCounts(1, 1, 7, 12), confidence=confidence) for f in PAIRED.values()]
    intervals += [
        lambda f=f: f(3, 10, 1, 10, confidence=confidence) for f in (newcombe, miettinen_nurminen, relative_loss)
    ]
    intervals += [lambda: clopper_pearson(3, 10, confidence=confidence)]
    for interval in intervals:
        with pytest.raises(BadInput, match="confidence must lie in"):
            interval()


def test_the_correlation_of_pairs():
    assert PairedCounts(5, 0, 0, 5).phi == 1 and PairedCounts(0, 5, 5, 0).phi == -1
    assert PairedCounts(4, 4, 4, 4).phi == 0 and PairedCounts(3, 7, 0, 0).phi == 0


def test_pairs_that_do_not_match_are_refused():
    with pytest.raises(BadInput, match="got 3 and 2"):
        PairedCounts.of(np.ones(3, bool), np.ones(2, bool))
    with pytest.raises(BadInput, match="at least one pair"):
        PairedCounts(0, 0, 0, 0)
    with pytest.raises(BadInput, match="counts must be finite"):
        PairedCounts("a", 0, 0, 0)


def test_holm_agrees_with_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    values = np.random.default_rng(0).random(12) ** 3
    assert holm(values) == pytest.approx(multitest.multipletests(values, method="holm")[1])


@pytest.mark.parametrize("values", [[0.1, 1.2], ["a"], [float("nan")], 0.5, None])
def test_what_is_no_list_of_p_values_is_refused(values):
    with pytest.raises(BadInput, match="p-values"):
        holm(values)
