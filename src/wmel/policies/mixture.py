"""Several policies shared out over episodes, and a share of random actions: how data are explored."""

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
        kept = copy_memory(memory)
        for place, rows, decision in made:
            for name, array in (decision.memory or {}).items():
                kept[f"{place}:{name}"][rows] = array
            actions[rows, : np.shape(decision.actions)[1]] = decision.actions
            lengths[rows], steps[rows] = decision.lengths, decision.model_steps
            errors |= {int(rows[row]): message for row, message in decision.errors.items()}
        return Decision(self._explored(actions, streams), lengths, kept, steps, errors)

    def _chosen(self, streams: Streams) -> np.ndarray:
        """Which policy each episode belongs to: [B]"""
        drawn = Streams(streams.episode_seeds, np.zeros_like(streams.counters)).uniforms("mixture", (1,))[0, :, 0]
        return np.searchsorted(np.cumsum(self.shares)[:-1], drawn, side="right")

    def _explored(self, actions: np.ndarray, streams: Streams) -> np.ndarray:
        if self.epsilon == 0:
            return actions
        _, longest, width = actions.shape
        drawn = streams.uniforms("epsilon", (longest, 1 + width))[0]
        return np.where(drawn[..., :1] < self.epsilon, uniform_actions(self.actions, drawn[..., 1:]), actions)


@dataclass(frozen=True)
class PolicyShare:
    """One policy of a mixture, its settings, and its share of the episodes in proportion to the others."""

    name: str
    share: float = 1.0
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def label(self) -> str:
        settings = ",".join(f"{key}={value}" for key, value in self.settings)
        return ("" if self.share == 1 else f"{self.share:g}*") + self.name + (f"({settings})" if settings else "")


def policy_shares(given: Any) -> tuple[PolicyShare, ...]:
    """The policies of a mixture: as text (random, 3*random+cem), as {name, share, **settings}, or a list of these."""
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
    """A policy, or a mixture of several, as `policy_shares` takes them, with a share of random actions.

    `model` is what prior and native act by; the others plan on the true dynamics.
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
    """A mixture as people write it."""
    return given if isinstance(given, str) else "+".join(one.label for one in policy_shares(given))


def acting_itself(given: Any) -> bool:
    """Whether a policy is, in part, a model's own."""
    return any(one.name in ITS_OWN for one in policy_shares(given))


def _is_own(one: PolicyShare, model: Any) -> bool:
    return model is not None and one.name in ITS_OWN


def _parse_share(part: str, text: str) -> PolicyShare:
    """One policy as it is typed: a name, or a share, a star and a name."""
    weight, star, name = part.strip().rpartition("*")
    try:
        share = float(weight) if star else 1.0
    except ValueError:
        raise BadInput(f"{text!r} is no mixture of policies; write one like random, or 3*random+cem") from None
    require(0 < share < np.inf, "shares of a mixture must be positive", text)
    return PolicyShare(name.strip(), share)


def _own(memory: dict[str, Array] | None, place: int) -> dict[str, Array] | None:
    """What one of the policies remembers, where it remembers anything."""
    prefix = f"{place}:"
    own = {name.removeprefix(prefix): array for name, array in (memory or {}).items() if name.startswith(prefix)}
    return own or None
