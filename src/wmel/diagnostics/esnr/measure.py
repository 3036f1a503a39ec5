"""esnr: the expected signal-to-noise ratio of policy gradients through a model."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.objective import ModelReward, Objective
from wmel.contract.spaces import Space
from wmel.contract.world_model import WorldModel
from wmel.diagnostics.esnr.alignment import TrueGradient
from wmel.diagnostics.esnr.central_differences import central_differences
from wmel.diagnostics.esnr.draws import action_draw
from wmel.diagnostics.esnr.elite_mean import elite_mean
from wmel.diagnostics.esnr.gradients import Gradients, gathered
from wmel.diagnostics.esnr.question import blocks, question
from wmel.diagnostics.esnr.result import Esnr
from wmel.diagnostics.esnr.settings import EsnrSettings
from wmel.diagnostics.esnr.zeroth_order import zeroth_order
from wmel.diagnostics.observations import Observations, given_observations
from wmel.errors import BadInput
from wmel.models.oracle import Oracle

METHODS = ("fog", "zog", "cem")
DIFFERENCES = "fog(fd)"
Progress = Callable[[float], None]


def esnr(
    model: Any,
    observations: Any,
    method: str = "fog",
    *,
    objective: Objective | ModelReward | None = None,
    space: Space | None = None,
    mean: object = None,
    paper: bool = False,
    progress: Progress = lambda observations: None,
    **settings: Any,
) -> Esnr:
    """The ESNR of a model at observations, by `fog`, `zog` or `cem`.

    `model` is a world model, a pair (next, reward) of batched torch functions, or an oracle; `observations` are
    numbers [B,O] or what `fresh_observations` found. Without an objective the model's own reward counts; without a
    space actions are plain numbers around `mean` [H,A] or [B,H,A]. Settings are those of EsnrSettings; `paper=True` is
    the paper's quantity to the letter. `progress` counts observations.
    """
    chosen, seen = _chosen(settings, mean, paper), _seen(observations)
    one, begin = as_model(model), time.perf_counter()
    if method not in (*METHODS, DIFFERENCES):
        raise BadInput(f"no estimator is called {method!r}; known: {', '.join((*METHODS, DIFFERENCES))}")
    if method == DIFFERENCES or (method == "fog" and isinstance(one, Oracle)):
        return true_gradient(
            one, seen, objective=objective, space=space, mean=mean, paper=paper, progress=progress, **settings
        ).esnr
    asked = question(one, seen, chosen, space, objective)
    draw = action_draw(space, chosen, _numbers(mean), len(seen))
    each = chosen.samples * (chosen.population if method == "cem" else 1)
    parts, streams = [], seen.streams
    for rows in blocks(len(seen), each, chosen.rows):
        own = streams.rows(np.arange(rows.start, rows.stop))
        parts.append(_estimator(method)(asked, draw, own, rows, f"esnr {chosen.noise_seed}"))
        progress(rows.stop - rows.start)
    seconds = time.perf_counter() - begin
    return Esnr(one.spec.name, method, chosen, gathered(parts), seen.episodes, seen.steps, seconds)


def true_gradient(
    model: Any,
    observations: Any,
    *,
    objective: Objective | ModelReward | None = None,
    space: Space | None = None,
    mean: object = None,
    paper: bool = False,
    progress: Progress = lambda observations: None,
    **settings: Any,
) -> TrueGradient:
    """First-order gradients of a model that can only be stepped, such as the oracle, by central differences."""
    chosen, seen = _chosen(settings, mean, paper), _seen(observations)
    one, begin = as_model(model), time.perf_counter()
    asked = question(one, seen, chosen, space, objective)
    draw = action_draw(space, chosen, _numbers(mean), len(seen))
    parts, streams = [], seen.streams
    for rows in blocks(len(seen), chosen.samples, chosen.rows // 8):
        own = streams.rows(np.arange(rows.start, rows.stop))
        parts.append(central_differences(asked, draw, own, rows, f"esnr {chosen.noise_seed}"))
        progress(rows.stop - rows.start)
    gradients: Gradients = gathered([part.gradients for part in parts])
    seconds = time.perf_counter() - begin
    found = Esnr(one.spec.name, DIFFERENCES, chosen, gradients, seen.episodes, seen.steps, seconds)
    return TrueGradient(found, np.concatenate([part.coarse_means for part in parts]))


def as_model(model: Any) -> WorldModel:
    """A model, or a pair of functions as one."""
    if not isinstance(model, tuple):
        return model
    from wmel.models.pair import PairModel

    if len(model) != 2 or not all(map(callable, model)):
        raise BadInput("a model given as a pair must be two functions, next(z, a) and reward(z, a)")
    return PairModel(*model)


def environment_oracle(environment: Environment) -> Oracle | None:
    """The true dynamics, where they can be stepped from any state."""
    return Oracle(environment) if environment.spec.branchable else None


def _estimator(method: str) -> Callable[..., Gradients]:
    if method == "fog":
        from wmel.diagnostics.esnr.first_order import first_order

        return first_order
    return {"zog": zeroth_order, "cem": elite_mean}[method]


def _chosen(settings: dict[str, Any], mean: object, paper: bool) -> EsnrSettings:
    unknown = [name for name in settings if name not in EsnrSettings.__dataclass_fields__]
    if unknown:
        raise BadInput(f"an ESNR has no setting '{unknown[0]}'; known: {', '.join(EsnrSettings.__dataclass_fields__)}")
    if mean is not None and "horizon" not in settings and np.ndim(mean) in (2, 3):
        settings = {**settings, "horizon": np.shape(mean)[-2]}
    return EsnrSettings(**{"sigma": 1.0, **settings}).as_in_the_paper() if paper else EsnrSettings(**settings)


def _seen(observations: Any) -> Observations:
    return observations if isinstance(observations, Observations) else given_observations(observations)


def _numbers(mean: object) -> np.ndarray | None:
    return None if mean is None else np.asarray(mean, np.float64)
