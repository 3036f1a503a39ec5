import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import binom
from scipy.stats import norm

from tests.diagnostics.esnr.worlds import NOWHERE, assert_moments, linear, quadratic, ratio_error, still
from wmel.diagnostics.esnr.measure import esnr

SAMPLES = 50_000


def cem(pair, mean, population, elites, *, samples=SAMPLES, **settings):
    mean = np.atleast_2d(mean)
    return esnr(
        pair, NOWHERE, "cem", mean=mean, population=population, elites=elites, samples=samples, rows=10**6, **settings
    )  # fmt: skip


def top_mean(population: int, elites: int) -> tuple[float, float]:
    """Mean and variance of the mean of the top E of N standard normals.

    Given the next one below, x, they are independent draws from beyond x: normals cut off there, of mean
    l = phi(x) / (1 - Phi(x)) and variance 1 + x l - l^2.
    """

    def over(what):
        def integrand(x):
            ways = (population - elites) * binom(population, elites)
            density = ways * norm.cdf(x) ** (population - elites - 1) * norm.sf(x) ** elites * norm.pdf(x)
            return density * what(x, np.exp(norm.logpdf(x) - norm.logsf(x)))

        return quad(integrand, -9, 9, epsabs=1e-12)[0]

    mean = over(lambda x, beyond: beyond)
    return mean, over(lambda x, beyond: (1 + x * beyond - beyond**2) / elites + beyond**2) - mean**2


def test_the_reference_is_the_known_one():
    assert top_mean(2, 1) == pytest.approx((1 / np.sqrt(np.pi), 1 - 1 / np.pi), abs=1e-9)
    third = 3 / (2 * np.sqrt(np.pi)), 1 - 9 / (4 * np.pi) + np.sqrt(3) / (2 * np.pi)
    assert top_mean(3, 1) == pytest.approx(third, abs=1e-9)
    assert third[0] ** 2 / third[1] == pytest.approx(1.280142, abs=1e-6)
    assert top_mean(8, 3) == pytest.approx((0.91622, 0.19601), abs=1e-5)


@pytest.mark.parametrize(("population", "elites"), [(2, 1), (3, 1), (8, 3), (16, 5)])
@pytest.mark.parametrize("steepness", [0.01, 300.0])
def test_uphill_the_elite_mean_moves_by_order_statistics(population, elites, steepness):
    """Two actions, the first up and the second across: neither steepness nor the place matters."""
    direction, sigma = np.array([0.8, 0.6]), 0.3
    found = cem(linear(steepness * direction), [0.4, -0.2], population, elites, sigma=sigma)
    shift, spread = top_mean(population, elites)
    variance = sigma**2 * (direction**2 * spread + (1 - direction**2) / elites)
    assert_moments(found.gradients.samples[0], sigma * shift * direction, variance)


@pytest.mark.parametrize(("population", "expected"), [(2, 1 / (np.pi - 1)), (3, 1.280142)])
def test_the_best_of_few_on_one_slope(population, expected):
    found = cem(linear([2.0]), [0.0], population, 1, samples=200_000)
    error = ratio_error(found.gradients.samples[0])[0]
    assert found.esnr.value == pytest.approx(expected, abs=5 * error)
    assert found.esnr_per_rollout.value == pytest.approx(found.esnr.value / population)
    assert found.model_steps == 200_000 * population


def test_the_better_of_two_in_the_plane():
    direction = np.array([0.28, 0.96])
    found = cem(linear(direction), [0.0, 0.0], 2, 1, samples=200_000)
    expected = direction**2 / (np.pi - direction**2)
    assert (abs(found.signal.jackknife[0] - expected) < 5 * ratio_error(found.gradients.samples[0])).all()


def test_a_large_population_comes_near_the_asymptotic_ratio():
    """54.8 for 10 of 64 in the limit; 53.6 as sampled for ESNR.md."""
    found = cem(linear([1.0]), [0.0], 64, 10, samples=20_000)
    share, cut = 10 / 64, norm.isf(10 / 64)
    level = norm.pdf(cut) / share
    spread = 1 - level * (level - cut) + (1 - share) * (level - cut) ** 2
    assert 10 * level**2 / spread == pytest.approx(54.8, abs=0.05)
    assert found.esnr.value == pytest.approx(10 * level**2 / spread, rel=0.05)
    shift, exact = top_mean(64, 10)
    assert found.esnr.value == pytest.approx(shift**2 / exact, abs=5 * ratio_error(found.gradients.samples[0])[0])


def test_where_all_are_elite_nothing_is_learned_and_the_raw_mean_hides_it():
    """The displacement has no signal; the raw mean has N mu^2 / sigma^2 of it, from pure noise."""
    mean, sigma = np.array([0.5, -0.3]), 0.4
    moved = cem(quadratic([3.0, 3.0]), mean, 8, 8, sigma=sigma)
    raw = cem(quadratic([3.0, 3.0]), mean, 8, 8, sigma=sigma, raw_elite_mean=True)
    assert_moments(moved.gradients.samples[0], 0, sigma**2 / 8)
    assert abs(moved.esnr.value) < 20 / SAMPLES
    ratios = 8 * mean**2 / sigma**2
    assert (abs(raw.signal.jackknife[0] - ratios) < 5 * ratio_error(raw.gradients.samples[0])).all()
    assert moved.gradients.effective_elites == pytest.approx(8)


def test_the_raw_mean_of_one_elite_adds_where_it_was_drawn_around():
    found = cem(linear([1.0]), [0.6], 2, 1, sigma=0.3, raw_elite_mean=True)
    expected = (0.6 / 0.3 + 1 / np.sqrt(np.pi)) ** 2 / (1 - 1 / np.pi)
    assert found.esnr.value == pytest.approx(expected, abs=5 * ratio_error(found.gradients.samples[0])[0])


@pytest.mark.parametrize(("kappa", "known"), [(0.1, 0.00490), (0.5, 0.08642), (2.0, 0.32614)])
def test_two_weighted_by_their_returns(kappa, known):
    """displacement / sigma = mean of both + (D/2) tanh(kappa D/2), D ~ N(0,2)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    gap = np.sqrt(2) * nodes
    moves, weights = gap / 2 * np.tanh(kappa * gap / 2), weights / weights.sum()
    shift = weights @ moves
    spread = weights @ moves**2 - shift**2 + 0.5
    assert shift**2 / spread == pytest.approx(known, abs=1e-5)
    slope, sigma = 2.5, 0.4
    found = cem(linear([slope]), [0.1], 2, 2, sigma=sigma, temperature=kappa / (slope * sigma), samples=200_000)
    assert_moments(found.gradients.samples[0], sigma * shift, sigma**2 * spread)


def test_a_hard_choice_among_two_is_the_limit():
    soft = cem(linear([1.0]), [0.0], 2, 2, temperature=1e4)
    hard = cem(linear([1.0]), [0.0], 2, 1)
    assert soft.esnr.value == pytest.approx(hard.esnr.value, rel=1e-3)
    assert soft.gradients.effective_elites == pytest.approx(1, abs=1e-3)


def test_a_small_temperature_is_a_natural_gradient():
    """tau (N-1)/N sigma^2 grad E[J]; the part that the noise itself adds is taken off by the same draw at tau = 0."""
    slopes, sigma, tau, count = np.array([1.0, -0.4]), 0.5, 0.05, 8
    moved, still_there = (
        cem(linear(slopes), [0.2, 0.1], count, count, sigma=sigma, temperature=each).gradients.samples[0]
        for each in (tau, 0.0)
    )
    change = moved - still_there
    expected = tau * (count - 1) / count * sigma**2 * slopes
    allowed = 5 * change.std(axis=0) / np.sqrt(len(change)) + (tau * sigma) ** 2 * abs(expected)
    assert (abs(change.mean(axis=0) - expected) < allowed).all()


def test_by_their_own_spread_returns_of_any_size_weigh_alike():
    found = [
        cem(linear([size]), [0.0], 16, 8, temperature=0.7, normalize_returns=True, samples=500)
        for size in (0.01, 1.0, 100.0)
    ]
    for other in found[1:]:
        assert other.esnr.value == pytest.approx(found[0].esnr.value, rel=1e-4)
        assert other.gradients.effective_elites == pytest.approx(found[0].gradients.effective_elites, rel=1e-4)


def test_what_keeps_the_order_of_returns_changes_nothing_at_temperature_zero():
    plain = cem(linear([1.0, 0.5]), [0.0, 0.0], 16, 4, samples=200)
    bent = cem((still, lambda z, a: torch.exp(a[:, 0] + 0.5 * a[:, 1])), [0.0, 0.0], 16, 4, samples=200)
    np.testing.assert_allclose(bent.gradients.samples, plain.gradients.samples, atol=1e-6)


def test_effective_elites_count_the_weights():
    found = cem(linear([1.0]), [0.0], 8, 5, samples=50, temperature=0.0)
    assert found.gradients.effective_elites == pytest.approx(5)
    assert found.gradients.rollouts_each == 8


def test_one_observation_of_nan_alone_in_its_block_is_just_broken():
    """NaN at one of 200 observations is 0.5% of the gradients: below the 1% that make an ESNR undefined."""

    def reward(z, a):
        return torch.where(z[:, 0] > 0, torch.nan, a[:, 0])

    observations = (np.arange(200) == 7).astype(float)[:, None]
    options = {"mean": np.zeros((1, 1)), "population": 4, "elites": 2, "samples": 4}
    together = esnr((still, reward), observations, "cem", rows=10_000, **options)
    alone = esnr((still, reward), observations, "cem", rows=1, **options)
    assert together.broken_share == alone.broken_share == 1 / 200
    assert alone.esnr.value == pytest.approx(together.esnr.value, rel=1e-5)
