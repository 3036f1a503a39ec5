"""Choosing among candidates: NaN and infinite costs never win, and the first of equals does."""

import numpy as np

from wmel.arrays import Array, as_like, best_first, copied, float32, namespace_of, pick
from wmel.contract.planner import CandidateCosts, Plan, Remainder


def usable(costs: Array) -> Array:
    """Costs with NaN and both infinities turned into +inf, the worst there is."""
    xp = namespace_of(costs)
    return xp.where(xp.isfinite(costs), costs, xp.inf)


def cheapest(candidates: Array, outcome: CandidateCosts) -> Plan:
    """The first cheapest candidate of each row: candidates [B,N,H,A]."""
    costs = usable(outcome.costs)
    winner = namespace_of(costs).arange(len(costs), device=costs.device), costs.argmin(1)
    return Plan(candidates[winner], outcome.lengths[winner], costs[winner])


def elites(candidates: Array, outcome: CandidateCosts, count: int) -> tuple[Array, Array]:
    """The `count` cheapest candidates of each row [B,count,H,A] and their weights [B,count].

    Usable ones share a weight of 1; the rest have none, so that a row of unusable costs teaches nothing.
    """
    costs = usable(outcome.costs)
    order = best_first(costs)[:, :count]
    counted = float32(namespace_of(costs).isfinite(pick(costs, order)))
    return pick(candidates, order), counted / counted.sum(1).clip(1)[:, None]


def better(held: Plan, challenger: Plan) -> Plan:
    """Row by row the strictly cheaper of two plans; the held one wins ties."""
    xp = namespace_of(held.costs)
    wins = challenger.costs < held.costs
    return Plan(
        xp.where(wins[:, None, None], challenger.actions, held.actions),
        xp.where(wins, challenger.lengths, held.lengths),
        xp.where(wins, challenger.costs, held.costs),
    )


def with_remainder(drawn: Array, previous: Remainder | None, moments: np.ndarray) -> Array:
    """Draws [B,N,K,A] for K moments of the plan, the first of which follows what is left of the last plan."""
    if previous is None:
        return drawn
    drawn = copied(drawn)
    drawn[:, 0] = continued(previous, drawn[:, 0], moments)
    return drawn


def continued(previous: Remainder, otherwise: Array, moments: np.ndarray) -> Array:
    """What is left of each row's last plan at some moments [K] of it, and `otherwise` [B,K,A] where it has run out."""
    left = as_like(moments, otherwise)[None, :] < previous.lengths[:, None]
    return namespace_of(otherwise).where(left[:, :, None], previous.actions[:, moments], otherwise)
