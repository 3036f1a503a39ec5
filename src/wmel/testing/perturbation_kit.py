"""What every perturbation promises."""

from typing import Any

import numpy as np

from wmel import catalog
from wmel.closed_loop.run import run_episodes
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery, Disturbance, PendingStep, Perturbation
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams
from wmel.schema import OUTCOMES, EpisodeTable
from wmel.testing.environment_kit import walked_states
from wmel.testing.findings import Finding, findings

SEEDS = np.arange(30)


def check_perturbation(
    perturbation: Perturbation, environment: Environment, at_zero: Perturbation | None = None
) -> list[Finding]:
    """It is a function of row, moment and streams, keeps to its schedule, and does nothing at strength 0."""
    perturbation.check(environment)
    kit = _PerturbationKit(perturbation, environment, at_zero)
    return findings(kit, [_same_draws, _independent, _identity, _spares, _repeats, _blocks])


class _PerturbationKit:
    """A perturbation in a world, with moments to strike at."""

    def __init__(self, perturbation: Perturbation, environment: Environment, at_zero: Perturbation | None):
        self.perturbation, self.environment, self.at_zero = perturbation, environment, at_zero
        self.states, space = walked_states(environment), environment.spec.actions
        self.rows = np.arange(len(self.states))
        drawn = Streams(self.rows, self.rows).uniforms("act", (5, space.width))[0]
        self.queue = uniform_actions(space, drawn)
        self.lengths = 1 + self.rows % 5

    def effects(self, perturbation: Perturbation, rows: np.ndarray) -> list[np.ndarray]:
        """What it makes of some rows: their observations, moment, and the action that arrives."""
        streams, since = Streams(rows, rows + 3), np.zeros(len(rows), int)
        seen = perturbation.sense(self.environment.observe(self.states[rows]).astype(np.float32), since, streams)
        moment = PendingStep(self.states[rows], self.queue[rows], self.lengths[rows], self.queue[rows, 0], since)
        after = perturbation.strike(self.environment, moment, streams)
        used = np.arange(after.queue.shape[1]) < after.lengths[:, None]
        carried = perturbation.carry(self.environment, len(rows))
        arrived = perturbation.deliver(self.environment, Delivery(self.queue[rows, 0], since, carried))
        return [seen, after.states, np.where(used[..., None], after.queue, 0), after.lengths, arrived.actions]

    def run(self, perturbation: Perturbation | None, probability: float, **options: Any) -> EpisodeTable:
        """Episodes of a planner that sees what is sensed and makes plans of many lengths."""
        policy = catalog.policy("random-shooting", self.environment, plan_horizon=8, candidates=12)
        disturbance = None if perturbation is None else Disturbance(perturbation, probability)
        return run_episodes(
            self.environment, policy, SEEDS, disturbance=disturbance, max_steps=30, timed_decisions=0, **options
        )


def _alike(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(left.shape == right.shape and np.allclose(left, right, atol=1e-6) for left, right in pairs)


def _same_rows(one: EpisodeTable, other: EpisodeTable, rows: np.ndarray, *but: str) -> bool:
    return all(
        np.array_equal(one[name][rows], other[name][rows], equal_nan=one[name].dtype.kind == "f")
        for name in OUTCOMES
        if name not in but
    )


def _same_draws(kit: _PerturbationKit) -> str:
    """Every arm meets the same: the effect is a function of the moment and the streams"""
    first = kit.effects(kit.perturbation, kit.rows)
    kit.effects(kit.perturbation, kit.rows[::-1])  # another arm in between
    if _alike(first, kit.effects(kit.perturbation, kit.rows)):
        return ""
    return "asked again it does something else; take randomness from the streams and keep nothing between calls"


def _independent(kit: _PerturbationKit) -> str:
    """A row does not depend on its companions"""
    together = kit.effects(kit.perturbation, kit.rows)
    for row in kit.rows:
        alone = kit.effects(kit.perturbation, kit.rows[row : row + 1])
        if not _alike([effect[row : row + 1] for effect in together], alone):
            return "a row is struck differently alone than in a batch; draw per row from the streams"
    return ""


def _identity(kit: _PerturbationKit) -> Finding:
    """At strength 0 nothing happens"""
    if kit.at_zero is None:
        return Finding("", note="not claimed: it has no strength")
    used = np.arange(kit.queue.shape[1]) < kit.lengths[:, None]
    seen = kit.environment.observe(kit.states).astype(np.float32)
    untouched = [seen, kit.states, np.where(used[..., None], kit.queue, 0), kit.lengths, kit.queue[:, 0]]
    same = _alike(untouched, kit.effects(kit.at_zero, kit.rows))
    nothing, alone = kit.run(kit.at_zero, 1.0), kit.run(None, 0)
    same = same and _same_rows(nothing, alone, SEEDS, "perturbed")
    return Finding("", "" if same else "something changed at strength 0; return what you were given")


def _spares(kit: _PerturbationKit) -> str:
    """Episodes that are not struck are what they would have been"""
    struck, alone = kit.run(kit.perturbation, 0.5), kit.run(None, 0)
    if not struck["perturbed"].any():
        return "no episode was struck at probability 0.5"
    if (struck["error"] != "").any():
        return f"an episode broke: {next(error for error in struck['error'] if error)}"
    if _same_rows(struck, alone, np.flatnonzero(~struck["perturbed"])):
        return ""
    return "an episode outside the schedule changed; only touch the rows you are handed"


def _repeats(kit: _PerturbationKit) -> str:
    """The same seeds are struck alike"""
    if _same_rows(kit.run(kit.perturbation, 1.0), kit.run(kit.perturbation, 1.0), SEEDS):
        return ""
    return "two runs differ; take randomness from the streams"


def _blocks(kit: _PerturbationKit) -> str:
    """The block changes no row"""
    if _same_rows(kit.run(kit.perturbation, 1.0), kit.run(kit.perturbation, 1.0, block=3), SEEDS):
        return ""
    return "a row is struck differently in a smaller block; draw per row from the streams"
