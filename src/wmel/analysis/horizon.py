"""The effective planning horizon H*: the shortest lookahead that a longer one does not beat."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wmel.analysis.horizon_set import check_epsilon, horizon_set
from wmel.analysis.scorecard import Scorecard
from wmel.errors import BadInput, require
from wmel.stats.estimate import Estimate

ROUNDING = 1e-12  # 1 - 495/500 is .01, and a little more in floating point


@dataclass(frozen=True)
class HorizonSweep:
    """A policy's scorecards at several planning horizons, shortest first."""

    policy_name: str
    plan_horizons: tuple[int, ...]  # 0 where a policy has none
    scorecards: tuple[Scorecard, ...]
    epsilon: float = 0.01
    successes: tuple[np.ndarray, ...] = ()  # outcomes [n] of the same seeds at each horizon
    others: tuple[str, ...] = ()  # settings that are swept instead of the planning horizon, or beside it

    @property
    def effective_horizon(self) -> Estimate:
        """H* by the documents' rule, with the horizons the data cannot rule out as its bounds."""
        if self.others:
            return Estimate.undefined(f"swept is {', '.join(self.others)}, not the planning horizon alone")
        rates = [rate for card in self.scorecards if (rate := card["success_rate"].value) is not None]
        if len(rates) < len(self.scorecards):
            return Estimate.undefined("a horizon has no success rate")
        point = effective_horizon(self.plan_horizons, rates, self.epsilon)
        if not self.successes or not point.is_defined:
            return point
        low, high = horizon_set(self.plan_horizons, self.successes, self.epsilon)
        return replace(point, low=float(low), high=float(high))


def effective_horizon(plan_horizons: Sequence[int], success_rates: Sequence[float], epsilon: float = 0.01) -> Estimate:
    """The documents' rule: the smallest H with success(H') - success(H) <= epsilon for every longer H'."""
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
    return Estimate(float(shortest), n=len(points), method=f"documents' rule, epsilon {epsilon:g}")
