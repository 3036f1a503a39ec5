"""ESNR of one model at given observations: as a function, and as in the pseudo-code of the ESNR paper."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from wmel.contract.environment import Box, Environment, Space
from wmel.contract.objective import ModelReward, Objective
from wmel.contract.world_model import LatentModel, WorldModel
from wmel.diagnostics.esnr.estimators import (
    Gradients,
    central_differences,
    concatenate_gradients,
    elite_mean,
    first_order,
    zeroth_order,
)
from wmel.diagnostics.esnr.problem import GradientProblem, gradient_problem, split_observations
from wmel.diagnostics.esnr.result import Alignment, Esnr, TrueGradient
from wmel.diagnostics.esnr.sampling import ActionDistribution, EsnrSettings, action_distribution
from wmel.diagnostics.esnr.signal import PAPER_EPSILON
from wmel.diagnostics.states import Observations, given_observations
from wmel.errors import BadInput
from wmel.machine import limit_blas_threads
from wmel.models.oracle import Oracle
from wmel.parts import implements

METHODS = {"fog": first_order, "zog": zeroth_order, "cem": elite_mean}
DIFFERENCES = "fog(fd)"
PAPER = {"sigma": 1.0, "temperature": 0.5}  # the temperature of TD-MPC2, from which its third algorithm is taken
Progress = Callable[[float], None]


def esnr(
    model: Any,
    observations: Any,
    method: str = "fog",
    *,
    objective: Objective | ModelReward | None = None,
    space: Space | None = None,
    mean: ArrayLike | None = None,
    paper: bool = False,
    progress: Progress = lambda observations: None,
    **settings: Any,
) -> Esnr:
    """The ESNR of a model at observations, by `fog`, `zog` or `cem`.

    `model` is a world model, a pair (next, reward) of batched torch functions, or an oracle; `observations` are
    numbers [B,O] or the result of `fresh_observations`. Without an objective the model's own reward is used; without a
    space, actions are plain numbers around `mean` [H,A] or [B,H,A]. Settings are those of EsnrSettings; `paper=True`
    computes the quantity exactly as in the ESNR paper. `progress` counts observations.
    """
    if method not in (*METHODS, DIFFERENCES):
        raise BadInput(f"no estimator is called {method!r}; known: {', '.join((*METHODS, DIFFERENCES))}")
    if method == "fog" and isinstance(model, Oracle):
        method = DIFFERENCES
    chosen = build_settings(settings, mean, paper)
    setup = prepare_esnr(model, observations, chosen, method, objective=objective, space=space, mean=mean)
    if method == DIFFERENCES:
        return _by_differences(setup, progress).esnr
    each = setup.settings.samples * (setup.settings.population if method == "cem" else 1)
    with limit_blas_threads():
        parts = [METHODS[method](*arguments) for arguments in setup.chunks(each, progress)]
    return setup.result(concatenate_gradients(parts))


def true_gradient(
    model: Any,
    observations: Any,
    *,
    objective: Objective | ModelReward | None = None,
    space: Space | None = None,
    mean: ArrayLike | None = None,
    paper: bool = False,
    progress: Progress = lambda observations: None,
    **settings: Any,
) -> TrueGradient:
    """First-order gradients of a model that has no derivative, such as the oracle, by central differences.

    Their noise is independent of that of `esnr`: shared noise would align a model without signal with the truth.
    """
    chosen = build_settings(settings, mean, paper)
    setup = prepare_esnr(model, observations, chosen, DIFFERENCES, objective=objective, space=space, mean=mean)
    return _by_differences(replace(setup, noise="esnr truth"), progress)


def _by_differences(setup: "EsnrSetup", progress: Progress) -> TrueGradient:
    with limit_blas_threads():
        parts = [central_differences(*arguments) for arguments in setup.chunks(8 * setup.settings.samples, progress)]
    measured = setup.result(concatenate_gradients([part.gradients for part in parts]))
    return TrueGradient(measured, np.concatenate([part.coarse_means for part in parts]))


@dataclass(frozen=True, eq=False)
class EsnrSetup:
    """What one measurement needs: a gradient problem, the distribution of actions, and the observations."""

    problem: GradientProblem
    distribution: ActionDistribution
    observations: Observations
    method: str
    noise: str = "esnr"  # models that share it are compared at the same noise
    start_s: float = field(default_factory=time.perf_counter)

    @property
    def settings(self) -> EsnrSettings:
        return self.problem.settings

    def chunks(self, each: int, progress: Progress) -> Iterator[tuple[Any, ...]]:
        """The arguments of an estimator that imagines `each` sequences per observation, chunk by chunk."""
        for rows in split_observations(len(self.observations), each, self.settings.rows):
            streams = self.observations.streams.rows(np.arange(rows.start, rows.stop))
            yield self.problem, self.distribution, streams, rows, f"{self.noise} {self.settings.noise_seed}"
            progress(rows.stop - rows.start)

    def result(self, gradients: Gradients) -> Esnr:
        """The ESNR of the gradients of all observations."""
        episodes, steps = self.observations.episodes, self.observations.steps
        seconds, name = time.perf_counter() - self.start_s, self.problem.model.spec.name
        return Esnr(name, self.method, self.settings, gradients, episodes, steps, seconds, self._comparison_key())

    def _comparison_key(self) -> str:
        """A hash of all that two models must share to be compared."""
        percept, space = self.observations.percept, self.problem.space
        shared = [percept.observation, percept.goal, self.distribution.centre]
        shared += [space.low, space.high] if isinstance(space, Box) else []
        digest = sha256(repr((self.problem.objective.name, [array.shape for array in shared])).encode())
        for array in shared:
            digest.update(np.ascontiguousarray(array, np.float64).tobytes())
        return digest.hexdigest()


def prepare_esnr(
    model: Any,
    observations: Any,
    settings: EsnrSettings,
    method: str,
    *,
    objective: Objective | ModelReward | None,
    space: Space | None,
    mean: ArrayLike | None,
) -> EsnrSetup:
    """The setup of one measurement, from arguments as `esnr` accepts them."""
    observed = observations if isinstance(observations, Observations) else given_observations(observations)
    problem = gradient_problem(_to_model(model), observed, settings, space, objective, method)
    return EsnrSetup(problem, action_distribution(space, settings, _parse_mean(mean), len(observed)), observed, method)


def _to_model(model: Any) -> WorldModel:
    """A model as it is, or a pair of functions as a model."""
    if isinstance(model, tuple) and len(model) == 2 and all(map(callable, model)):
        from wmel.models.callable_model import PairModel

        return PairModel(*model)
    if not implements(model, LatentModel):
        kind = type(model).__name__
        raise BadInput(f"a model is a world model or a pair of functions (next(z, a), reward(z, a)), got {kind}")
    return cast(WorldModel, model)


def build_settings(settings: dict[str, Any], mean: ArrayLike | None, paper: bool) -> EsnrSettings:
    """The settings requested, or those of the ESNR paper. Without a planning horizon, a mean sets it."""
    if "horizon" in settings:  # the former name
        settings = {("plan_horizon" if name == "horizon" else name): value for name, value in settings.items()}
    unknown = [name for name in settings if name not in EsnrSettings.__dataclass_fields__]
    if unknown:
        raise BadInput(f"an ESNR has no setting '{unknown[0]}'; known: {', '.join(EsnrSettings.__dataclass_fields__)}")
    centre = _parse_mean(mean)
    if centre is not None and "plan_horizon" not in settings:
        settings = {**settings, "plan_horizon": centre.shape[-2]}
    if paper:
        return EsnrSettings(**{**PAPER, **settings}).as_in_the_paper()
    return EsnrSettings(**settings)


def _parse_mean(mean: ArrayLike | None) -> np.ndarray | None:
    """The mean of the actions [H,A] or [B,H,A] as numbers."""
    if mean is None:
        return None
    try:
        numbers = np.asarray(mean, np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"the mean of the actions must be numbers: {error}") from error
    if numbers.ndim not in (2, 3) or numbers.size == 0:
        raise BadInput(f"the mean of the actions must be [H,A] or [B,H,A], got shape {numbers.shape}")
    return numbers


def compute_esnr(actions: Any, J: Callable[[Any], Any], grad_f: Callable[[Any, Any], Any]) -> Any:
    """Squared mean over variance of grad_f(J, actions) along axis 0 of torch actions [n,A], averaged over coordinates.

    Axis 0 must hold samples of ONE observation; rows of different observations would add the spread between states to
    the noise. There is no bias correction: without any signal, n samples give about 1/n.
    """
    if getattr(actions, "ndim", 0) < 1 or len(actions) < 2:
        raise BadInput("compute_esnr needs at least two rows of actions: one gradient has no variance")
    gradients = grad_f(J, actions.detach().requires_grad_())
    noise = gradients.std(dim=0) ** 2
    return (gradients.mean(dim=0) ** 2 / (noise + PAPER_EPSILON)).mean()


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
    needs_slopes = oracle and isinstance(environment.spec.actions, Box)
    return len(methods) * (models + oracle) + needs_slopes


def slope_steps(environment: Environment, methods: Sequence[str], observations: int, samples: int, horizon: int) -> int:
    """Simulator steps that the oracle's central differences take: for the true gradient, and for its own ESNR."""
    space = environment.spec.actions
    if not environment.spec.branchable or not isinstance(space, Box):
        return 0
    passes = 1 + ("fog" in methods)
    return passes * 4 * horizon * space.width * observations * samples * horizon


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
        **{name: vars(getattr(measured, name)) for name in ("esnr", "esnr_per_rollout", "pooled", "bias")},
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
