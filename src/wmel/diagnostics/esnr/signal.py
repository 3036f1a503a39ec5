"""Signal-to-noise ratios of sampled gradients, raw and corrected for bias."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

ROUNDING = 4e-7  # below this share of the gradient at an observation, a number is rounding of float32
MIN_NOISE_LEFT = 1e-9  # share of the noise that must remain when a sample is left out
PAPER_EPSILON = 1e-8


@dataclass(frozen=True, eq=False)
class Signal:
    """Ratios of squared mean to variance for every coordinate of gradients [B,S,D]; samples with NaN are left out."""

    samples: np.ndarray  # [B,S,D]
    flat: np.ndarray | None = None  # [B] where all action sequences have the same return; gradients there count as zero

    @cached_property
    def finite(self) -> np.ndarray:
        """Which samples are finite: bool [B,S]"""
        return np.asarray(np.isfinite(self.samples).all(axis=2))

    @property
    def broken_share(self) -> float:
        return float((~self.finite).mean())

    @cached_property
    def counts(self) -> np.ndarray:
        """Finite samples per observation, at least 1: [B,1]"""
        return np.maximum(self.finite.sum(axis=1), 1)[:, None]

    @cached_property
    def means(self) -> np.ndarray:
        """[B,D]"""
        return self._finite_samples.sum(axis=1) / self.counts

    @cached_property
    def variances(self) -> np.ndarray:
        """Unbiased: [B,D]"""
        return (self._deviations**2).sum(axis=1) / np.maximum(self.counts - 1, 1)

    @cached_property
    def dead(self) -> np.ndarray:
        """Coordinates whose gradient is always zero, up to rounding: bool [B,D]"""
        zero = self._without_noise & (abs(self.means) <= self._rounding)
        return zero if self.flat is None else zero | self.flat[:, None]

    @cached_property
    def infinite(self) -> np.ndarray:
        """Coordinates with a gradient and no noise, up to rounding of float32: bool [B,D]"""
        return ~self.dead & self._without_noise

    @cached_property
    def usable(self) -> np.ndarray:
        """Coordinates with a finite ratio, at observations with enough samples: bool [B,D]"""
        return ~self.dead & ~self.infinite & (self.counts > 3)

    @cached_property
    def raw(self) -> np.ndarray:
        """Squared mean over variance, which is biased upwards: [B,D]"""
        return np.divide(self.means**2, self.variances, out=np.full_like(self.means, np.nan), where=self.usable)

    @cached_property
    def gaussian(self) -> np.ndarray:
        """Unbiased if gradients are normal: [B,D]; may be negative."""
        return (self.counts - 3) / np.maximum(self.counts - 1, 1) * self.raw - 1 / self.counts

    @cached_property
    def jackknife(self) -> np.ndarray:
        """With bias of order 1/S removed for any distribution: [B,D]; noisy below 64 samples.

        Where one sample holds all the noise it cannot be left out, and the correction for normal gradients is used.
        """
        count = self.counts[:, None]
        means = self.means[:, None] - self._deviations / (count - 1).clip(1)
        squares = self.variances[:, None] * (count - 1) - self._deviations**2 * count / (count - 1).clip(1)
        noisy = squares > MIN_NOISE_LEFT * self.variances[:, None] * count
        ratios = np.divide(means**2 * (count - 2), squares, out=np.zeros_like(means), where=noisy)
        left_out = np.where(self.finite[..., None], ratios, 0).sum(axis=1) / self.counts
        all_noisy = (noisy | ~self.finite[..., None]).all(axis=1)
        return np.where(all_noisy, self.counts * self.raw - (self.counts - 1) * left_out, self.gaussian)

    @cached_property
    def extrapolated(self) -> np.ndarray:
        """For infinitely many samples: [B], from all samples, their halves and their quarters.

        The bias of each has the form a/S + b/S^2; this combination has neither term (Richardson).
        """
        whole, halves, quarters = (self._mean_of_parts(parts) for parts in (1, 2, 4))
        return (8 * whole - 6 * halves + quarters) / 3

    def _mean_of_parts(self, parts: int) -> np.ndarray:
        """The mean over parts of the samples of the ratio corrected for normal gradients: [B]"""
        size = self.samples.shape[1] // parts
        signals = (Signal(self.samples[:, part * size : (part + 1) * size], self.flat) for part in range(parts))
        return np.mean([one.by_observation(one.gaussian) for one in signals], axis=0)

    @cached_property
    def literal(self) -> np.ndarray:
        """The ratio of the ESNR paper: [B,D]"""
        return self.means**2 / (self.variances + PAPER_EPSILON)

    @cached_property
    def power(self) -> np.ndarray:
        """Sum over coordinates of the squared means, minus what noise adds to them: [B]"""
        return np.where(self._pooled, self.means**2 - self.variances / self.counts, 0).sum(axis=1)

    @cached_property
    def noise(self) -> np.ndarray:
        """Sum over coordinates of the variances: [B]"""
        return np.where(self._pooled, self.variances, 0).sum(axis=1)

    def by_observation(self, ratios: np.ndarray) -> np.ndarray:
        """Mean of ratios [B,D] over the coordinates that have one: [B], NaN where none has."""
        known = np.isfinite(ratios)
        totals = np.where(known, ratios, 0).sum(axis=1)
        return np.divide(totals, known.sum(axis=1), out=np.full(len(ratios), np.nan), where=known.any(axis=1))

    @property
    def _pooled(self) -> np.ndarray:
        return ~self.dead & (self.counts > 3)

    @cached_property
    def _rounding(self) -> np.ndarray:
        """The rounding error of float32 at the size of the gradient of an observation: [B,1]"""
        return ROUNDING * np.sqrt((self.means**2 + self.variances).mean(axis=1, keepdims=True))

    @property
    def _without_noise(self) -> np.ndarray:
        return self.variances <= self._rounding**2

    @cached_property
    def _finite_samples(self) -> np.ndarray:
        return np.where(self.finite[..., None], self.samples, 0)

    @cached_property
    def _deviations(self) -> np.ndarray:
        """Deviations from the mean, 0 for samples with NaN: [B,S,D]"""
        return np.where(self.finite[..., None], self._finite_samples - self.means[:, None], 0)
