"""Results of a measurement: ESNR with intervals, and the alignment with the true gradient."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from wmel.diagnostics.esnr.estimators import Gradients
from wmel.diagnostics.esnr.sampling import EsnrSettings
from wmel.diagnostics.esnr.signal import Signal
from wmel.errors import BadInput
from wmel.stats.estimate import Estimate
from wmel.stats.means import DOMINANT, MIN_CLUSTERS, cluster_bootstrap, largest_share, skewed_mean, skewed_ratio

MAX_BROKEN = 0.01  # share of NaN gradients beyond which nothing is estimated
OVERCORRECTED = (
    "the correction of the bias exceeds the ratio, because few samples hold most of the noise: use the pooled ratio"
)
MIN_FOR_JACKKNIFE = 64  # samples
MIN_FOR_ESNR = 32  # samples: with fewer the bias cannot be estimated (docs/calibration.md)
MIN_FOR_POOLED = 16  # episodes: the interval of fewer covers less than .90 (docs/calibration.md)
AGREEMENT = 0.95  # cosine between the directions by two step sizes, below which the true gradient is not resolved


@dataclass(frozen=True, eq=False)
class Esnr:
    """The signal-to-noise ratio of one estimator's gradients through one model."""

    model: str
    method: str
    settings: EsnrSettings
    gradients: Gradients
    episodes: np.ndarray  # [B] the episode of each observation: a cluster of the interval
    steps: np.ndarray  # [B]
    seconds: float
    comparison_key: str = ""  # hash of observations, objective, action space and mean: equal where two can be compared

    def __repr__(self) -> str:
        return f"Esnr({self.method} through {self.model}: {self.esnr.words}, {len(self.episodes)} observations)"

    @cached_property
    def signal(self) -> Signal:
        return Signal(self.gradients.samples, self.gradients.flat)

    @cached_property
    def correction(self) -> str:
        """How the bias of the ratio was corrected."""
        if self.settings.literal:
            return "none"
        return "jackknife" if self.settings.samples >= MIN_FOR_JACKKNIFE else "gaussian"

    @cached_property
    def per_observation(self) -> np.ndarray:
        """The ratio at each observation [B]: NaN where no coordinate has one; may be negative."""
        source = {"none": "literal", "jackknife": "jackknife", "gaussian": "gaussian"}[self.correction]
        return self.signal.by_observation(getattr(self.signal, source))

    @cached_property
    def esnr(self) -> Estimate:
        """The mean over observations; its interval covers the expectation of this mean at this number of samples."""
        if self.why_undefined:
            return Estimate.undefined(self.why_undefined)
        estimate = mean_over_states(self.per_observation, self.episodes, self.settings.samples)
        if estimate.high is not None and estimate.high < 0:
            return Estimate.undefined(OVERCORRECTED, estimate.n)
        return replace(estimate, method=f"{estimate.method}; bias: {self.correction}")

    @cached_property
    def bias(self) -> Estimate:
        """How far the ESNR of this many samples lies above that of infinitely many, as far as these samples show."""
        if self.why_undefined:
            return Estimate.undefined(self.why_undefined)
        if self.settings.samples < MIN_FOR_ESNR:
            sample_count = self.settings.samples
            return Estimate.undefined(f"the bias needs {MIN_FOR_ESNR} gradients per state, these are {sample_count}")
        gaps = self.per_observation - self.signal.extrapolated
        found = mean_over_states(gaps, self.episodes, self.settings.samples)
        return found if self.esnr.low is not None else _without_interval(found, found.reason or self.esnr.reason)

    @cached_property
    def esnr_per_rollout(self) -> Estimate:
        """The same per imagined sequence: the number by which estimators can be ranked."""
        each, esnr = self.gradients.rollouts_each, self.esnr
        if not esnr.is_defined or each == 1:
            return esnr
        value, low, high = (None if end is None else end / each for end in (esnr.value, esnr.low, esnr.high))
        return replace(esnr, value=value, low=low, high=high)

    @cached_property
    def pooled(self) -> Estimate:
        """Total signal over total noise: invariant to a rotation of the actions, and nearly unbiased."""
        reason = self.why_no_direction
        if reason:
            return Estimate.undefined(reason)
        found = skewed_ratio(self.signal.power, self.signal.noise, self.episodes)
        share = max(largest_share(one, self.episodes) for one in (self.signal.power, self.signal.noise))
        reason = _why_too_few(self.settings.samples, found.n, MIN_FOR_POOLED)
        if share > DOMINANT:
            reason = reason or f"one of {found.n} episodes makes up {share:.0%} of the sum: more states are needed"
        return _without_interval(found, reason) if found.is_defined and reason else found

    @cached_property
    def raw(self) -> float | None:
        """Without correction: about 1/S too high where there is no signal."""
        return self._mean(self.signal.raw)

    @cached_property
    def gaussian(self) -> float | None:
        """With the correction for normal gradients."""
        return self._mean(self.signal.gaussian)

    @cached_property
    def jackknife(self) -> float | None:
        """With the correction for any distribution."""
        return self._mean(self.signal.jackknife)

    @cached_property
    def median(self) -> float | None:
        """The median over observations; far below the mean where a few observations dominate it."""
        known = self.per_observation[np.isfinite(self.per_observation)]
        return None if self.why_undefined or not len(known) else float(np.median(known))

    @cached_property
    def dominance(self) -> float | None:
        """The share of the sum over observations that the highest one contributes."""
        known = self.per_observation[np.isfinite(self.per_observation)]
        if self.why_undefined or not len(known) or known.sum() <= 0:
            return None
        return min(1.0, float(known.max() / known.sum()))

    @property
    def dead_share(self) -> float:
        """Share of coordinates whose gradient is always zero."""
        return float(self.signal.dead.mean())

    @property
    def infinite_share(self) -> float:
        """Share of coordinates with a gradient and no noise."""
        return float(self.signal.infinite.mean())

    @property
    def broken_share(self) -> float:
        """Share of gradients with NaN or infinity."""
        return self.signal.broken_share

    @property
    def flat_share(self) -> float:
        """Share of observations from which all action sequences have the same return."""
        return float(self.gradients.flat.mean())

    @property
    def model_steps(self) -> int:
        return self.gradients.model_steps

    @cached_property
    def why_no_direction(self) -> str:
        """Why the gradients have no direction; empty if they have one."""
        if self.broken_share > MAX_BROKEN:
            return f"{self.broken_share:.1%} of the gradients are NaN or infinite, more than {MAX_BROKEN:.0%}"
        if self.gradients.flat.all() and not self.settings.literal:
            return "the return is the same for every action sequence, so there is no gradient"
        dead = self.signal.dead.all() and not self.settings.literal
        return "every gradient is zero (dead), although the return is not constant" if dead else ""

    @cached_property
    def why_undefined(self) -> str:
        """Why there is no ratio; empty if there is one."""
        if self.why_no_direction:
            return self.why_no_direction
        if self.settings.literal:
            return ""
        if not self.signal.usable.any():
            return "no gradient has any noise: the ratio is infinite"
        if self.gradients.discrete and self.infinite_share >= MAX_BROKEN:
            share = f"{self.infinite_share:.0%} of the coordinates"
            return f"{share} have the same value in every sample, so their ratios are unknown: use the pooled ratio"
        return ""

    def _mean(self, ratios: np.ndarray) -> float | None:
        by_observation = self.signal.by_observation(ratios)
        known = by_observation[np.isfinite(by_observation)]
        return None if self.why_undefined or not len(known) else float(known.mean())


def esnr_difference(a: Esnr, b: Esnr) -> Estimate:
    """A - B on the same observations and the same noise."""
    if a.method != b.method or a.settings.used_by(a.method) != b.settings.used_by(b.method):
        raise BadInput(
            f"{a.method} and {b.method} with different settings are different quantities and cannot be compared"
        )
    if (
        a.comparison_key != b.comparison_key
        or not np.array_equal(a.episodes, b.episodes)
        or not np.array_equal(a.steps, b.steps)
    ):
        raise BadInput("a paired difference needs both models at the same observations, objective, actions and mean")
    for one in (a, b):
        if one.why_undefined:
            return Estimate.undefined(f"{one.model}: {one.why_undefined}")
    return mean_over_states(a.per_observation - b.per_observation, a.episodes, a.settings.samples)


def mean_over_states(values: np.ndarray, episodes: np.ndarray, samples: int) -> Estimate:
    """The mean of ratios, or of their differences, over observations [B]; NaN are left out.

    It has no interval where one would cover less than it claims, or where the bias cannot be estimated.
    """
    known = np.isfinite(values)
    found = skewed_mean(values[known], episodes[known])
    if not found.is_defined:
        return Estimate.undefined("no observation has a ratio for both models")
    reason = _why_too_few(samples, found.n, MIN_CLUSTERS)
    if found.low is None:
        skewed = f"{found.reason}: use the median or the pooled ratio, or more states".replace("clusters", "episodes")
        reason = reason or skewed
    return _without_interval(found, reason) if reason else found


def _why_too_few(samples: int, episodes: int, least: int) -> str:
    """Why so many samples and episodes have no interval; empty if they have one."""
    if samples < MIN_FOR_ESNR:
        return f"an interval needs {MIN_FOR_ESNR} gradients per state, these are {samples}"
    return f"an interval needs states of {least} episodes, these are of {episodes}" if episodes < least else ""


def _without_interval(found: Estimate, reason: str) -> Estimate:
    return Estimate(found.value, n=found.n, method="no interval", reason=reason)


@dataclass(frozen=True, eq=False)
class TrueGradient:
    """The oracle's ESNR by central differences, and its mean gradients by a coarser step."""

    esnr: Esnr
    coarse_means: np.ndarray = field(repr=False)  # [B,D]

    @cached_property
    def resolved(self) -> np.ndarray:
        """Observations at which both step sizes give the same direction: bool [B]"""
        return cosines(self.esnr.signal.means, self.coarse_means) >= AGREEMENT


@dataclass(frozen=True, eq=False)
class Alignment:
    """The cosine between a model's mean gradients and the true ones."""

    cosine: Estimate  # mean over the observations where the true gradient is resolved
    cosines: np.ndarray = field(repr=False)  # [B], NaN where it is not
    unresolved_share: float

    @property
    def against_share(self) -> float | None:
        """Share of the resolved observations whose gradient points away from the true one."""
        resolved = np.isfinite(self.cosines)
        return float((self.cosines[resolved] < 0).mean()) if resolved.any() else None


def alignment(measured: Esnr, truth: TrueGradient) -> Alignment:
    """The alignment of mean gradients of S samples, whose noise alone keeps the cosine below 1.

    A zero gradient has cosine 0.
    """
    if measured.signal.means.shape != truth.esnr.signal.means.shape:
        shapes = f"{measured.signal.means.shape} and {truth.esnr.signal.means.shape}"
        raise BadInput(f"alignment needs gradients at the same observations and of the same actions, got {shapes}")
    resolved = truth.resolved
    pointing = np.where(measured.signal.dead, 0, measured.signal.means)
    angles = np.where(resolved, np.nan_to_num(cosines(pointing, truth.esnr.signal.means)), np.nan)
    unresolved = float(1 - resolved.mean())
    if measured.why_no_direction:
        return Alignment(Estimate.undefined(measured.why_no_direction), angles, unresolved)
    if measured.settings.raw_elite_mean and measured.method == "cem":
        return Alignment(Estimate.undefined("a raw elite mean is a position, not a direction"), angles, unresolved)
    if not resolved.any():
        reason = "not resolved: the slope depends on the step size"
        if not truth.esnr.signal.means.any() and not truth.coarse_means.any():
            reason = "the slope is zero at every sampled point: the return jumps, or is constant"
        return Alignment(Estimate.undefined(reason), angles, unresolved)
    clusters = measured.episodes[resolved]
    mean = cluster_bootstrap(angles[resolved], np.ones(len(clusters)), clusters, scale="bounded")
    return Alignment(mean, angles, unresolved)


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cosines between rows [B,D]: [B], NaN where a row is zero."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    dots = (one * other).sum(axis=1)
    return np.divide(dots, lengths, out=np.full(len(dots), np.nan), where=lengths > 0)
