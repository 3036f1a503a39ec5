"""ESNR of one model at given observations, as a function and as the paper's pseudo-code."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from wmel.contract.environment import Box, Space
from wmel.contract.objective import ModelReward, Objective
from wmel.contract.world_model import LatentModel, WorldModel
from wmel.diagnostics.esnr.estimators import Gradients, central_differences, elite_mean, gathered, zeroth_order
from wmel.diagnostics.esnr.problem import Question, blocks, question
from wmel.diagnostics.esnr.result import Esnr, TrueGradient
from wmel.diagnostics.esnr.sampling import CategoricalActions, EsnrSettings, GaussianActions, action_draw
from wmel.diagnostics.esnr.signal import PAPER_EPSILON
from wmel.diagnostics.states import Observations, given_observations
from wmel.errors import BadInput
from wmel.kinds import implements
from wmel.machine import limit_blas_threads
from wmel.models.oracle import Oracle

METHODS = ("fog", "zog", "cem")
DIFFERENCES = "fog(fd)"
PAPER = {"sigma": 1.0, "temperature": 0.5}  # and TD-MPC2's temperature, which its third algorithm is taken from
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
    numbers [B,O] or what `fresh_observations` found. Without an objective the model's own reward counts; without a
    space actions are plain numbers around `mean` [H,A] or [B,H,A]. Settings are those of EsnrSettings; `paper=True` is
    the paper's quantity to the letter. `progress` counts observations.
    """
    if method not in (*METHODS, DIFFERENCES):
        raise BadInput(f"no estimator is called {method!r}; known: {', '.join((*METHODS, DIFFERENCES))}")
    if method == DIFFERENCES or (method == "fog" and isinstance(model, Oracle)):
        how = {"objective": objective, "space": space, "mean": mean, "paper": paper, "progress": progress, **settings}
        return true_gradient(model, observations, **how).esnr
    sitting = _Sitting.of(
        model, observations, objective=objective, space=space, mean=mean, method=method,
        settings=chosen_settings(settings, mean, paper),
    )  # fmt: skip
    each = sitting.settings.samples * (sitting.settings.population if method == "cem" else 1)
    estimator = _estimator(method)
    with limit_blas_threads():
        parts = [estimator(*block) for block in sitting.blocks(each, progress)]
    return sitting.finished(gathered(parts))


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
    """First-order gradients of a model that can only be stepped, such as the oracle, by central differences."""
    sitting = _Sitting.of(
        model, observations, objective=objective, space=space, mean=mean, method=DIFFERENCES,
        settings=chosen_settings(settings, mean, paper),
    )  # fmt: skip
    with limit_blas_threads():
        parts = [central_differences(*block) for block in sitting.blocks(8 * sitting.settings.samples, progress)]
    found = sitting.finished(gathered([part.gradients for part in parts]))
    return TrueGradient(found, np.concatenate([part.coarse_means for part in parts]))


@dataclass(frozen=True, eq=False)
class _Sitting:
    """One model asked at all observations, a few at a time."""

    question: Question
    draw: GaussianActions | CategoricalActions
    seen: Observations
    method: str
    begin: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(
        cls,
        model: Any,
        observations: Any,
        *,
        objective: Objective | ModelReward | None,
        space: Space | None,
        mean: ArrayLike | None,
        settings: EsnrSettings,
        method: str,
    ) -> "_Sitting":
        seen = observations if isinstance(observations, Observations) else given_observations(observations)
        asked = question(_as_model(model), seen, settings, space, objective, method)
        return cls(asked, action_draw(space, settings, _numbers(mean), len(seen)), seen, method)

    @property
    def settings(self) -> EsnrSettings:
        return self.question.settings

    def blocks(self, each: int, progress: Progress) -> Iterator[tuple[Any, ...]]:
        """What an estimator is called with, for observations that take `each` rows."""
        for rows in blocks(len(self.seen), each, self.settings.rows):
            streams = self.seen.streams.rows(np.arange(rows.start, rows.stop))
            yield self.question, self.draw, streams, rows, f"esnr {self.settings.noise_seed}"
            progress(rows.stop - rows.start)

    def finished(self, gradients: Gradients) -> Esnr:
        seconds, name, seen = time.perf_counter() - self.begin, self.question.model.spec.name, self.seen
        return Esnr(name, self.method, self.settings, gradients, seen.episodes, seen.steps, seconds, self._asked())

    def _asked(self) -> str:
        """A hash of all that two models must share to be compared."""
        percept, space = self.seen.percept, self.question.space
        known = [percept.observation, percept.goal, self.draw.centre]
        known += [space.low, space.high] if isinstance(space, Box) else []
        digest = sha256(repr((self.question.objective.name, [array.shape for array in known])).encode())
        for array in known:
            digest.update(np.ascontiguousarray(array, np.float64).tobytes())
        return digest.hexdigest()


def _as_model(given: Any) -> WorldModel:
    """A model, or a pair of functions as one."""
    if isinstance(given, tuple) and len(given) == 2 and all(map(callable, given)):
        from wmel.models.pair import PairModel

        return PairModel(*given)
    if not implements(given, LatentModel):
        kind = type(given).__name__
        raise BadInput(f"a model is a world model or a pair of functions (next(z, a), reward(z, a)), got {kind}")
    return cast(WorldModel, given)


def _estimator(method: str) -> Callable[..., Gradients]:
    if method == "fog":
        from wmel.diagnostics.esnr.first_order import first_order  # needs torch

        return first_order
    return {"zog": zeroth_order, "cem": elite_mean}[method]


def chosen_settings(settings: dict[str, Any], mean: ArrayLike | None, paper: bool) -> EsnrSettings:
    """What is asked for; `paper` is to its letter. A mean brings its own horizon."""
    if "horizon" in settings:  # its name until 0.2
        settings = {("plan_horizon" if name == "horizon" else name): value for name, value in settings.items()}
    unknown = [name for name in settings if name not in EsnrSettings.__dataclass_fields__]
    if unknown:
        raise BadInput(f"an ESNR has no setting '{unknown[0]}'; known: {', '.join(EsnrSettings.__dataclass_fields__)}")
    centre = _numbers(mean)
    if centre is not None and "plan_horizon" not in settings:
        settings = {**settings, "plan_horizon": centre.shape[-2]}
    if paper:
        return EsnrSettings(**{**PAPER, **settings}).as_in_the_paper()
    return EsnrSettings(**settings)


def _numbers(mean: ArrayLike | None) -> np.ndarray | None:
    """The mean of the actions [H,A] or [B,H,A]."""
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

    Axis 0 must hold samples of ONE observation: rows of different observations put the spread between states into
    the noise, which is another quantity. Nothing is corrected for: without any signal n samples give about 1/n.
    """
    if getattr(actions, "ndim", 0) < 1 or len(actions) < 2:
        raise BadInput("compute_esnr needs at least two rows of actions: one gradient has no variance")
    gradients = grad_f(J, actions.detach().requires_grad_())
    noise = gradients.std(dim=0) ** 2
    return (gradients.mean(dim=0) ** 2 / (noise + PAPER_EPSILON)).mean()
