"""The effective planning horizon H* of a sweep, and its confidence set."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from wmel.analysis.scorecard import Scorecard
from wmel.errors import BadInput, is_number, require
from wmel.stats.estimate import Estimate
from wmel.stats.paired import PairedCounts, tango

ROUNDING = 1e-12  # 1 - 495/500 is .01, and a little more in floating point


@dataclass(frozen=True)
class HorizonSweep:
    """The scorecards of a policy at several planning horizons, shortest first."""

    policy_name: str
    plan_horizons: tuple[int, ...]  # 0 for a policy without one
    scorecards: tuple[Scorecard, ...]
    epsilon: float = 0.01
    successes: tuple[np.ndarray, ...] = ()  # outcomes [n] of the same seeds at each horizon
    others: tuple[str, ...] = ()  # other swept settings

    def __repr__(self) -> str:
        value = self.effective_horizon.value
        horizon = "n/a" if value is None else f"{value:.0f}"
        return f"HorizonSweep({self.policy_name}, {len(self.scorecards)} points, effective horizon {horizon})"

    @property
    def effective_horizon(self) -> Estimate:
        """H* by the rule of the wmel 0.18 repository, with the bounds of its confidence set."""
        if self.others:
            return Estimate.undefined(f"swept is {', '.join(self.others)}, not the planning horizon alone")
        if 0 in self.plan_horizons:
            return Estimate.undefined("the policy has no planning horizon")
        rates = [rate for card in self.scorecards if (rate := card["success_rate"].value) is not None]
        if len(rates) < len(self.scorecards):
            return Estimate.undefined("a horizon has no success rate")
        point = effective_horizon(self.plan_horizons, rates, self.epsilon)
        if not self.successes or not point.is_defined:
            return point
        low, high = horizon_set(self.plan_horizons, self.successes, self.epsilon)
        return replace(point, low=float(low), high=float(high))


def effective_horizon(plan_horizons: Sequence[int], success_rates: Sequence[float], epsilon: float = 0.01) -> Estimate:
    """H* by the rule of the wmel 0.18 repository.

    It is the smallest H with success(H') - success(H) <= epsilon for every longer H'.
    """
    check_epsilon(epsilon)
    require(all(0 <= rate <= 1 for rate in success_rates), "success rates must lie in [0, 1]", list(success_rates))
    if len(plan_horizons) != len(success_rates) or not plan_horizons:
        raise BadInput(f"H* needs one success rate per horizon, got {len(plan_horizons)} and {len(success_rates)}")
    points = sorted(zip(plan_horizons, success_rates, strict=True))
    if max(success_rates) == 0:
        return Estimate.undefined("no horizon ever succeeded")
    shortest = next(
        horizon
        for index, (horizon, rate) in enumerate(points)
        if all(longer - rate <= epsilon + ROUNDING for _, longer in points[index + 1 :])
    )
    return Estimate(float(shortest), n=len(points), method=f"rule of the wmel 0.18 repository, epsilon {epsilon:g}")


def horizon_set(plan_horizons: Sequence[int], successes: Sequence[np.ndarray], epsilon: float) -> tuple[int, int]:
    """The confidence set [H_lo, H_hi] of H*, from outcomes [n] of the same seeds at each horizon, shortest first.

    H_hi is found from the longest horizon downwards. It is the last horizon at which every longer one adds at most
    epsilon, each by a one-sided 2.5% test in this fixed order. H_lo is the first horizon at which no longer one adds
    more than epsilon, by one-sided tests that share 2.5%.
    """
    check_epsilon(epsilon)
    if len(plan_horizons) != len(successes):
        raise BadInput(f"a horizon set needs outcomes per horizon, got {len(plan_horizons)} and {len(successes)}")
    if any(longer <= shorter for shorter, longer in pairwise(plan_horizons)):
        raise BadInput(f"a horizon set needs distinct horizons, shortest first, got {list(plan_horizons)}")
    if not plan_horizons or len({len(outcomes) for outcomes in successes}) != 1:
        raise BadInput("a horizon set needs the outcomes of the same seeds at every horizon")
    indices, highest = range(len(plan_horizons)), len(plan_horizons) - 1
    while highest > 0 and _is_enough(successes, highest - 1, epsilon):
        highest -= 1
    lowest = next(index for index in indices if not _is_too_short(successes, index, epsilon))
    return plan_horizons[lowest], plan_horizons[max(highest, lowest)]


def check_epsilon(epsilon: float) -> None:
    """Raises BadInput unless epsilon is in [0, 1)."""
    require(is_number(epsilon) and 0 <= epsilon < 1, "epsilon must lie in [0, 1)", epsilon)


def _is_enough(successes: Sequence[np.ndarray], index: int, epsilon: float) -> bool:
    """Whether every longer horizon significantly adds at most epsilon."""
    return all(_gain(successes, index, longer, 0.95)[1] <= epsilon for longer in range(index + 1, len(successes)))


def _is_too_short(successes: Sequence[np.ndarray], index: int, epsilon: float) -> bool:
    """Whether a longer horizon significantly adds more than epsilon."""
    longer = range(index + 1, len(successes))
    return any(_gain(successes, index, one, 1 - 0.05 / len(longer))[0] > epsilon for one in longer)


def _gain(successes: Sequence[np.ndarray], index: int, longer: int, confidence: float) -> tuple[float, float]:
    """The interval of the difference in success between a longer horizon and another."""
    low, high = tango(PairedCounts.of(successes[longer], successes[index]), confidence=confidence)
    return float(low), float(high)
