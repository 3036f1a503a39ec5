"""What a measurement found: ESNR with intervals, and the alignment with the true gradient."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from wmel.diagnostics.esnr.estimators import Gradients
from wmel.diagnostics.esnr.sampling import EsnrSettings
from wmel.diagnostics.esnr.signal import Signal
from wmel.errors import BadInput
from wmel.stats.bootstrap import cluster_bootstrap
from wmel.stats.estimate import Estimate

MOST_BROKEN = 0.01  # beyond this share of NaN gradients nothing is estimated
ENOUGH_FOR_JACKKNIFE = 64
AGREEMENT = 0.95  # of the directions by two step sizes, below which the truth is not resolved


@dataclass(frozen=True, eq=False)
class Esnr:
    """The signal-to-noise ratio of one estimator's gradients through one model."""

    model: str
    method: str
    settings: EsnrSettings
    gradients: Gradients
    episodes: np.ndarray  # [B] which observations belong together
    steps: np.ndarray  # [B]
    seconds: float
    asked: str = ""  # identifies observations, objective, actions and what they were drawn around

    def __repr__(self) -> str:
        return f"Esnr({self.method} through {self.model}: {self.esnr.words}, {len(self.episodes)} observations)"

    @cached_property
    def signal(self) -> Signal:
        return Signal(self.gradients.samples, self.gradients.flat)

    @cached_property
    def correction(self) -> str:
        """What was done about the bias of the ratio."""
        if self.settings.literal:
            return "none"
        return "jackknife" if self.settings.samples >= ENOUGH_FOR_JACKKNIFE else "gaussian"

    @cached_property
    def per_observation(self) -> np.ndarray:
        """[B], NaN where no coordinate has a ratio; may be negative, never cut off before averaging"""
        source = {"none": "literal", "jackknife": "jackknife", "gaussian": "gaussian"}[self.correction]
        return self.signal.by_observation(getattr(self.signal, source))

    @cached_property
    def esnr(self) -> Estimate:
        """The mean over observations, with its interval."""
        reason = self.why_undefined
        if reason:
            return Estimate.undefined(reason)
        there = np.isfinite(self.per_observation)
        found = cluster_bootstrap(self.per_observation[there], there[there], self.episodes[there], scale="log")
        return replace(found, method=f"{found.method}; bias: {self.correction}")

    @cached_property
    def esnr_per_rollout(self) -> Estimate:
        """The same for one imagined sequence: the only number that estimators may be ranked by."""
        each, whole = self.gradients.rollouts_each, self.esnr
        if not whole.is_defined or each == 1:
            return whole
        value, low, high = (None if end is None else end / each for end in (whole.value, whole.low, whole.high))
        return replace(whole, value=value, low=low, high=high)

    @cached_property
    def pooled(self) -> Estimate:
        """All signal over all noise: does not change when actions are rotated, and hardly biased."""
        reason = self.why_no_direction
        if reason:
            return Estimate.undefined(reason)
        return cluster_bootstrap(self.signal.power, self.signal.noise, self.episodes, scale="log")

    @cached_property
    def raw(self) -> float | None:
        """Uncorrected: too high by about 1/S where there is no signal."""
        return self._mean(self.signal.raw)

    @cached_property
    def gaussian(self) -> float | None:
        """Corrected as for normal gradients."""
        return self._mean(self.signal.gaussian)

    @cached_property
    def jackknife(self) -> float | None:
        """Corrected whatever the distribution."""
        return self._mean(self.signal.jackknife)

    @cached_property
    def median(self) -> float | None:
        """Of the observations; far below the mean where a few dominate it."""
        there = self.per_observation[np.isfinite(self.per_observation)]
        return None if self.why_undefined or not len(there) else float(np.median(there))

    @cached_property
    def dominance(self) -> float | None:
        """The share of the sum over observations that the highest one contributes."""
        there = self.per_observation[np.isfinite(self.per_observation)]
        if self.why_undefined or not len(there) or there.sum() <= 0:
            return None
        return min(1.0, float(there.max() / there.sum()))

    @property
    def dead_share(self) -> float:
        """Coordinates whose gradient is always zero."""
        return float(self.signal.dead.mean())

    @property
    def infinite_share(self) -> float:
        """Coordinates with a gradient and no noise."""
        return float(self.signal.infinite.mean())

    @property
    def broken_share(self) -> float:
        """Gradients with a NaN or infinity in them."""
        return self.signal.broken_share

    @property
    def flat_share(self) -> float:
        """Observations from which every action sequence has the same return."""
        return float(self.gradients.flat.mean())

    @property
    def model_steps(self) -> int:
        return self.gradients.model_steps

    @cached_property
    def why_no_direction(self) -> str:
        """Empty where gradients point somewhere."""
        if self.broken_share > MOST_BROKEN:
            return f"{self.broken_share:.1%} of the gradients are NaN or infinite, more than {MOST_BROKEN:.0%}"
        if self.gradients.flat.all() and not self.settings.literal:
            return "the return is the same for every action sequence: there is no gradient to follow"
        dead = self.signal.dead.all() and not self.settings.literal
        return "every gradient is zero (dead), though the return is not always the same" if dead else ""

    @cached_property
    def why_undefined(self) -> str:
        """Empty where there is a ratio."""
        if self.why_no_direction:
            return self.why_no_direction
        if self.settings.literal:
            return ""
        if not self.signal.usable.any():
            return "no gradient has any noise: the ratio is infinite"
        if self.gradients.discrete and self.infinite_share >= MOST_BROKEN:
            share = f"{self.infinite_share:.0%} of the coordinates"
            return f"{share} came out the same in every sample, and their ratios are unknown: go by the pooled ratio"
        return ""

    def _mean(self, ratios: np.ndarray) -> float | None:
        there = self.signal.by_observation(ratios)
        there = there[np.isfinite(there)]
        return None if self.why_undefined or not len(there) else float(there.mean())


def esnr_difference(a: Esnr, b: Esnr) -> Estimate:
    """A - B on the same observations and the same noise."""
    if a.method != b.method or a.settings.described(a.method) != b.settings.described(b.method):
        raise BadInput(f"{a.method} and {b.method} with other settings are other quantities: compare like with like")
    if a.asked != b.asked or not np.array_equal(a.episodes, b.episodes) or not np.array_equal(a.steps, b.steps):
        raise BadInput("a paired difference needs both models at the same observations, objective, actions and mean")
    for one in (a, b):
        if one.why_undefined:
            return Estimate.undefined(f"{one.model}: {one.why_undefined}")
    gaps = a.per_observation - b.per_observation
    there = np.isfinite(gaps)
    if not there.any():
        return Estimate.undefined("no observation has a ratio under both")
    return cluster_bootstrap(gaps[there], there[there], a.episodes[there])


@dataclass(frozen=True, eq=False)
class TrueGradient:
    """The oracle's ESNR by central differences, and the mean gradients by a coarser step."""

    esnr: Esnr
    coarse_means: np.ndarray = field(repr=False)  # [B,D]

    @cached_property
    def resolved(self) -> np.ndarray:
        """Observations at which both step sizes find one direction: bool [B]"""
        return cosines(self.esnr.signal.means, self.coarse_means) >= AGREEMENT


@dataclass(frozen=True, eq=False)
class Alignment:
    """How far a model's mean gradients point the way of the true ones."""

    cosine: Estimate  # the mean over observations where the true direction is resolved
    cosines: np.ndarray = field(repr=False)  # [B], NaN where it is not
    unresolved_share: float

    @property
    def against_share(self) -> float | None:
        """Of the resolved observations, those whose gradient points away from the truth."""
        there = np.isfinite(self.cosines)
        return float((self.cosines[there] < 0).mean()) if there.any() else None


def alignment(found: Esnr, truth: TrueGradient) -> Alignment:
    """Of mean gradients of S samples: their noise alone keeps the cosine below 1. A zero gradient points nowhere: 0."""
    if found.signal.means.shape != truth.esnr.signal.means.shape:
        shapes = f"{found.signal.means.shape} and {truth.esnr.signal.means.shape}"
        raise BadInput(f"alignment needs gradients at the same observations and of the same actions, got {shapes}")
    resolved = truth.resolved
    pointing = np.where(found.signal.dead, 0, found.signal.means)
    angles = np.where(resolved, np.nan_to_num(cosines(pointing, truth.esnr.signal.means)), np.nan)
    unresolved = float(1 - resolved.mean())
    if found.why_no_direction:
        return Alignment(Estimate.undefined(found.why_no_direction), angles, unresolved)
    if found.settings.raw_elite_mean and found.method == "cem":
        return Alignment(Estimate.undefined("a raw elite mean is a place, not a direction"), angles, unresolved)
    if not resolved.any():
        zero = not truth.esnr.signal.means.any() and not truth.coarse_means.any()
        reason = "the slope is zero wherever it is taken: the return jumps, or does not change at all"
        reason = reason if zero else "not resolved: the slope depends on the step it is taken by"
        return Alignment(Estimate.undefined(reason), angles, unresolved)
    clusters = found.episodes[resolved]
    mean = cluster_bootstrap(angles[resolved], np.ones(len(clusters)), clusters, scale="bounded")
    return Alignment(mean, angles, unresolved)


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Of rows [B,D]: [B], NaN where one of them is zero."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    dots = (one * other).sum(axis=1)
    return np.divide(dots, lengths, out=np.full(len(dots), np.nan), where=lengths > 0)
