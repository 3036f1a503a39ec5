"""Where gradients point: the cosine with the true dynamics' own slope, which is what sees bias.

The slope is pathwise: of a return that jumps it is the slope between jumps.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wmel.diagnostics.esnr.result import Esnr
from wmel.errors import BadInput
from wmel.stats.bootstrap import cluster_bootstrap
from wmel.stats.estimate import Estimate

AGREEMENT = 0.95  # of the directions by two step sizes, below which the truth is not resolved


@dataclass(frozen=True, eq=False)
class TrueGradient:
    """The oracle's ESNR by central differences, and the mean gradients by a coarser step."""

    esnr: Esnr
    coarse_means: np.ndarray  # [B,D]

    @cached_property
    def resolved(self) -> np.ndarray:
        """Observations at which both step sizes find one direction: bool [B]"""
        return cosines(self.esnr.signal.means, self.coarse_means) >= AGREEMENT


@dataclass(frozen=True, eq=False)
class Alignment:
    """How far a model's mean gradients point the way of the true ones."""

    cosine: Estimate  # the mean over observations where the true direction is resolved
    cosines: np.ndarray  # [B], NaN where it is not
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
