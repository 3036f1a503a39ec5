"""The effective planning horizon H*: the shortest lookahead that a longer one does not beat."""

from collections.abc import Sequence
from dataclasses import dataclass

from wmel.analysis.scorecard import Scorecard
from wmel.errors import BadInput, require
from wmel.stats.estimate import Estimate


@dataclass(frozen=True)
class HorizonSweep:
    """A policy's scorecards at several planning horizons, shortest first."""

    policy_name: str
    plan_horizons: tuple[int, ...]
    scorecards: tuple[Scorecard, ...]
    epsilon: float = 0.01

    @property
    def effective_horizon(self) -> Estimate:
        """H* by the documents' rule."""
        rates = [card["success_rate"].value or 0.0 for card in self.scorecards]
        return effective_horizon(self.plan_horizons, rates, self.epsilon)


def effective_horizon(plan_horizons: Sequence[int], success_rates: Sequence[float], epsilon: float = 0.01) -> Estimate:
    """The documents' rule: the smallest H with success(H') - success(H) <= epsilon for every longer H'."""
    require(0 <= epsilon < 1, "epsilon must lie in [0, 1)", epsilon)
    if len(plan_horizons) != len(success_rates) or not plan_horizons:
        raise BadInput(f"H* needs one success rate per horizon, got {len(plan_horizons)} and {len(success_rates)}")
    points = sorted(zip(plan_horizons, success_rates, strict=True))
    if max(success_rates) == 0:
        return Estimate.undefined("no horizon ever succeeded")
    shortest = next(
        horizon
        for index, (horizon, rate) in enumerate(points)
        if all(longer - rate <= epsilon for _, longer in points[index + 1 :])
    )
    return Estimate(float(shortest), n=len(points), method=f"documents' rule, epsilon {epsilon:g}")
