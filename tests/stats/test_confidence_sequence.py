import numpy as np
import pytest
from scipy.integrate import quad

from wmel.errors import BadInput
from wmel.stats.sequential import confidence_sequence, log_wealth, log_wealth_at_zero


def test_the_published_value():
    assert confidence_sequence(40, 0, 150) == pytest.approx((0.172, 0.393), abs=5e-4)


def test_the_first_possible_stop_is_round_seven():
    assert log_wealth_at_zero(6, 0) < np.log(20) < log_wealth_at_zero(7, 0)


@pytest.mark.parametrize(("b", "c", "n", "gap"), [(3, 1, 10, 0.1), (5, 0, 8, -0.3), (2, 6, 30, 0.5), (0, 0, 4, 0.2)])
def test_the_mixture_is_the_integral_over_stakes(b, c, n, gap):
    least, most = -1 / (1 - gap), 1 / (1 + gap)

    def bet(angle):  # u = (1 + cos angle) / 2 has an arcsine density
        stake = least + (1 + np.cos(angle)) / 2 * (most - least)
        return (1 + stake * (1 - gap)) ** b * (1 - stake * (1 + gap)) ** c * (1 - stake * gap) ** (n - b - c)

    expected = quad(bet, 0, np.pi)[0] / np.pi
    assert np.exp(log_wealth(b, c, n, gap)) == pytest.approx(expected, rel=1e-9)


def test_against_no_gap_the_closed_form_holds():
    for b, c, n in ((4, 2, 20), (0, 7, 9), (30, 30, 100)):
        assert log_wealth(b, c, n, 0.0) == pytest.approx(float(log_wealth_at_zero(b, c)), abs=1e-9)


def test_swapping_the_arms_flips_the_interval():
    low, high = confidence_sequence(9, 2, 40)
    assert confidence_sequence(2, 9, 40) == pytest.approx((-high, -low), abs=1e-9)


def test_stopping_whenever_it_decides_errs_less_often_than_alpha():
    """2,000 runs of up to 300 pairs at equal rates, stopped at the first round that excludes 0."""
    rng, stopped = np.random.default_rng(0), 0
    for phi_like in (0.25, 0.5):
        draws = rng.choice([-1, 0, 1], p=[phi_like / 2, 1 - phi_like, phi_like / 2], size=(1000, 300))
        b, c = (draws == 1).cumsum(axis=1), (draws == -1).cumsum(axis=1)
        stopped += int((log_wealth_at_zero(b, c) > np.log(20)).any(axis=1).sum())
    assert stopped / 2000 < 0.05


@pytest.mark.parametrize("counts", [(5, 6, 10), (0, 0, 0)])
def test_pairs_that_cannot_be_are_refused(counts):
    with pytest.raises(BadInput, match="must fit into"):
        confidence_sequence(*counts)


@pytest.mark.parametrize(
    ("counts", "words"), [((-1, 0, 5), "not be negative"), ((1.5, 0, 5), "whole"), ((True, 0, 5), "whole")]
)
def test_counts_that_are_none_are_refused(counts, words):
    with pytest.raises(BadInput, match=words):
        confidence_sequence(*counts)


@pytest.mark.parametrize("alpha", [0, 1, float("nan"), "x"])
def test_an_alpha_that_is_no_share_is_refused(alpha):
    with pytest.raises(BadInput, match="alpha must lie in"):
        confidence_sequence(1, 0, 5, alpha=alpha)
