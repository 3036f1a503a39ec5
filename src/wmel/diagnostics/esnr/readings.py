"""Readings of several models by several estimators at the same states, as values and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmel.contract.environment import Box, Environment
from wmel.diagnostics.esnr.result import Alignment, Esnr
from wmel.diagnostics.states import Observations


@dataclass(frozen=True, eq=False)
class Reading:
    """One model by one estimator."""

    model: str
    weights: str | None
    esnr: Esnr
    alignment: Alignment | None  # None: there is no true gradient to compare with


def passes_over_states(models: int, methods: Sequence[str], environment: Environment, oracle: bool) -> int:
    """How many passes over all observations the readings of so many models take."""
    oracle = oracle and environment.spec.branchable
    needs_slopes = oracle and isinstance(environment.spec.actions, Box) and "fog" not in methods
    return len(methods) * (models + oracle) + needs_slopes


def slope_steps(environment: Environment, observations: int, samples: int, horizon: int) -> int:
    """Simulator steps that the oracle's central differences take."""
    space = environment.spec.actions
    if not environment.spec.branchable or not isinstance(space, Box):
        return 0
    return 4 * horizon * space.width * observations * samples * horizon


def readings_data(
    readings: Sequence[Reading], observations: Observations, objective: str, environment: str
) -> dict[str, Any]:
    """Readings at the same observations as JSON; `reports.esnr_envelope` documents each field."""
    states = zip(observations.episodes.tolist(), observations.steps.tolist(), strict=True)
    return {
        "environment": environment,
        "objective": objective,
        "source": observations.source,
        "states": [{"episode_seed": episode, "step": step} for episode, step in states],
        "readings": [_reading_data(one) for one in readings],
        "differences": [],
    }


def _reading_data(reading: Reading) -> dict[str, Any]:
    measured, aligned = reading.esnr, reading.alignment
    shares = ("dead_share", "infinite_share", "broken_share", "flat_share")
    names = ("raw", "gaussian", "jackknife", "median", "dominance", "model_steps", "seconds", *shares)
    return {
        "model": reading.model,
        "weights": reading.weights,
        "method": measured.method,
        "settings": measured.settings.used_by(measured.method, discrete=measured.gradients.discrete),
        **{name: vars(getattr(measured, name)) for name in ("esnr", "esnr_per_rollout", "pooled")},
        **{name: getattr(measured, name) for name in names},
        "alignment": None
        if aligned is None
        else {
            "cosine": vars(aligned.cosine),
            "against_share": aligned.against_share,
            "unresolved_share": aligned.unresolved_share,
        },
        "rollouts_per_gradient": measured.gradients.rollouts_each,
        "effective_elites": measured.gradients.effective_elites,
        "out_of_range_share": measured.gradients.out_of_range,
        "per_state": _finite_or_none(measured.per_observation),
        "cosine_per_state": None if aligned is None else _finite_or_none(aligned.cosines),
    }


def _finite_or_none(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
