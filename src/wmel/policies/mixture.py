"""Several policies shared out over episodes, and a share of random actions: how data are explored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel import catalog
from wmel.arrays import Array, copied_memory, take_rows
from wmel.contract.environment import Environment, Space
from wmel.contract.policy import Decision, Percept, Policy
from wmel.errors import BadInput, require
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams

ITS_OWN = ("native", "prior")  # policies that are a model's own


@dataclass(frozen=True, eq=False)
class Mixture:
    """Each episode belongs to one policy, by its seed; then each action is a uniform draw with probability epsilon."""

    name: str
    actions: Space
    policies: Sequence[Policy]
    shares: Sequence[float]  # of episodes, adding up to 1
    epsilon: float = 0.0
    compute_per_plan_call: int | None = None

    @property
    def reads(self) -> Literal["observation", "state"]:
        return "state" if any(policy.reads == "state" for policy in self.policies) else "observation"

    @property
    def settings(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "shares": list(self.shares)}

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array] | None:
        """Every policy sees every episode, so that a later change of shares changes nothing else."""
        kept: dict[str, Array] = {}
        for place, policy in enumerate(self.policies):
            own = policy.observe(percept.visible_to(policy.reads), _own(memory, place))
            kept |= {f"{place}:{name}": array for name, array in (own or {}).items()}
        return kept or None

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        chosen = self._chosen(streams)
        longest, made = 1, []
        for place in np.unique(chosen):
            rows, policy = np.flatnonzero(chosen == place), self.policies[place]
            seen = percept.rows(rows).visible_to(policy.reads)
            decision = policy.act(seen, take_rows(_own(memory, place), rows), streams.rows(rows))
            made.append((place, rows, decision))
            longest = max(longest, np.shape(decision.actions)[1])
        count = len(percept)
        actions = np.zeros((count, longest, self.actions.width), self.actions.dtype)
        lengths, steps = np.zeros(count, np.int64), np.zeros(count, np.int64)
        errors: dict[int, str] = {}
        kept = copied_memory(memory)
        for place, rows, decision in made:
            for name, array in (decision.memory or {}).items():
                kept[f"{place}:{name}"][rows] = array
            actions[rows, : np.shape(decision.actions)[1]] = decision.actions
            lengths[rows], steps[rows] = decision.lengths, decision.model_steps
            errors |= {int(rows[row]): message for row, message in decision.errors.items()}
        return Decision(self._explored(actions, streams), lengths, kept, steps, errors)

    def _chosen(self, streams: Streams) -> np.ndarray:
        """Which policy each episode belongs to: [B]"""
        drawn = Streams(streams.episode_seeds, np.zeros_like(streams.moments)).uniforms("mixture", (1,))[0, :, 0]
        return np.searchsorted(np.cumsum(self.shares)[:-1], drawn, side="right")

    def _explored(self, actions: np.ndarray, streams: Streams) -> np.ndarray:
        if self.epsilon == 0:
            return actions
        _, longest, width = actions.shape
        drawn = streams.uniforms("epsilon", (longest, 1 + width))[0]
        return np.where(drawn[..., :1] < self.epsilon, uniform_actions(self.actions, drawn[..., 1:]), actions)


def exploration(environment: Environment, text: str, epsilon: float = 0.0, model: Any = None) -> Policy:
    """A policy as it is typed: random, cem, random+cem, or with shares of episodes 3*random+cem.

    `model` is what prior and native act by; the others plan on the true dynamics.
    """
    require(0 <= epsilon <= 1, "epsilon must lie in [0, 1]", epsilon)
    parts = _parts(text)
    try:
        weights = np.array([float(weight) if star else 1.0 for weight, star, _ in parts])
    except ValueError:
        raise BadInput(f"{text!r} is no mixture of policies; write one like random, or 3*random+cem") from None
    require(bool((weights > 0).all() and np.isfinite(weights).all()), "shares of a mixture must be positive", text)
    names = [name for _, _, name in parts]
    own = {} if model is None else {"model": model}
    policies = [catalog.policy(name, environment, **(own if name in ITS_OWN else {})) for name in names]
    if len(policies) == 1 and epsilon == 0:
        return policies[0]
    return Mixture(text, environment.spec.actions, policies, (weights / weights.sum()).tolist(), epsilon)


def acting_itself(text: str) -> bool:
    """Whether a policy as it is typed is, in part, a model's own."""
    return any(name in ITS_OWN for _, _, name in _parts(text))


def _parts(text: str) -> list[tuple[str, str, str]]:
    """Of each policy its weight, the star after it where there is one, and its name."""
    split = [part.strip().rpartition("*") for part in text.split("+")]
    return [(weight, star, name.strip()) for weight, star, name in split]


def _own(memory: dict[str, Array] | None, place: int) -> dict[str, Array] | None:
    """What one of the policies remembers, where it remembers anything."""
    prefix = f"{place}:"
    own = {name.removeprefix(prefix): array for name, array in (memory or {}).items() if name.startswith(prefix)}
    return own or None
