"""One launch speed: the ESNR of every estimator over the angles, how it ascends, and whether it points right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wmel.diagnostics.ceiling_bounce.estimators import (
    ESTIMATORS,
    FIRST_ORDER,
    ITERATIONS,
    LAUNCHES,
    SIGMA,
    Estimator,
    ascents,
)
from wmel.diagnostics.ceiling_bounce.problem import Landscape, landscape
from wmel.errors import BadInput, is_number, require, require_whole
from wmel.stats.estimate import Estimate, mean_normal
from wmel.stats.proportions import wilson
from wmel.stats.ranks import spearman

ANGLES = np.round(np.linspace(-0.2, 1.2, 141), 2)  # radians
REACHED = 0.95  # of the height that can be
FASTEST, MOST_SEEDS = 100.0, 100_000
STEPS = len(ESTIMATORS) * (ITERATIONS + 2)  # that `progress` counts


@dataclass(frozen=True, eq=False)
class PanelReading:
    """What one estimator did at one speed."""

    name: str
    ratios: np.ndarray  # [angles] ESNR per launch
    literal: float  # the paper's number: raw elite mean, as many launches as a gradient takes, nothing corrected
    right_sign: Estimate  # share of angles near the contact at which the mean gradient has the true sign
    heights: np.ndarray  # [iterations + 1, seeds] mean distance under noise as a share of the longest, start included

    @property
    def mean(self) -> float:
        """ESNR per launch: the mean over angles, which a few of them dominate."""
        return float(np.nanmean(self.ratios))

    @property
    def median(self) -> float:
        return float(np.nanmedian(self.ratios))

    @property
    def per_population(self) -> float:
        """The same for a gradient made of 64 launches."""
        return LAUNCHES * self.mean

    @cached_property
    def speed_of_ascent(self) -> Estimate:
        """AUC: the mean height over iterations, then over seeds."""
        return mean_normal(self.heights[1:].mean(axis=0))

    @cached_property
    def reached(self) -> Estimate:
        """Share of seeds of which any iterate has 95% of the height that can be reached."""
        there = (self.heights >= REACHED).any(axis=0)
        return wilson(int(there.sum()), self.heights.shape[1])

    @cached_property
    def median_iterations(self) -> Estimate:
        """Until then; seeds that never get there count as longer than any."""
        there = self.heights >= REACHED
        firsts = np.asarray(np.where(there.any(axis=0), there.argmax(axis=0), np.inf))
        middle = float(np.sort(firsts)[(len(firsts) - 1) // 2])
        if np.isinf(middle):
            return Estimate.undefined(f"fewer than half of the seeds reach {REACHED:.0%}")
        return Estimate(middle, n=len(firsts))


@dataclass(frozen=True, eq=False)
class Panel:
    """All estimators at one speed."""

    landscape: Landscape
    angles: np.ndarray
    readings: tuple[PanelReading, ...]

    @property
    def speed(self) -> float:
        return self.landscape.speed

    @property
    def first_order(self) -> PanelReading:
        return next(one for one in self.readings if one.name == FIRST_ORDER.name)

    @property
    def seeds(self) -> int:
        return self.readings[0].heights.shape[1]

    def correlation(self, readings: Sequence[PanelReading] | None = None) -> Estimate:
        """Spearman's, of ESNR per launch and speed of ascent."""
        chosen = self.readings if readings is None else readings
        return spearman([one.mean for one in chosen], [one.speed_of_ascent.value or 0.0 for one in chosen])

    @property
    def without_first_order(self) -> tuple[PanelReading, ...]:
        return tuple(one for one in self.readings if one.name != FIRST_ORDER.name)


def panel(speed: float, seeds: int = 300, *, progress: Callable[[float], None] = lambda steps: None) -> Panel:
    """Measure every estimator at a launch speed (m/s); `progress` counts to STEPS."""
    check(speed, seeds)
    truth = landscape(speed, SIGMA)
    return Panel(truth, ANGLES, tuple(_reading(one, truth, seeds, progress) for one in ESTIMATORS))


def check(speed: float, seeds: int) -> None:
    """Refuse what cannot be measured."""
    require(is_number(speed) and 0 < speed <= FASTEST, f"a launch speed must lie in (0, {FASTEST:g}] m/s", speed)
    require_whole(seeds, "the number of seeds")
    require(seeds <= MOST_SEEDS, f"there are at most {MOST_SEEDS} seeds", seeds)


def _reading(estimator: Estimator, truth: Landscape, seeds: int, progress: Callable[[float], None]) -> PanelReading:
    found = estimator.ratios(truth.speed, ANGLES)
    if found.why_undefined:
        raise BadInput(f"{estimator.name} has no ESNR at {truth.speed:g} m/s: {found.why_undefined}")
    progress(1)
    literal = estimator.ratios(truth.speed, ANGLES, literal=True, raw_elite_mean=True)
    progress(1)
    climbed = ascents(estimator, truth.speed, seeds, progress)
    return PanelReading(
        estimator.name,
        found.per_observation / found.gradients.rollouts_each,
        float(literal.per_observation.mean()),
        _right_sign(found.signal.means[:, 0], truth),
        truth.smoothed_at(climbed) / truth.best_smoothed,
    )


def _right_sign(means: np.ndarray, truth: Landscape) -> Estimate:
    near = truth.near_contact(ANGLES)
    if not near.any():
        return Estimate.undefined("the ball never meets the ceiling at this speed")
    same = np.sign(means[near]) == np.sign(truth.slope_at(ANGLES[near]))
    return Estimate(float(same.mean()), n=int(near.sum()))
