"""Policies that do not plan: random actions, one greedy step, the policy of a model, and mixtures for exploration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel import catalog
from wmel.arrays import Array, copy_memory, no_grad_unless_required, take_rows, to_numpy
from wmel.contract.environment import Environment, Space, Walkable
from wmel.contract.policy import Decision, Percept, Policy, StatelessPolicy
from wmel.contract.world_model import HasPolicy
from wmel.errors import BadInput, is_number, require
from wmel.models.callable_model import adapt_model
from wmel.parts import implements
from wmel.planners.search import uniform_actions
from wmel.policies.latent_mppi import check_numeric_actions
from wmel.randomness import Streams


@dataclass(frozen=True)
class RandomPolicy(StatelessPolicy):
    """Samples all remaining actions at once, uniformly."""

    actions: Space
    name: str = "random"
    reads: Literal["observation", "state"] = "observation"

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        uniforms = streams.uniforms("act", (int(percept.steps_left.max()), self.actions.width))
        actions = uniform_actions(self.actions, uniforms[0])
        return Decision(actions, percept.steps_left, None, np.zeros(len(percept), np.int64))


def random_policy(environment: Environment) -> RandomPolicy:
    """The random policy of an environment."""
    return RandomPolicy(environment.spec.actions)


@dataclass(frozen=True)
class Greedy(StatelessPolicy):
    """An open-loop plan that ignores walls: first along the first axis, then along the next."""

    environment: Walkable
    name: str = "greedy"
    reads: Literal["observation", "state"] = "state"

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        if percept.state is None:
            raise BadInput("greedy requires the true state to find the waypoint, and the percept has none")
        steps = int(percept.steps_left.max())
        actions = np.zeros((len(percept), steps, 1), np.int32)
        lengths = np.zeros(len(percept), np.int64)
        moves, target = self.environment.displacements(), self.environment.waypoint(percept.state)
        position = percept.observation[:, : percept.goal.shape[1]].copy()
        for step in range(steps):
            arrived = (position == target).all(axis=1)
            target = np.where(arrived[:, None], percept.goal, target)
            offset = target - position
            is_moving = offset.any(axis=1) & (step < percept.steps_left)
            if not is_moving.any():
                break
            chosen = _choose_moves(offset, moves)
            actions[:, step, 0] = chosen
            lengths += is_moving
            position += np.where(is_moving[:, None], moves[chosen], 0)
        return Decision(actions[:, : max(1, lengths.max())], lengths, None, np.zeros(len(percept), np.int64))


def _choose_moves(offset: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """The action [B] that moves along the first axis with a nonzero offset [B,G]."""
    axis = (offset != 0).argmax(axis=1)
    direction = np.zeros_like(offset)
    rows = np.arange(len(offset))
    direction[rows, axis] = np.sign(offset[rows, axis])
    return (direction[:, None, :] * moves).sum(axis=2).argmax(axis=1)


def greedy(environment: Environment) -> Greedy:
    """The greedy policy of a `Walkable` environment. Raises BadInput for any other."""
    if not implements(environment, Walkable):
        raise BadInput(
            f"greedy requires an environment that declares moves and a waypoint, and {environment.spec.name} does not; "
            "choose another policy"
        )
    return Greedy(environment)


@dataclass(frozen=True, eq=False)
class Prior(StatelessPolicy):
    """Executes the mean action of the model's policy."""

    space: Space
    model: Any  # a HasPolicy model
    name: str = "prior"
    reads: Literal["observation", "state"] = "observation"
    compute_per_plan_call: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        return {"model": self.model.spec.name, "weights": self.model.spec.weights, "execute": 1}

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        count = len(percept)
        latents = self.model.encode(percept.visible_to(self.reads), None)
        with no_grad_unless_required(latents):
            values = to_numpy(self.model.policy(latents, None))
        chosen = self.space.nearest(values)
        return Decision(chosen[:, None], np.ones(count, np.int64), None, np.zeros(count, np.int64))


def prior(environment: Environment, model: Any = None) -> Prior:
    """The policy of a model. Raises BadInput for a model without one."""
    if model is None:
        raise BadInput("the policy prior needs a model with a policy of its own: run and esnr take --model=FOLDER")
    interface, adapted = adapt_model(model)
    if not implements(adapted, HasPolicy):
        name = adapted.spec.name if interface == "batched" else type(adapted).__name__
        raise BadInput(f"{name} has no policy of its own, as prior needs; a tdmpc2 has one")
    return Prior(check_numeric_actions(environment, adapted), adapted)


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


def policy_shares(mixture: Any) -> tuple[PolicyShare, ...]:
    """The policies of a mixture, from text (random, 3*random+cem), {name, share, **settings} or a list of these."""
    if isinstance(mixture, str):
        return tuple(_parse_share(part, mixture) for part in mixture.split("+"))
    if isinstance(mixture, Mapping):
        name, settings = catalog.name_and_settings(mixture, "policy")
        share = settings.pop("share", 1.0)
        if not is_number(share) or not 0 < share < np.inf:
            raise BadInput(f"the share of a policy in a mixture must be a positive number, got {share!r}")
        return (PolicyShare(name, float(share), tuple(settings.items())),)
    if not isinstance(mixture, list | tuple) or not mixture:
        raise BadInput(f"a policy is a name such as random or 3*random+cem, or {{name, **settings}}; got {mixture!r}")
    return tuple(share for one in mixture for share in ([one] if isinstance(one, PolicyShare) else policy_shares(one)))


def exploration(environment: Environment, mixture: Any, epsilon: float = 0.0, model: Any = None) -> Policy:
    """Builds a policy or a mixture, with a share of random actions, from what `policy_shares` accepts.

    `model` provides the policies prior and native. The others use the true dynamics.
    """
    require(0 <= epsilon <= 1, "epsilon must lie in [0, 1]", epsilon)
    shares = policy_shares(mixture)
    policies = [
        catalog.policy(one.name, environment, **dict(one.settings), **({"model": model} if _is_own(one, model) else {}))
        for one in shares
    ]
    if len(policies) == 1 and epsilon == 0:
        return policies[0]
    weights = np.array([one.share for one in shares])
    return Mixture(
        mixture_label(mixture), environment.spec.actions, policies, (weights / weights.sum()).tolist(), epsilon
    )


def mixture_label(mixture: Any) -> str:
    """A mixture as text."""
    return mixture if isinstance(mixture, str) else "+".join(one.label for one in policy_shares(mixture))


def uses_model_policy(mixture: Any) -> bool:
    """Whether a mixture contains a policy that a model provides."""
    return any(one.name in MODEL_POLICIES for one in policy_shares(mixture))


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
