"""Several models read by several estimators at the same states, with the truth beside them where there is one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from wmel.contract.cell import ORACLE
from wmel.contract.environment import Box, Environment
from wmel.contract.objective import ModelReward, Objective
from wmel.contract.world_model import WorldModel
from wmel.diagnostics.esnr.measure import Progress, esnr, true_gradient
from wmel.diagnostics.esnr.result import Alignment, Esnr, TrueGradient, alignment, esnr_difference
from wmel.diagnostics.states import Observations
from wmel.models.oracle import Oracle
from wmel.stats.estimate import Estimate


@dataclass(frozen=True, eq=False)
class Reading:
    """One model by one estimator."""

    model: str
    weights: str | None
    esnr: Esnr
    alignment: Alignment | None  # None: there is no truth to compare with


@dataclass(frozen=True)
class Difference:
    """How much more signal one model's gradients carry than another's, at the same states and noise."""

    model: str
    other: str
    method: str
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class Readings:
    """All of them, and the paired differences between models."""

    rows: tuple[Reading, ...]
    differences: tuple[Difference, ...]
    observations: Observations
    objective: str


def sittings(models: int, methods: Sequence[str], environment: Environment, oracle: bool) -> int:
    """How often all observations are gone through."""
    oracle = oracle and environment.spec.branchable
    slope = oracle and isinstance(environment.spec.actions, Box) and "fog" not in methods
    return len(methods) * (models + oracle) + slope


def slope_steps(environment: Environment, observations: int, samples: int, horizon: int) -> int:
    """Simulator steps that the oracle's slopes take."""
    space = environment.spec.actions
    if not environment.spec.branchable or not isinstance(space, Box):
        return 0
    return 4 * horizon * space.width * observations * samples * horizon


def read_models(
    models: Mapping[str, WorldModel],
    environment: Environment,
    observations: Observations,
    methods: Sequence[str],
    objective: Objective | ModelReward,
    *,
    oracle: bool = True,
    progress: Progress = lambda observations: None,
    **settings: Any,
) -> Readings:
    """Read every model by every method; `oracle` reads the true dynamics too, and compares directions with theirs."""
    space = environment.spec.actions
    how = {"objective": objective, "space": space, "progress": progress, **settings}
    oracle = oracle and environment.spec.branchable
    truth = None
    if oracle and isinstance(space, Box):
        truth = true_gradient(Oracle(environment), observations, **how)
    asked = {**models, **({ORACLE: Oracle(environment)} if oracle else {})}
    rows = [
        _reading(name, model, method, observations, truth, how) for name, model in asked.items() for method in methods
    ]
    pairs = combinations([row for row in rows if row.model in models], 2)
    differences = tuple(
        Difference(a.model, b.model, a.esnr.method, esnr_difference(a.esnr, b.esnr))
        for a, b in pairs
        if a.esnr.method == b.esnr.method
    )
    return Readings(tuple(rows), differences, observations, objective.name)


def _reading(
    name: str, model: WorldModel, method: str, seen: Observations, truth: TrueGradient | None, how: dict[str, Any]
) -> Reading:
    known = truth is not None and name == ORACLE and method == "fog"
    found = truth.esnr if truth is not None and known else esnr(model, seen, method, **how)
    return Reading(name, model.spec.weights, found, None if truth is None else alignment(found, truth))


def readings_data(readings: Readings, environment: str) -> dict[str, Any]:
    """All of them as JSON; `reports.esnr_envelope` says what each field is."""
    seen = readings.observations
    states = zip(seen.episodes.tolist(), seen.steps.tolist(), strict=True)
    return {
        "environment": environment,
        "objective": readings.objective,
        "source": seen.source,
        "states": [{"episode_seed": episode, "step": step} for episode, step in states],
        "readings": [_reading_data(one) for one in readings.rows],
        "differences": [{**vars(one), "estimate": vars(one.estimate)} for one in readings.differences],
    }


def _reading_data(reading: Reading) -> dict[str, Any]:
    found, aligned = reading.esnr, reading.alignment
    shares = ("dead_share", "infinite_share", "broken_share", "flat_share")
    names = ("raw", "gaussian", "jackknife", "median", "dominance", "model_steps", "seconds", *shares)
    return {
        "model": reading.model,
        "weights": reading.weights,
        "method": found.method,
        "settings": found.settings.described(found.method, discrete=found.gradients.discrete),
        **{name: vars(getattr(found, name)) for name in ("esnr", "esnr_per_rollout", "pooled")},
        **{name: getattr(found, name) for name in names},
        "alignment": None
        if aligned is None
        else {
            "cosine": vars(aligned.cosine),
            "against_share": aligned.against_share,
            "unresolved_share": aligned.unresolved_share,
        },
        "rollouts_per_gradient": found.gradients.rollouts_each,
        "effective_elites": found.gradients.effective_elites,
        "out_of_range_share": found.gradients.out_of_range,
        "per_state": _numbers(found.per_observation),
        "cosine_per_state": None if aligned is None else _numbers(aligned.cosines),
    }


def _numbers(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
