"""Where gradients point: the cosine with the true dynamics' own, which is what sees bias."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from wmel.diagnostics.esnr.result import Esnr
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

    @property
    def unresolved_share(self) -> float:
        return float(1 - self.resolved.mean())


def alignment(found: Esnr, truth: TrueGradient) -> Estimate:
    """The mean cosine over observations where the true direction is resolved; a gradient of zero points nowhere: 0."""
    if found.why_undefined:
        return Estimate.undefined(found.why_undefined)
    if found.settings.raw_elite_mean and found.method == "cem":
        return Estimate.undefined("a raw elite mean is a place, not a direction")
    there = truth.resolved
    if not there.any():
        return Estimate.undefined("not resolved: the true gradient depends on the step it is taken by")
    angles = np.nan_to_num(cosines(found.signal.means, truth.esnr.signal.means))
    mean = cluster_bootstrap(angles[there], there[there], found.episodes[there])
    low, high = (None if end is None else float(np.clip(end, -1, 1)) for end in (mean.low, mean.high))
    return replace(mean, low=low, high=high)


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Of rows [B,D]: [B], NaN where one of them is zero."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    dots = (one * other).sum(axis=1)
    return np.divide(dots, lengths, out=np.full(len(dots), np.nan), where=lengths > 0)
