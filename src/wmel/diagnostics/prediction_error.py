"""prediction-error: the distance of predicted observations from the true ones, step by step under equal actions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from wmel.arrays import as_like, to_numpy
from wmel.closed_loop.run import episode_seeds
from wmel.contract.cell import ORACLE
from wmel.contract.environment import Environment, Finite
from wmel.contract.policy import Percept
from wmel.diagnostics.states import EPISODES, FRESH, run_fresh_episodes
from wmel.errors import BadInput
from wmel.models.callable_model import adapt_model
from wmel.models.imagine import decode_trajectory, model_input, rollout
from wmel.models.oracle import Oracle
from wmel.parts import check_settings, refuse_unknown_settings, setting
from wmel.policies.direct import exploration, mixture_label, policy_shares, uses_model_policy
from wmel.settings import MAX_COUNT
from wmel.stats.means import t_quantile


@refuse_unknown_settings
@dataclass(frozen=True)
class PredictionErrorDiagnostic:
    """Open-loop error of the observation after 1, 2, ... steps, from states that a policy visits."""

    steps: int = setting(15, "steps ahead to predict", at_least=1, cap=MAX_COUNT)
    states: int = setting(64, "states to predict from", at_least=2, cap=MAX_COUNT)
    source: str | list | dict = setting("random", "policy, or mixture, that visits the states and takes the actions")
    epsilon: float = setting(0.0, "share of its actions replaced by random ones", at_least=0, at_most=1)
    episode_steps: int = setting(200, "steps of its episodes, at most the environment's", at_least=1)

    def __post_init__(self):
        check_settings(self)

    def check(self, environment: Environment, model: Any, objective: Any) -> None:
        """Raises BadInput if a prediction error cannot be measured, before any episode runs."""
        if uses_model_policy(self.source):
            raise BadInput(f"a prediction error needs states of a policy that is no model's own, got {self.source!r}")
        exploration(environment, self.source, self.epsilon)
        if min(self.episode_steps, environment.spec.max_steps) < self.steps:
            raise BadInput(f"an episode must have at least as many steps as are predicted, {self.steps}")
        if model is not None and adapt_model(model)[0] != "batched":
            raise BadInput("an object of four methods has no decoder, so it predicts no observation")

    def read(
        self, environment: Environment, name: str, model: Any, *, seed: int,
        progress: Callable[[float], None] = lambda share: None, **_unused: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """The errors of one model as JSON; the oracle is measured where `model` is None."""
        segments = _collect_segments(environment, replace(self, source=policy_shares(self.source)), seed)
        predictor = Oracle(environment) if model is None else adapt_model(model)[1]
        squares = np.square(_predict(environment, predictor, segments) - segments.after).mean(axis=2)  # [M,H]
        unchanged = np.square(segments.percept.observation[:, None] - segments.after).mean(axis=2)
        progress(1.0)
        label = ORACLE if model is None else name
        rows = [
            {"model": label, "steps_ahead": step + 1, **_error_interval(squares[:, step], segments.episode),
             "relative": _relative_error(squares[:, step], unchanged[:, step])}
            for step in range(self.steps)
        ]  # fmt: skip
        source_words = f"{len(squares)} states of {EPISODES} fresh episodes of {mixture_label(self.source)}"
        return {"environment": environment.spec.name, "source": source_words, "rows": rows}

    @staticmethod
    def describe(data: dict[str, Any]) -> str:
        """The first and the last error, in a few words."""
        first, last = data["rows"][0], data["rows"][-1]
        early, late = ("n/a" if one["rmse"] is None else f"{one['rmse']:.3g}" for one in (first, last))
        return f"rmse {early} after one step, {late} after {last['steps_ahead']}"


@dataclass(frozen=True, eq=False)
class _Segments:
    """Pieces of episodes: a start, the actions taken from there, and the observations that followed."""

    percept: Percept  # of the starts [M]
    episode: np.ndarray  # [M]
    actions: np.ndarray  # [M,H,A], values
    after: np.ndarray  # [M,H,O]


@lru_cache(4)
def _collect_segments(environment: Any, settings: PredictionErrorDiagnostic, seed: int) -> _Segments:
    """Starts spread evenly over fresh episodes and over the time of each."""
    policy = exploration(environment, settings.source, settings.epsilon)
    length = min(settings.episode_steps, environment.spec.max_steps)
    seeds = episode_seeds(FRESH + seed, EPISODES)
    arrays = run_fresh_episodes(environment, policy, seeds, length)
    each = -(-settings.states // EPISODES)
    start = np.linspace(0, length - settings.steps, each).astype(np.int64)
    episode = np.repeat(np.arange(EPISODES), each)
    at = np.tile(start, EPISODES)
    states = arrays["states"][episode, at].astype(environment.reset(seeds[:1]).dtype)
    last = np.where(at[:, None] > 0, arrays["actions"][episode, at - 1], 0)
    percept = Percept(environment.observe(states), environment.goals(states), states, last, length - at)
    ahead = at[:, None] + np.arange(settings.steps)
    taken, reached = (arrays[kind][episode[:, None], ahead] for kind in ("actions", "next_observations"))
    return _Segments(percept, episode, taken, reached)


def _predict(environment: Any, model: Any, segments: _Segments) -> np.ndarray:
    """The model's observations [M,H,O] under the actions of the segments."""
    space, actions = environment.spec.actions, segments.actions
    if isinstance(space, Finite):  # the index of each action, from its values
        levels = to_numpy(space.as_values(np.arange(space.count)[:, None]))
        actions = np.abs(actions[..., None, :] - levels).sum(-1).argmin(-1)[..., None].astype(space.dtype)
    latents = model.encode(segments.percept.visible_to(model.spec.reads), None)
    values = as_like(space.as_values(actions), latents)
    inputs = as_like(model_input(model, space, as_like(actions, latents), values), latents)
    return to_numpy(decode_trajectory(model, rollout(model, latents, inputs)))[:, 1:].astype(np.float64)


def _error_interval(squares: np.ndarray, episode: np.ndarray) -> dict[str, float | None]:
    """Root mean squared error with a 95% t interval over episodes; None where a prediction is not finite."""
    if not np.isfinite(squares).all():
        return dict.fromkeys(("rmse", "low", "high"))
    by_episode = np.bincount(episode, squares) / np.bincount(episode)
    centre = float(by_episode.mean())
    half = t_quantile(len(by_episode) - 1, 0.95) * float(by_episode.std(ddof=1)) / len(by_episode) ** 0.5
    return {"rmse": centre**0.5, "low": max(0.0, centre - half) ** 0.5, "high": (centre + half) ** 0.5}


def _relative_error(squares: np.ndarray, unchanged: np.ndarray) -> float | None:
    """The error as a share of that of predicting no change; None where the observation never changes."""
    if not unchanged.any() or not np.isfinite(squares).all():
        return None
    return float((squares.mean() / unchanged.mean()) ** 0.5)
