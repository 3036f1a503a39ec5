"""What every perturbation promises."""

from typing import Any

import numpy as np

from wmel import catalog
from wmel.closed_loop.run import run_episodes
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Disturbance, Perturbation
from wmel.episodes import OUTCOMES, EpisodeTable
from wmel.testing.findings import Finding, findings

SEEDS = np.arange(40)


def check_perturbation(
    perturbation: Perturbation, environment: Environment, at_zero: Perturbation | None = None
) -> list[Finding]:
    """Its schedule and window are honoured, every arm meets the same, and at strength 0 nothing happens."""
    kit = _Kit(perturbation, environment, at_zero)
    return findings(kit, [_spares, _repeats, _same_in_every_arm, _identity, _blocks])


class _Kit:
    """A perturbation in a world."""

    def __init__(self, perturbation: Perturbation, environment: Environment, at_zero: Perturbation | None):
        self.perturbation, self.environment, self.at_zero = perturbation, environment, at_zero

    def run(self, perturbation: Perturbation | None, probability: float, **options: Any) -> EpisodeTable:
        policy = catalog.policy(options.pop("policy", "random"), self.environment)
        disturbance = None if perturbation is None else Disturbance(perturbation, probability)
        return run_episodes(
            self.environment, policy, SEEDS, disturbance=disturbance, max_steps=30, timed_decisions=0, **options
        )


def _same(one: EpisodeTable, other: EpisodeTable, rows: np.ndarray, *but: str) -> bool:
    return all(
        np.array_equal(one[name][rows], other[name][rows], equal_nan=one[name].dtype.kind == "f")
        for name in OUTCOMES
        if name not in but
    )


def _spares(kit: _Kit) -> str:
    """Episodes that are not struck are what they would have been"""
    struck, alone = kit.run(kit.perturbation, 0.5), kit.run(None, 0)
    if not struck["perturbed"].any():
        return "no episode was struck at probability 0.5"
    if (struck["error"] != "").any():
        return f"an episode broke: {next(error for error in struck['error'] if error)}"
    if _same(struck, alone, np.flatnonzero(~struck["perturbed"])):
        return ""
    return "an episode outside the schedule changed; only touch the rows you are handed"


def _repeats(kit: _Kit) -> str:
    """The same seeds are struck alike"""
    if _same(kit.run(kit.perturbation, 1.0), kit.run(kit.perturbation, 1.0), SEEDS):
        return ""
    return "two runs differ; take randomness from the streams"


def _same_in_every_arm(kit: _Kit) -> str:
    """Every arm meets the same schedule"""
    one, other = kit.run(kit.perturbation, 0.5), kit.run(kit.perturbation, 0.5, policy="random-shooting")
    long_enough = (one["steps"] > 15) & (other["steps"] > 15)  # both lived to the latest step it can strike
    if np.array_equal(one["perturbed"][long_enough], other["perturbed"][long_enough]):
        return ""
    return "two policies were struck differently; the schedule belongs to the episode seed"


def _identity(kit: _Kit) -> Finding:
    """At strength 0 nothing happens"""
    if kit.at_zero is None:
        return Finding("", note="not claimed: it has no strength")
    nothing, alone = kit.run(kit.at_zero, 1.0), kit.run(None, 0)
    same = _same(nothing, alone, SEEDS, "perturbed")
    return Finding("", "" if same else "outcomes changed at strength 0; return what you were given")


def _blocks(kit: _Kit) -> str:
    """The block changes no row"""
    if _same(kit.run(kit.perturbation, 1.0), kit.run(kit.perturbation, 1.0, block=3), SEEDS):
        return ""
    return "a row is struck differently in a smaller block; draw per row from the streams"
