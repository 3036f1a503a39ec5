"""One launch speed: the ESNR of every gradient estimator over the angles, and how gradient ascent with it fares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch

from wmel.diagnostics.ceiling_bounce.problem import Landscape, landscape, launch_model
from wmel.diagnostics.esnr.measure import esnr
from wmel.diagnostics.esnr.result import Esnr
from wmel.diagnostics.esnr.sampling import MIN_SAMPLES
from wmel.errors import BadInput, is_number, require, require_whole
from wmel.machine import limit_blas_threads
from wmel.stats.estimate import Estimate, mean, wilson
from wmel.stats.ranks import spearman

ANGLES = np.round(np.linspace(-0.2, 1.2, 141), 2)  # radians
REACHED = 0.95  # share of the greatest height at which an ascent has arrived
MAX_SPEED, MAX_SEEDS = 100.0, 100_000
LAUNCHES = 64  # per step of an ascent, for every estimator
SIGMA = 0.03  # radians
LAUNCHES_AT_A_TIME = 1 << 16
ITERATIONS = 20
RATE = 0.05  # of Adam


@dataclass(frozen=True)
class Estimator:
    """An estimator of ESNR and its name in the figures; `settings` are those of EsnrSettings."""

    name: str
    method: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        """Gradients per angle: enough for a ratio that is stable to a few percent."""
        return 512 if self.by_population else 4096

    @property
    def by_population(self) -> bool:
        """Whether one gradient uses all launches of a step."""
        return self.method == "cem"

    def ratios(self, speed: float, angles: np.ndarray, **settings: Any) -> Esnr:
        """The ESNR at angles [n], one observation per angle."""
        return self._measure(speed, angles, samples=self.samples, noise_seed=0, **settings)

    def gradient(self, speed: float, angles: np.ndarray, iteration: int) -> np.ndarray:
        """One gradient from 64 launches around each of angles [n]: [n]; the noise depends on row and iteration."""
        samples = MIN_SAMPLES if self.by_population else LAUNCHES
        samples_by_angle = self._measure(speed, angles, samples=samples, noise_seed=iteration).gradients.samples[..., 0]
        return samples_by_angle[:, 0] if self.by_population else samples_by_angle.mean(axis=1)

    def _measure(self, speed: float, angles: np.ndarray, **settings: Any) -> Esnr:
        options = {"sigma": SIGMA, "population": LAUNCHES, "rows": LAUNCHES_AT_A_TIME, **self.settings, **settings}
        centre, observations = np.reshape(angles, (-1, 1, 1)), np.zeros((len(angles), 1))
        with limit_blas_threads():
            return esnr(launch_model(speed), observations, self.method, mean=centre, **options)


FIRST_ORDER = Estimator("FoG", "fog")


ESTIMATORS = (
    FIRST_ORDER,
    Estimator("CEM 8/64", "cem", {"elites": 8}),
    Estimator("CEM 16/64", "cem", {"elites": 16}),
    Estimator("CEM 32/64", "cem", {"elites": 32}),
    Estimator("ZoG leave-one-out", "zog"),
    Estimator("ZoG no baseline", "zog", {"baseline": "none"}),
    Estimator("MPPI", "cem", {"elites": LAUNCHES, "temperature": 1.0}),
)
STEPS = len(ESTIMATORS) * (ITERATIONS + 2)  # the total that `progress` counts to


def ascend(
    estimator: Estimator, speed: float, seeds: int, progress: Callable[[float], None] = lambda iterations: None
) -> np.ndarray:
    """Angles of gradient ascents from 0: [iterations + 1, seeds]; seeds are independent, as Adam works elementwise."""
    angles = torch.zeros(seeds, dtype=torch.float64)
    adam, path = torch.optim.Adam([angles], lr=RATE, maximize=True), [np.zeros(seeds)]
    for iteration in range(ITERATIONS):
        angles.grad = torch.as_tensor(estimator.gradient(speed, path[-1], 1 + iteration))
        adam.step()
        path.append(angles.numpy().copy())
        progress(1)
    return np.stack(path)


@dataclass(frozen=True, eq=False)
class PanelReading:
    """The results of one estimator at one speed."""

    name: str
    ratios: np.ndarray  # [angles] ESNR per launch
    literal: float  # as in the ESNR paper: raw elite mean, per gradient, no bias correction
    right_sign: Estimate  # share of angles near the contact where the mean gradient has the true sign
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
        """The same per gradient from 64 launches."""
        return LAUNCHES * self.mean

    @cached_property
    def speed_of_ascent(self) -> Estimate:
        """AUC: the mean height over iterations, then over seeds."""
        return mean(self.heights[1:].mean(axis=0))

    @cached_property
    def reached(self) -> Estimate:
        """Share of seeds of which any iterate has 95% of the greatest height."""
        arrived = (self.heights >= REACHED).any(axis=0)
        return wilson(int(arrived.sum()), self.heights.shape[1])

    @cached_property
    def median_iterations(self) -> Estimate:
        """Median number of iterations to 95% of the greatest height; seeds that never arrive count as infinite."""
        arrived = self.heights >= REACHED
        firsts = np.asarray(np.where(arrived.any(axis=0), arrived.argmax(axis=0), np.inf))
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
        """Spearman's correlation of ESNR per launch with the speed of ascent."""
        chosen = self.readings if readings is None else readings
        return spearman([one.mean for one in chosen], [one.speed_of_ascent.value or 0.0 for one in chosen])

    @property
    def without_first_order(self) -> tuple[PanelReading, ...]:
        return tuple(one for one in self.readings if one.name != FIRST_ORDER.name)


def measure_panel(speed: float, seeds: int = 300, *, progress: Callable[[float], None] = lambda steps: None) -> Panel:
    """Measure every estimator at a launch speed (m/s); `progress` counts to STEPS."""
    check_launch(speed, seeds)
    truth = landscape(speed, SIGMA)
    return Panel(truth, ANGLES, tuple(_measure(one, truth, seeds, progress) for one in ESTIMATORS))


def check_launch(speed: float, seeds: int) -> None:
    """Raises BadInput for a speed or a number of seeds that cannot be measured."""
    require(is_number(speed) and 0 < speed <= MAX_SPEED, f"a launch speed must lie in (0, {MAX_SPEED:g}] m/s", speed)
    require_whole(seeds, "the number of seeds")
    require(seeds <= MAX_SEEDS, f"there are at most {MAX_SEEDS} seeds", seeds)


def _measure(estimator: Estimator, truth: Landscape, seeds: int, progress: Callable[[float], None]) -> PanelReading:
    measured = estimator.ratios(truth.speed, ANGLES)
    if measured.why_undefined:
        raise BadInput(f"{estimator.name} has no ESNR at {truth.speed:g} m/s: {measured.why_undefined}")
    progress(1)
    literal = estimator.ratios(truth.speed, ANGLES, literal=True, raw_elite_mean=True)
    progress(1)
    climbed = ascend(estimator, truth.speed, seeds, progress)
    return PanelReading(
        estimator.name,
        measured.per_observation / measured.gradients.rollouts_each,
        float(literal.per_observation.mean()),
        _right_sign(measured.signal.means[:, 0], truth),
        truth.smoothed_at(climbed) / truth.best_smoothed,
    )


def _right_sign(means: np.ndarray, truth: Landscape) -> Estimate:
    near = truth.near_contact(ANGLES)
    if not near.any():
        return Estimate.undefined("the ball never hits the ceiling at this speed")
    same = np.sign(means[near]) == np.sign(truth.slope_at(ANGLES[near]))
    return Estimate(float(same.mean()), n=int(near.sum()))
