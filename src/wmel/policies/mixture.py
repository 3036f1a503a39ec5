"""Exploration policies: a mixture of policies over episodes, and a share of random actions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel import catalog
from wmel.arrays import Array, copy_memory, take_rows
from wmel.contract.environment import Environment, Space
from wmel.contract.policy import Decision, Percept, Policy
from wmel.errors import BadInput, is_number, require
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams

MODEL_POLICIES = ("native", "prior")  # policies that a model provides


@dataclass(frozen=True, eq=False)
class Mixture:
    """Assigns a policy to each episode by its seed. Each action is random with probability epsilon."""

    name: str
    actions: Space
    policies: Sequence[Policy]
    shares: Sequence[float]  # of the episodes, with a sum of 1
    epsilon: float = 0.0
    compute_per_plan_call: int | None = None

    @property
    def reads(self) -> Literal["observation", "state"]:
        return "state" if any(policy.reads == "state" for policy in self.policies) else "observation"

    @property
    def settings(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "shares": list(self.shares)}

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array] | None:
        """Every policy observes every episode, so its memory does not depend on the shares."""
        joint: dict[str, Array] = {}
        for index, policy in enumerate(self.policies):
            own = policy.observe(percept.visible_to(policy.reads), _own_memory(memory, index))
            joint |= {f"{index}:{name}": array for name, array in (own or {}).items()}
        return joint or None

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        assigned = self._assign_policies(streams)
        longest, decisions = 1, []
        for index in np.unique(assigned):
            rows, policy = np.flatnonzero(assigned == index), self.policies[index]
            own_percept = percept.rows(rows).visible_to(policy.reads)
            decision = policy.act(own_percept, take_rows(_own_memory(memory, index), rows), streams.rows(rows))
            decisions.append((index, rows, decision))
            longest = max(longest, np.shape(decision.actions)[1])
        count = len(percept)
        actions = np.zeros((count, longest, self.actions.width), self.actions.dtype)
        lengths, steps = np.zeros(count, np.int64), np.zeros(count, np.int64)
        errors: dict[int, str] = {}
        joint = copy_memory(memory)
        for index, rows, decision in decisions:
            for name, array in (decision.memory or {}).items():
                joint[f"{index}:{name}"][rows] = array
            actions[rows, : np.shape(decision.actions)[1]] = decision.actions
            lengths[rows], steps[rows] = decision.lengths, decision.model_steps
            errors |= {int(rows[row]): message for row, message in decision.errors.items()}
        return Decision(self._explore(actions, streams), lengths, joint, steps, errors)

    def _assign_policies(self, streams: Streams) -> np.ndarray:
        """The index of each episode's policy: [B]."""
        uniforms = Streams(streams.episode_seeds, np.zeros_like(streams.counters)).uniforms("mixture", (1,))[0, :, 0]
        return np.searchsorted(np.cumsum(self.shares)[:-1], uniforms, side="right")

    def _explore(self, actions: np.ndarray, streams: Streams) -> np.ndarray:
        """The actions [B,K,A], each replaced by a random one with probability epsilon."""
        if self.epsilon == 0:
            return actions
        _, longest, width = actions.shape
        uniforms = streams.uniforms("epsilon", (longest, 1 + width))[0]
        return np.where(uniforms[..., :1] < self.epsilon, uniform_actions(self.actions, uniforms[..., 1:]), actions)


@dataclass(frozen=True)
class PolicyShare:
    """One policy of a mixture, its settings, and its share of the episodes relative to the other shares."""

    name: str
    share: float = 1.0
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def label(self) -> str:
        settings = ",".join(f"{key}={value}" for key, value in self.settings)
        return ("" if self.share == 1 else f"{self.share:g}*") + self.name + (f"({settings})" if settings else "")


def policy_shares(given: Any) -> tuple[PolicyShare, ...]:
    """The policies of a mixture, from text (random, 3*random+cem), {name, share, **settings} or a list of these."""
    if isinstance(given, str):
        return tuple(_parse_share(part, given) for part in given.split("+"))
    if isinstance(given, Mapping):
        name, settings = catalog.name_and_settings(given, "policy")
        share = settings.pop("share", 1.0)
        if not is_number(share) or not 0 < share < np.inf:
            raise BadInput(f"the share of a policy in a mixture must be a positive number, got {share!r}")
        return (PolicyShare(name, float(share), tuple(settings.items())),)
    if not isinstance(given, list | tuple) or not given:
        raise BadInput(f"a policy is a name such as random or 3*random+cem, or {{name, **settings}}; got {given!r}")
    return tuple(share for one in given for share in ([one] if isinstance(one, PolicyShare) else policy_shares(one)))


def exploration(environment: Environment, given: Any, epsilon: float = 0.0, model: Any = None) -> Policy:
    """Builds a policy or a mixture, with a share of random actions, from what `policy_shares` accepts.

    `model` provides the policies prior and native. The others use the true dynamics.
    """
    require(0 <= epsilon <= 1, "epsilon must lie in [0, 1]", epsilon)
    shares = policy_shares(given)
    policies = [
        catalog.policy(one.name, environment, **dict(one.settings), **({"model": model} if _is_own(one, model) else {}))
        for one in shares
    ]
    if len(policies) == 1 and epsilon == 0:
        return policies[0]
    weights = np.array([one.share for one in shares])
    return Mixture(
        mixture_label(given), environment.spec.actions, policies, (weights / weights.sum()).tolist(), epsilon
    )


def mixture_label(given: Any) -> str:
    """A mixture as text."""
    return given if isinstance(given, str) else "+".join(one.label for one in policy_shares(given))


def uses_model_policy(given: Any) -> bool:
    """Whether a mixture contains a policy that a model provides."""
    return any(one.name in MODEL_POLICIES for one in policy_shares(given))


def _is_own(one: PolicyShare, model: Any) -> bool:
    return model is not None and one.name in MODEL_POLICIES


def _parse_share(part: str, text: str) -> PolicyShare:
    """One policy from text: a name, or a share, an asterisk and a name."""
    weight, star, name = part.strip().rpartition("*")
    try:
        share = float(weight) if star else 1.0
    except ValueError:
        raise BadInput(f"{text!r} is not a mixture of policies, such as random or 3*random+cem") from None
    require(0 < share < np.inf, "shares of a mixture must be positive", text)
    return PolicyShare(name.strip(), share)


def _own_memory(memory: dict[str, Array] | None, index: int) -> dict[str, Array] | None:
    """The memory of one of the policies."""
    prefix = f"{index}:"
    own = {name.removeprefix(prefix): array for name, array in (memory or {}).items() if name.startswith(prefix)}
    return own or None
