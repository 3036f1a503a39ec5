"""ESNR over the checkpoints of a training: whether it falls and rises again, and what it rises together with."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from wmel.errors import BadInput
from wmel.stats.bootstrap import cluster_bootstrap
from wmel.stats.estimate import Estimate
from wmel.stats.ranks import partial_spearman, spearman

FEWEST = 5  # checkpoints: the lowest, and SIDE on either side
SIDE = 2
ERRORS = 2.0  # standard errors that a difference must exceed
IN_A_ROW = 2  # checkpoints that the online rule waits for
HALF_WIDTH = 1.959964  # of a 95% interval, in standard errors
LARGEST = 50.0  # of an exponent: past that a factor says nothing more
FEWEST_POINTS = 3  # of a run: two checkpoints always go together or against each other


class CurveShape(Enum):
    U = "U-shape"
    NONE = "no U-shape"
    TOO_FEW = "too few checkpoints"


@dataclass(frozen=True, eq=False)
class TrainingCurve:
    """One run by one estimator. ESNR 0: every gradient is exactly zero (dead); NaN: unknown, and left out."""

    updates: np.ndarray  # [n] rising
    esnr: np.ndarray  # [n]
    low: np.ndarray  # [n] of 95% intervals; NaN: there is none
    high: np.ndarray  # [n]

    def __post_init__(self):
        for name in ("updates", "esnr", "low", "high"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        if self.updates.ndim != 1 or len({array.shape for array in vars(self).values()}) > 1:
            raise BadInput("a curve needs updates, ESNR and both ends of its intervals as lists of one length")
        if (np.diff(self.updates) <= 0).any():
            raise BadInput(f"the updates of a curve must rise, got {self.updates.tolist()}")


@dataclass(frozen=True)
class UShape:
    """The answer; `reasons` say which conditions failed. Falls and rises are natural logarithms."""

    shape: CurveShape
    reasons: tuple[str, ...] = ()
    minimum: int | None = None  # updates of the lowest checkpoint once smoothed
    lowest: float | None = None  # ESNR there
    fall: float | None = None  # from the highest before
    rise: float | None = None  # to the last


@dataclass(frozen=True, eq=False)
class Levels:
    """Logarithms of the readings that are known, and how far each can be trusted.

    One without an interval, or all below 0 (its noise was overestimated), is left out.
    Dead ones are at -inf, without error. One whose interval holds 0 is at the logarithm of its upper end: as a minimum
    that understates the depth, and as anything higher than a minimum it does not count.
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
        """The median of 3 neighbours, with the error of the reading it is; the first and the last stay."""
        place = np.arange(len(self.values))
        if len(place) > 2:
            threes = np.lib.stride_tricks.sliding_window_view(self.values, 3)
            place[1:-1] += np.argsort(threes, axis=1, kind="stable")[:, 1] - 1
        return Levels(self.updates, self.values[place], self.errors[place], self.near_zero[place])

    @property
    def alive(self) -> "Levels":
        """Those with gradients."""
        there = self.values > -np.inf
        return Levels(self.updates[there], self.values[there], self.errors[there], self.near_zero[there])

    def rise(self, least: int, place: int) -> "Rise":
        """From one reading to a higher one."""
        if self.near_zero[place] or self.values[place] == -np.inf:
            return Rise(0.0, 0.0, "from or to a reading that is not told from 0")
        noise = ERRORS * float(np.hypot(self.errors[place], self.errors[least]))
        change = float(self.values[place] - self.values[least])
        folds = [f"{np.exp(min(one, LARGEST)):.3g}-fold" for one in (change, noise)]
        return Rise(change, noise, f"{folds[0]}, not beyond noise ({folds[1]})")


@dataclass(frozen=True)
class Rise:
    """A difference of logarithms, what it must exceed to be one, and words for where it does not."""

    change: float
    noise: float
    words: str

    @property
    def is_real(self) -> bool:
        return self.change > self.noise


def u_shape(curve: TrainingCurve) -> UShape:
    """A U only if smoothed log ESNR falls to its minimum and rises to the last checkpoint, each by more than noise.

    Both differences must exceed 2 sqrt(SE^2 + SE^2), and 2 checkpoints must lie on either side of the minimum.
    """
    levels = Levels.of(curve).smoothed
    count = len(levels.values)
    if count < FEWEST:
        return UShape(
            CurveShape.TOO_FEW, (f"{count} of {len(curve.esnr)} checkpoints have an ESNR, {FEWEST} are needed",)
        )
    least = int(np.argmin(levels.values))
    minimum, lowest = int(levels.updates[least]), float(np.exp(levels.values[least]))
    reasons = []
    if min(least, count - 1 - least) < SIDE:
        dead = " (0: every gradient is zero there)" if lowest == 0 and not levels.near_zero[least] else ""
        sides = f"{least} of {count} checkpoints before that and {count - 1 - least} after"
        reasons.append(f"it is lowest at {minimum} updates{dead}, with {sides}; {SIDE} are needed on each side")
    fall = rise = None
    if least:
        before = np.where(levels.near_zero[:least], -np.inf, levels.values[:least])
        fall = levels.rise(least, int(np.argmax(before)))
        reasons += [] if fall.is_real else [f"its fall to {minimum} updates is {fall.words}"]
    if least < count - 1:
        rise = levels.rise(least, count - 1)
        reasons += [] if rise.is_real else [f"its rise from {minimum} updates to the last is {rise.words}"]
    changes = (None if one is None else one.change for one in (fall, rise))
    return UShape(CurveShape.NONE if reasons else CurveShape.U, tuple(reasons), minimum, lowest, *changes)


def left_biased_region(curve: TrainingCurve) -> int | None:
    """The online rule: updates at which ESNR is above its minimum so far for the second checkpoint in a row.

    Above by two standard errors of the difference; nothing is smoothed and nothing later is looked at. Dead checkpoints
    are passed over: without gradients there is no biased region to leave.
    """
    levels, least, row = Levels.of(curve).alive, 0, 0
    for place in range(1, len(levels.values)):
        row = row + 1 if levels.rise(least, place).is_real else 0
        if row == IN_A_ROW:
            return int(levels.updates[place])
        if levels.values[place] < levels.values[least]:
            least = place
    return None


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two numbers at each checkpoint of a run; pairs with a NaN are left out."""

    updates: np.ndarray  # [n]
    one: np.ndarray  # [n]
    other: np.ndarray  # [n]

    def since(self, updates: int | None) -> "Pairs":
        """What is known from a number of updates on; None: all of it."""
        kept = np.isfinite(self.one) & np.isfinite(self.other)
        kept &= self.updates >= (-np.inf if updates is None else updates)
        return Pairs(self.updates[kept], self.one[kept], self.other[kept])


@dataclass(frozen=True)
class Correlation:
    """Means over runs of rank correlations within each; intervals are over runs, and need 3 of them."""

    rho: Estimate
    partial: Estimate  # given the updates: ranks of these and of their logarithm are the same
    by_run: tuple[Estimate, ...]


def correlation(runs: Sequence[Pairs]) -> Correlation:
    """How two numbers go together within runs. Ranks of ESNR and of its logarithm are the same, and 0 has one."""
    plain, partial = [], []
    for known in (run.since(None) for run in runs):
        count = len(known.one)
        if count < FEWEST_POINTS:
            few = Estimate.undefined(f"fewer than {FEWEST_POINTS} checkpoints have both numbers", n=count)
            plain, partial = [*plain, few], [*partial, few]
        else:
            plain.append(spearman(known.one.tolist(), known.other.tolist()))
            partial.append(partial_spearman(known.one.tolist(), known.other.tolist(), known.updates.tolist()))
    return Correlation(_over_runs(plain), _over_runs(partial), tuple(plain))


def _over_runs(found: Sequence[Estimate]) -> Estimate:
    known = np.array([one.value for one in found if one.value is not None])
    if not len(known):
        return Estimate.undefined(found[0].reason if found else "there are no runs")
    return cluster_bootstrap(known, np.ones(len(known)), np.arange(len(known)), scale="bounded")
