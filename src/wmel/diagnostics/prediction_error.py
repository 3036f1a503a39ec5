"""prediction-error: how far a model's observations are from the true ones, step by step under the same actions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from wmel.arrays import as_like, to_numpy
from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.cell import ORACLE
from wmel.contract.criterion import Stop
from wmel.contract.environment import Environment, Finite
from wmel.contract.policy import Percept
from wmel.diagnostics.states import FRESH
from wmel.errors import BadInput
from wmel.models.callable_model import adapt_model
from wmel.models.imagine import decode_trajectory, model_input, rollout
from wmel.models.oracle import Oracle
from wmel.parts import check_settings, refuse_unknown_settings, setting
from wmel.policies.mixture import acting_itself, exploration, mixture_label, policy_shares
from wmel.stats.means import t_quantile

EPISODES = 16


@refuse_unknown_settings
@dataclass(frozen=True)
class PredictionErrorDiagnostic:
    """Open-loop error of the observation after 1, 2, ... steps, from states that a policy comes through."""

    steps: int = setting(15, "steps ahead that are predicted", at_least=1)
    states: int = setting(64, "states from which is predicted", at_least=2)
    source: str | list | dict = setting("random", "policy, or mixture, whose states and actions they are")
    epsilon: float = setting(0.0, "share of its actions replaced by random ones", at_least=0, at_most=1)
    episode_steps: int = setting(200, "steps of its episodes, at most the environment's", at_least=1)

    def __post_init__(self):
        check_settings(self)

    def check(self, environment: Environment, model: Any, objective: Any) -> None:
        """Refuse what cannot be read, before anything is spent."""
        if acting_itself(self.source):
            raise BadInput(f"prediction errors are read where any policy goes, not a model's own; got {self.source!r}")
        exploration(environment, self.source, self.epsilon)
        if min(self.episode_steps, environment.spec.max_steps) < self.steps:
            raise BadInput(f"episodes must have at least as many steps as are predicted, {self.steps}")
        if model is not None and adapt_model(model)[0] != "batched":
            raise BadInput("an object of four methods decodes nothing: it predicts no observation")

    def read(
        self,
        environment: Environment,
        name: str,
        model: Any,
        *,
        objective: Any,
        seed: int,
        source: Any = None,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, Any]:
        """The errors of one model, or of the oracle where it is None, as JSON."""
        segments = _collect_segments(environment, replace(self, source=policy_shares(self.source)), seed)
        predictor = Oracle(environment) if model is None else adapt_model(model)[1]
        squares = np.square(_predicted(environment, predictor, segments) - segments.after).mean(axis=2)  # [M,H]
        unchanged = np.square(segments.percept.observation[:, None] - segments.after).mean(axis=2)
        progress(1.0)
        label = ORACLE if model is None else name
        rows = [
            {"model": label, "steps_ahead": step + 1, **_error(squares[:, step], segments.episode),
             "relative": _ratio(squares[:, step], unchanged[:, step])}
            for step in range(self.steps)
        ]  # fmt: skip
        source_words = f"{len(squares)} states of {EPISODES} fresh episodes of {mixture_label(self.source)}"
        return {"environment": environment.spec.name, "source": source_words, "rows": rows}

    @staticmethod
    def describe(data: dict[str, Any]) -> str:
        """What a reading came to, in a few words."""
        first, last = data["rows"][0], data["rows"][-1]
        early, late = ("n/a" if one["rmse"] is None else f"{one['rmse']:.3g}" for one in (first, last))
        return f"rmse {early} after one step, {late} after {last['steps_ahead']}"


@dataclass(frozen=True, eq=False)
class _Segments:
    """Pieces of episodes: a start, the actions that were taken from there, and the observations that followed."""

    percept: Percept  # of the starts [M]
    episode: np.ndarray  # [M]
    actions: np.ndarray  # [M,H,A], values
    after: np.ndarray  # [M,H,O]


@lru_cache(4)
def _collect_segments(environment: Any, settings: PredictionErrorDiagnostic, seed: int) -> _Segments:
    """Starts spread evenly over fresh episodes and over the time of each."""
    policy = exploration(environment, settings.source, settings.epsilon)
    length = min(settings.episode_steps, environment.spec.max_steps)
    record, seeds = Trajectories(), episode_seeds(FRESH + seed, EPISODES)
    how = {"max_steps": length, "stop": Stop.HORIZON, "timed_decisions": 0, "record": record}
    table = run_episodes(environment, policy, seeds, **how)
    broken = [message for message in table["error"] if message]
    if broken:
        raise BadInput(f"{len(broken)} of {EPISODES} episodes of {policy.name} broke: {broken[0]}")
    arrays = record.arrays(environment, table)
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


def _predicted(environment: Any, model: Any, segments: _Segments) -> np.ndarray:
    """The model's observations [M,H,O] under the actions that were taken."""
    space, seen, actions = environment.spec.actions, segments.percept.visible_to(model.spec.reads), segments.actions
    if isinstance(space, Finite):  # which action it was, by its values
        levels = to_numpy(space.as_values(np.arange(space.count)[:, None]))
        actions = np.abs(actions[..., None, :] - levels).sum(-1).argmin(-1)[..., None].astype(space.dtype)
    latents = model.encode(seen, None)
    values = as_like(space.as_values(actions), latents)
    inputs = as_like(model_input(model, space, as_like(actions, latents), values), latents)
    return to_numpy(decode_trajectory(model, rollout(model, latents, inputs)))[:, 1:].astype(np.float64)


def _error(squares: np.ndarray, episode: np.ndarray) -> dict[str, float | None]:
    """Root mean squared error with a 95% interval by t over episodes; None where a prediction is not finite."""
    if not np.isfinite(squares).all():
        return dict.fromkeys(("rmse", "low", "high"))
    by_episode = np.bincount(episode, squares) / np.bincount(episode)
    centre = float(by_episode.mean())
    half = t_quantile(len(by_episode) - 1, 0.95) * float(by_episode.std(ddof=1)) / len(by_episode) ** 0.5
    return {"rmse": centre**0.5, "low": max(0.0, centre - half) ** 0.5, "high": (centre + half) ** 0.5}


def _ratio(squares: np.ndarray, unchanged: np.ndarray) -> float | None:
    """The error as a share of that of predicting no change at all; None where nothing changes."""
    if not unchanged.any() or not np.isfinite(squares).all():
        return None
    return float((squares.mean() / unchanged.mean()) ** 0.5)
