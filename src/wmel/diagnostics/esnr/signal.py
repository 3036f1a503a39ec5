"""From sampled gradients to signal-to-noise ratios, and what is left of their bias."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

SMALLEST = 4e-7  # what is below this share of the gradient at an observation is rounding of float32
LEAST_LEFT = 1e-9  # of the noise when a sample is left out
PAPER_EPSILON = 1e-8


@dataclass(frozen=True, eq=False)
class Signal:
    """Ratios of squared mean to variance for every coordinate, of gradients [B,S,D]; broken samples are left out."""

    samples: np.ndarray  # [B,S,D]
    flat: np.ndarray | None = None  # [B] where every action sequence has the same return: no gradient there is real

    @cached_property
    def kept(self) -> np.ndarray:
        """Which samples are finite: bool [B,S]"""
        return np.asarray(np.isfinite(self.samples).all(axis=2))

    @property
    def broken_share(self) -> float:
        return float((~self.kept).mean())

    @cached_property
    def counts(self) -> np.ndarray:
        """Finite samples per observation, at least 1: [B,1]"""
        return np.maximum(self.kept.sum(axis=1), 1)[:, None]

    @cached_property
    def means(self) -> np.ndarray:
        """[B,D]"""
        return self._finite.sum(axis=1) / self.counts

    @cached_property
    def variances(self) -> np.ndarray:
        """Unbiased: [B,D]"""
        return (self._deviations**2).sum(axis=1) / np.maximum(self.counts - 1, 1)

    @cached_property
    def dead(self) -> np.ndarray:
        """Coordinates whose gradient is zero always, but for rounding: bool [B,D]"""
        zero = self._without_noise & (abs(self.means) <= self._rounding)
        return zero if self.flat is None else zero | self.flat[:, None]

    @cached_property
    def infinite(self) -> np.ndarray:
        """Coordinates with a gradient and no noise that float32 could show: bool [B,D]"""
        return ~self.dead & self._without_noise

    @cached_property
    def usable(self) -> np.ndarray:
        """Coordinates with a ratio, at observations with enough samples: bool [B,D]"""
        return ~self.dead & ~self.infinite & (self.counts > 3)

    @cached_property
    def raw(self) -> np.ndarray:
        """Squared mean over variance, which overstates: [B,D]"""
        return np.divide(self.means**2, self.variances, out=np.full_like(self.means, np.nan), where=self.usable)

    @cached_property
    def gaussian(self) -> np.ndarray:
        """Exactly unbiased where gradients are normal: [B,D]; may be negative."""
        return (self.counts - 3) / np.maximum(self.counts - 1, 1) * self.raw - 1 / self.counts

    @cached_property
    def jackknife(self) -> np.ndarray:
        """Bias of order 1/S removed whatever the distribution: [B,D]; noisy below 64 samples.

        Where one sample holds all the noise there is no leaving it out: there, as for normal gradients.
        """
        count = self.counts[:, None]
        means = self.means[:, None] - self._deviations / (count - 1).clip(1)
        squares = self.variances[:, None] * (count - 1) - self._deviations**2 * count / (count - 1).clip(1)
        noisy = squares > LEAST_LEFT * self.variances[:, None] * count
        ratios = np.divide(means**2 * (count - 2), squares, out=np.zeros_like(means), where=noisy)
        left_out = np.where(self.kept[..., None], ratios, 0).sum(axis=1) / self.counts
        whole = (noisy | ~self.kept[..., None]).all(axis=1)
        return np.where(whole, self.counts * self.raw - (self.counts - 1) * left_out, self.gaussian)

    @cached_property
    def literal(self) -> np.ndarray:
        """The paper's: [B,D]"""
        return self.means**2 / (self.variances + PAPER_EPSILON)

    @cached_property
    def power(self) -> np.ndarray:
        """Squared means without what noise adds to them, of every observation: [B]"""
        return np.where(self._pooled, self.means**2 - self.variances / self.counts, 0).sum(axis=1)

    @cached_property
    def noise(self) -> np.ndarray:
        """Variances of every observation: [B]"""
        return np.where(self._pooled, self.variances, 0).sum(axis=1)

    def by_observation(self, ratios: np.ndarray) -> np.ndarray:
        """The mean over coordinates that have one: [B], NaN where none has"""
        there = np.isfinite(ratios)
        totals = np.where(there, ratios, 0).sum(axis=1)
        return np.divide(totals, there.sum(axis=1), out=np.full(len(ratios), np.nan), where=there.any(axis=1))

    @property
    def _pooled(self) -> np.ndarray:
        return ~self.dead & (self.counts > 3)

    @cached_property
    def _rounding(self) -> np.ndarray:
        """What float32 cannot show beside the gradient of an observation: [B,1]"""
        return SMALLEST * np.sqrt((self.means**2 + self.variances).mean(axis=1, keepdims=True))

    @property
    def _without_noise(self) -> np.ndarray:
        return self.variances <= self._rounding**2

    @cached_property
    def _finite(self) -> np.ndarray:
        return np.where(self.kept[..., None], self.samples, 0)

    @cached_property
    def _deviations(self) -> np.ndarray:
        """From the mean, 0 for broken samples: [B,S,D]"""
        return np.where(self.kept[..., None], self._finite - self.means[:, None], 0)
