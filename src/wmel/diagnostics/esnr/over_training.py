"""ESNR over the checkpoints of a training: whether its curve has a U-shape, and what it correlates with."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from wmel.errors import BadInput
from wmel.stats.estimate import Estimate
from wmel.stats.means import cluster_bootstrap
from wmel.stats.ranks import partial_spearman, spearman

MIN_CHECKPOINTS = 5  # the lowest, and SIDE on either side
SIDE = 2
ERRORS = 2.0  # standard errors that a difference must exceed
IN_A_ROW = 2  # checkpoints above the minimum that the online rule requires
HALF_WIDTH = 1.959964  # of a 95% interval, in standard errors
MAX_EXPONENT = 50.0  # a larger factor says nothing more
MIN_POINTS = 3  # of a run: the rank correlation of two points is always 1 or -1


class CurveShape(Enum):
    U = "U-shape"
    NONE = "no U-shape"
    TOO_FEW = "too few checkpoints"


@dataclass(frozen=True, eq=False)
class TrainingCurve:
    """One training by one estimator. ESNR 0: every gradient is exactly zero (dead); NaN: unknown, and left out."""

    updates: np.ndarray  # [n] increasing
    esnr: np.ndarray  # [n]
    low: np.ndarray  # [n] of 95% intervals; NaN: no interval
    high: np.ndarray  # [n]

    def __post_init__(self):
        for name in ("updates", "esnr", "low", "high"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        if self.updates.ndim != 1 or len({array.shape for array in vars(self).values()}) > 1:
            raise BadInput("a curve needs updates, ESNR and both ends of its intervals as lists of one length")
        if (np.diff(self.updates) <= 0).any():
            raise BadInput(f"the updates of a curve must increase, got {self.updates.tolist()}")


@dataclass(frozen=True)
class UShape:
    """Whether a curve is a U; `reasons` name the conditions that failed. Falls and rises are natural logarithms."""

    shape: CurveShape
    reasons: tuple[str, ...] = ()
    minimum: int | None = None  # updates of the lowest checkpoint after smoothing
    lowest: float | None = None  # ESNR there; the upper end of an interval that holds 0
    is_near_zero: bool = False  # whether that interval holds 0, so that the true fall and rise are at least these
    fall: float | None = None  # from the highest before
    rise: float | None = None  # to the last


@dataclass(frozen=True, eq=False)
class Levels:
    """Logarithms of the known readings, with their standard errors.

    A reading without an interval, or with an interval below 0 (its noise was overestimated), is left out. A dead one is
    at -inf, without error. One whose interval holds 0 is at the logarithm of its upper end, which understates the depth
    of a minimum; it does not count as anything higher than a minimum.
    """

    updates: np.ndarray  # [m]
    values: np.ndarray  # [m]
    errors: np.ndarray  # [m]
    near_zero: np.ndarray  # [m] bool

    @classmethod
    def of(cls, curve: TrainingCurve) -> "Levels":
        value, low, high = curve.esnr, curve.low, curve.high
        dead, near_zero = value == 0, (value != 0) & (low <= 0) & (high > 0)
        known = np.isfinite(value) & (dead | near_zero | ((value > 0) & np.isfinite(low) & np.isfinite(high)))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(np.where(near_zero, high, value))
            errors = np.where(dead | near_zero, 0.0, (np.log(high) - np.log(low)) / (2 * HALF_WIDTH))
        return cls(curve.updates[known], values[known], errors[known], near_zero[known])

    @cached_property
    def smoothed(self) -> "Levels":
        """The median of 3 neighbours with its error; the first and the last reading stay."""
        place = np.arange(len(self.values))
        if len(place) > 2:
            threes = np.lib.stride_tricks.sliding_window_view(self.values, 3)
            place[1:-1] += np.argsort(threes, axis=1, kind="stable")[:, 1] - 1
        return Levels(self.updates, self.values[place], self.errors[place], self.near_zero[place])

    @property
    def alive(self) -> "Levels":
        """The readings with gradients."""
        alive = self.values > -np.inf
        return Levels(self.updates[alive], self.values[alive], self.errors[alive], self.near_zero[alive])

    def rise(self, bottom: int, place: int) -> "Rise":
        """The difference from one reading to a higher one."""
        if self.near_zero[place] or self.values[place] == -np.inf:
            return Rise(0.0, 0.0, "from or to a reading that cannot be distinguished from 0")
        noise = ERRORS * float(np.hypot(self.errors[place], self.errors[bottom]))
        change = float(self.values[place] - self.values[bottom])
        folds = [f"{np.exp(min(one, MAX_EXPONENT)):.3g}-fold" for one in (change, noise)]
        return Rise(change, noise, f"{folds[0]}, not beyond noise ({folds[1]})")


@dataclass(frozen=True)
class Rise:
    """A difference of logarithms, the noise it must exceed, and a description for where it does not."""

    change: float
    noise: float
    words: str

    @property
    def is_real(self) -> bool:
        return self.change > self.noise


def u_shape(curve: TrainingCurve) -> UShape:
    """Whether smoothed log ESNR falls to its minimum and rises to the last checkpoint, each by more than noise.

    Both differences must exceed 2 sqrt(SE^2 + SE^2), and 2 checkpoints must lie on either side of the minimum.
    """
    levels = Levels.of(curve).smoothed
    count = len(levels.values)
    if count < MIN_CHECKPOINTS:
        return UShape(
            CurveShape.TOO_FEW,
            (f"{count} of {len(curve.esnr)} checkpoints have an ESNR, {MIN_CHECKPOINTS} are needed",),
        )
    bottom = int(np.argmin(levels.values))
    minimum, lowest = int(levels.updates[bottom]), float(np.exp(levels.values[bottom]))
    reasons = []
    if min(bottom, count - 1 - bottom) < SIDE:
        dead = " (0: every gradient is zero there)" if lowest == 0 and not levels.near_zero[bottom] else ""
        sides = f"{bottom} of {count} checkpoints before that and {count - 1 - bottom} after"
        reasons.append(
            f"smoothed, it is lowest after {updates_words(minimum)}{dead}, with {sides}; {SIDE} are needed on each side"
        )
    fall = rise = None
    if bottom:
        before = np.where(levels.near_zero[:bottom], -np.inf, levels.values[:bottom])
        fall = levels.rise(bottom, int(np.argmax(before)))
        reasons += [] if fall.is_real else [f"smoothed, its fall to {updates_words(minimum)} is {fall.words}"]
    if bottom < count - 1:
        rise = levels.rise(bottom, count - 1)
        words = f"smoothed, its rise from {updates_words(minimum)} to the last"
        reasons += [] if rise.is_real else [f"{words} is {rise.words}"]
    changes = (None if one is None else one.change for one in (fall, rise))
    shape, near_zero = CurveShape.NONE if reasons else CurveShape.U, bool(levels.near_zero[bottom])
    return UShape(shape, tuple(reasons), minimum, lowest, near_zero, *changes)


def updates_words(count: int) -> str:
    """A number of updates as text."""
    return f"{count} update" if count == 1 else f"{count} updates"


def left_biased_region(curve: TrainingCurve) -> int | None:
    """The online rule: updates at which ESNR is above its minimum so far for the second checkpoint in a row.

    Above means by two standard errors of the difference. Nothing is smoothed, and no later checkpoint is used. Dead
    checkpoints are skipped: without gradients there is no biased region to leave.
    """
    levels, bottom, row = Levels.of(curve).alive, 0, 0
    for place in range(1, len(levels.values)):
        row = row + 1 if levels.rise(bottom, place).is_real else 0
        if row == IN_A_ROW:
            return int(levels.updates[place])
        if levels.values[place] < levels.values[bottom]:
            bottom = place
    return None


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two numbers at each checkpoint of a training."""

    updates: np.ndarray  # [n]
    one: np.ndarray  # [n]
    other: np.ndarray  # [n]

    def since(self, updates: int | None) -> "Pairs":
        """The pairs without NaN from a number of updates on; None: from the first."""
        known = np.isfinite(self.one) & np.isfinite(self.other)
        known &= self.updates >= (-np.inf if updates is None else updates)
        return Pairs(self.updates[known], self.one[known], self.other[known])


@dataclass(frozen=True)
class Correlation:
    """Means over trainings of the rank correlations within each; an interval needs 3 trainings."""

    rho: Estimate
    partial: Estimate  # given the updates, whose logarithm has the same ranks
    by_run: tuple[Estimate, ...]


def correlation(runs: Sequence[Pairs]) -> Correlation:
    """The rank correlation of two numbers within each training; ESNR and its logarithm have the same ranks."""
    plain, partial = [], []
    for known in (run.since(None) for run in runs):
        count = len(known.one)
        if count < MIN_POINTS:
            few = Estimate.undefined(f"fewer than {MIN_POINTS} checkpoints have both numbers", n=count)
            plain, partial = [*plain, few], [*partial, few]
        else:
            plain.append(spearman(known.one.tolist(), known.other.tolist()))
            partial.append(partial_spearman(known.one.tolist(), known.other.tolist(), known.updates.tolist()))
    return Correlation(_mean_over_runs(plain), _mean_over_runs(partial), tuple(plain))


def _mean_over_runs(found: Sequence[Estimate]) -> Estimate:
    known = np.array([one.value for one in found if one.value is not None])
    if not len(known):
        return Estimate.undefined(found[0].reason if found else "there are no runs")
    return cluster_bootstrap(known, np.ones(len(known)), np.arange(len(known)), scale="bounded")
