"""The promises of every perturbation."""

from typing import Any

import numpy as np

from wmel import catalog
from wmel.closed_loop.run import run_episodes
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery, Disturbance, PendingStep, Perturbation
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams
from wmel.schema import OUTCOMES, EpisodeTable
from wmel.testing.environment_kit import sample_states
from wmel.testing.findings import Finding, check_promises

SEEDS = np.arange(30)


def check_perturbation(
    perturbation: Perturbation, environment: Environment, at_zero: Perturbation | None = None
) -> list[Finding]:
    """Checks that effects depend on the step and the streams of a row only, follow the schedule, and vanish at 0.

    `at_zero` is the same perturbation at strength 0; None: it has no strength.
    """
    perturbation.check(environment)
    kit = _PerturbationKit(perturbation, environment, at_zero)
    return check_promises(kit, [_same_for_every_arm, _independent, _identity, _schedule, _deterministic, _blocks])


class _PerturbationKit:
    """A perturbation in an environment, with states and queued actions."""

    def __init__(self, perturbation: Perturbation, environment: Environment, at_zero: Perturbation | None):
        self.perturbation, self.environment, self.at_zero = perturbation, environment, at_zero
        self.states, space = sample_states(environment), environment.spec.actions
        self.rows = np.arange(len(self.states))
        uniforms = Streams(self.rows, self.rows).uniforms("act", (5, space.width))[0]
        self.queue = uniform_actions(space, uniforms)
        self.lengths = 1 + self.rows % 5

    def effects(self, perturbation: Perturbation, rows: np.ndarray) -> list[np.ndarray]:
        """Its results for some rows: observations, states, queued actions and lengths, and the delivered action."""
        streams, since = Streams(rows, rows + 3), np.zeros(len(rows), int)
        sensed = perturbation.sense(self.environment.observe(self.states[rows]).astype(np.float32), since, streams)
        pending = PendingStep(self.states[rows], self.queue[rows], self.lengths[rows], self.queue[rows, 0], since)
        after = perturbation.strike(self.environment, pending, streams)
        used = np.arange(after.queue.shape[1]) < after.lengths[:, None]
        carried = perturbation.carry(self.environment, len(rows))
        delivered = perturbation.deliver(self.environment, Delivery(self.queue[rows, 0], since, carried))
        return [sensed, after.states, np.where(used[..., None], after.queue, 0), after.lengths, delivered.actions]

    def run(self, perturbation: Perturbation | None, probability: float, **options: Any) -> EpisodeTable:
        """Episodes of a planner with perturbed observations and plans of different lengths."""
        policy = catalog.policy("random-shooting", self.environment, plan_horizon=8, candidates=12)
        disturbance = None if perturbation is None else Disturbance(perturbation, probability)
        return run_episodes(
            self.environment, policy, SEEDS, disturbance=disturbance, max_steps=30, timed_decisions=0, **options
        )


def _all_close(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(left.shape == right.shape and np.allclose(left, right, atol=1e-6) for left, right in pairs)


def _same_rows(one: EpisodeTable, other: EpisodeTable, rows: np.ndarray, *ignored: str) -> bool:
    return all(
        np.array_equal(one[name][rows], other[name][rows], equal_nan=one[name].dtype.kind == "f")
        for name in OUTCOMES
        if name not in ignored
    )


def _same_for_every_arm(kit: _PerturbationKit) -> str:
    """Every arm has the same perturbation: the effect is a function of the pending step and the streams"""
    first = kit.effects(kit.perturbation, kit.rows)
    kit.effects(kit.perturbation, kit.rows[::-1])  # another arm in between
    if _all_close(first, kit.effects(kit.perturbation, kit.rows)):
        return ""
    return "a second call has another effect; take randomness from the streams and store nothing between calls"


def _independent(kit: _PerturbationKit) -> str:
    """A row does not depend on the other rows of its batch"""
    together = kit.effects(kit.perturbation, kit.rows)
    for row in kit.rows:
        alone = kit.effects(kit.perturbation, kit.rows[row : row + 1])
        if not _all_close([effect[row : row + 1] for effect in together], alone):
            return "a row is perturbed differently alone than in a batch; sample from the streams of each row"
    return ""


def _identity(kit: _PerturbationKit) -> Finding:
    """Strength 0 has no effect"""
    if kit.at_zero is None:
        return Finding("", note="not claimed: it has no strength")
    used = np.arange(kit.queue.shape[1]) < kit.lengths[:, None]
    observations = kit.environment.observe(kit.states).astype(np.float32)
    unperturbed = [observations, kit.states, np.where(used[..., None], kit.queue, 0), kit.lengths, kit.queue[:, 0]]
    same = _all_close(unperturbed, kit.effects(kit.at_zero, kit.rows))
    at_zero, without = kit.run(kit.at_zero, 1.0), kit.run(None, 0)
    same = same and _same_rows(at_zero, without, SEEDS, "perturbed")
    return Finding("", "" if same else "something changed at strength 0; return the arguments unchanged")


def _schedule(kit: _PerturbationKit) -> str:
    """Episodes that are not perturbed do not change"""
    half, without = kit.run(kit.perturbation, 0.5), kit.run(None, 0)
    if not half["perturbed"].any():
        return "no episode was perturbed at probability 0.5"
    if (half["error"] != "").any():
        return f"an episode failed: {next(error for error in half['error'] if error)}"
    if _same_rows(half, without, np.flatnonzero(~half["perturbed"])):
        return ""
    return "an episode without a perturbation changed; change only the given rows"


def _deterministic(kit: _PerturbationKit) -> str:
    """The same seeds have the same perturbations"""
    if _same_rows(kit.run(kit.perturbation, 1.0), kit.run(kit.perturbation, 1.0), SEEDS):
        return ""
    return "two runs differ; take randomness from the streams"


def _blocks(kit: _PerturbationKit) -> str:
    """The block size changes no row"""
    if _same_rows(kit.run(kit.perturbation, 1.0), kit.run(kit.perturbation, 1.0, block=3), SEEDS):
        return ""
    return "a row is perturbed differently in a smaller block; sample from the streams of each row"
