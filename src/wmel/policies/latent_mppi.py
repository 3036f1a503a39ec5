"""TD-MPC2's own planner: MPPI in latent space, with draws of the policy among the candidates and a value at the end."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array, as_like, namespace_of, no_grad_unless_required, order_by_cost, pick, to_numpy
from wmel.contract.environment import Box, Environment, Finite, Space
from wmel.contract.policy import Decision, Percept
from wmel.errors import BadInput
from wmel.models.imagine import rollout
from wmel.randomness import Streams, normals

LEAST, MOST = 0.05, 2.0  # deviation of a draw, in halves of the action range
SEARCH = ("plan_horizon", "iterations", "candidates", "from_policy", "elites", "temperature")
WIDE, MORE_ITERATIONS = 20, 2  # actions so wide are planned so much longer


@dataclass(frozen=True, eq=False)
class LatentMPPI:
    """The published settings; the first action of one of the elites, drawn by weight, is executed."""

    space: Space
    low: np.ndarray  # [A] of the model's actions
    high: np.ndarray
    model: Any  # with rewards, values and a policy of its own
    plan_horizon: int = 3
    iterations: int = 6
    candidates: int = 512
    from_policy: int = 24
    elites: int = 64
    temperature: float = 0.5
    name: str = "native"
    reads: Literal["observation", "state"] = "observation"

    @property
    def compute_per_plan_call(self) -> int:
        return self.plan_horizon * (self.iterations * self.candidates + self.from_policy)

    @property
    def settings(self) -> dict[str, Any]:
        spec = self.model.spec
        return {
            "model": spec.name,
            "weights": spec.weights,
            "planner": {"name": "latent-mppi", **{name: getattr(self, name) for name in SEARCH}},
            "plan_horizon": self.plan_horizon,
            "evaluations": self.iterations * self.candidates,
            "execute": 1,
        }

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array]:
        shape = (len(percept), self.plan_horizon, len(self.low))
        return {"mean": np.zeros(shape, np.float32)} if memory is None else memory

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        assert memory is not None, "act follows observe"
        count = len(percept)
        latents = self.model.encode(percept.visible_to(self.reads), None)
        with no_grad_unless_required(latents):
            actions, mean = self._planned(latents, memory["mean"], streams)
        shifted = np.concatenate([to_numpy(mean)[:, 1:], np.zeros_like(memory["mean"][:, :1])], axis=1)
        chosen = self.space.nearest(self._unscaled(to_numpy(actions)))
        steps = np.full(count, self.compute_per_plan_call)
        return Decision(chosen[:, None], np.ones(count, np.int64), {"mean": shifted}, steps)

    def _planned(self, latents: Array, previous: np.ndarray, streams: Streams) -> tuple[Array, Array]:
        """An action [B,A] from -1 to 1 for each episode, and the mean of the last draw [B,H,A]."""
        xp, width = namespace_of(latents), len(self.low)
        drawn = self._noise(streams, "mppi", (self.candidates - self.from_policy, self.plan_horizon, width), latents)
        own = self._noise(streams, "mppi policy", (self.from_policy, self.plan_horizon, width), latents)[0]
        last = self._noise(streams, "mppi value", (self.candidates, width), latents)
        critics = streams.uniforms("mppi critics", (2,), self.iterations)
        own_actions = self._policy_sequences(latents, own)
        mean, deviation = as_like(previous, latents), xp.full_like(as_like(previous, latents), MOST)
        elites = weights = None
        for now in range(self.iterations):
            candidates = xp.clip(mean[:, None] + deviation[:, None] * drawn[now], -1, 1)
            candidates = xp.concatenate([own_actions, candidates], axis=1)
            values = self._values(latents, candidates, last[now], critics[now])
            order = order_by_cost(-values)[:, : self.elites]
            elites, best = pick(candidates, order), pick(values, order)
            weights = xp.exp(self.temperature * (best - best[:, :1]))
            weights = (weights / weights.sum(1)[:, None])[:, :, None, None]
            mean = (weights * elites).sum(1)
            deviation = xp.clip(xp.sqrt((weights * (elites - mean[:, None]) ** 2).sum(1)), LEAST, MOST)
        assert elites is not None and weights is not None
        place = as_like(streams.uniforms("mppi elite", (1,))[0], latents)
        index = (xp.cumsum(weights[:, :, 0, 0], 1) < place).sum(1).clip(0, self.elites - 1)
        return pick(elites, index[:, None])[:, 0, 0], mean

    def _policy_sequences(self, latents: Array, noise: Array) -> Array:
        """Actions [B,P,H,A] that the model's policy draws as it goes."""
        count, wide = noise.shape[:2]
        now, made = self._repeated(latents, wide), []
        for step in range(self.plan_horizon):
            values = self.model.policy(now, noise[:, :, step].reshape(count * wide, -1))
            now = self.model.step(now, values)
            made.append(self._scaled(values).reshape(count, wide, 1, -1))
        return namespace_of(latents).concatenate(made, axis=2)

    def _values(self, latents: Array, candidates: Array, noise: Array, critics: np.ndarray) -> Array:
        """Discounted rewards of candidates [B,N,H,A] and what two critics, drawn by [B,2], make of their end: [B,N]"""
        count, wide = candidates.shape[:2]
        actions = self._unscaled(candidates.reshape(count * wide, self.plan_horizon, -1))
        trajectory = rollout(self.model, self._repeated(latents, wide), actions)
        rewards, rate = self.model.rewards(trajectory, actions), self.model.discount()
        end = trajectory[:, -1]
        last = self.model.policy(end, noise.reshape(count * wide, -1))
        judged = self.model.action_values(end, last).reshape(-1, count, wide)
        one, other = two_of(len(judged), critics)
        total = rate**self.plan_horizon * (judged[one, np.arange(count)] + judged[other, np.arange(count)]) / 2
        for step in range(self.plan_horizon):
            total = total + rate**step * rewards[:, step].reshape(count, wide)
        return total

    def _noise(self, streams: Streams, purpose: str, shape: tuple[int, ...], like: Array) -> Array:
        """Standard normals for every iteration: [iterations,B,*shape]"""
        width = shape[-1]
        uniforms = streams.uniforms(purpose, (*shape[:-1], width + width % 2), self.iterations)
        return normals(as_like(uniforms, like))[..., :width]

    def _repeated(self, latents: Array, times: int) -> Array:
        return latents[as_like(np.repeat(np.arange(len(latents)), times), latents)]

    def _scaled(self, values: Array) -> Array:
        low, high = (as_like(bound, values) for bound in (self.low, self.high))
        return 2 * (values - low) / (high - low) - 1

    def _unscaled(self, actions: Array) -> Array:
        low, high = (as_like(bound, actions) for bound in (self.low, self.high))
        return low + (actions + 1) / 2 * (high - low)


def two_of(count: int, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two different numbers below a count, every pair as likely, for each row of [B,2]; of one the same twice."""
    one = np.floor(uniforms[:, 0] * count).astype(np.int64)
    other = np.floor(uniforms[:, 1] * (count - 1)).astype(np.int64)
    return one, np.minimum(other + (other >= one), count - 1)


def latent_mppi(environment: Environment, model: Any, *, iterations: int | None = None, **search: Any) -> LatentMPPI:
    """The planner for an environment whose actions are numbers, or levels of numbers.

    Without a number of iterations the published one is taken: two more where actions are wide.
    """
    space = actions_in_numbers(environment, model)
    if iterations is None:
        is_wide = isinstance(space, Box) and space.width >= WIDE
        iterations = LatentMPPI.iterations + (MORE_ITERATIONS if is_wide else 0)
    if isinstance(space, Box):
        return LatentMPPI(space, space.low, space.high, model, iterations=iterations, **search)
    assert space.values is not None
    return LatentMPPI(space, space.values.min(0), space.values.max(0), model, iterations=iterations, **search)


def actions_in_numbers(environment: Environment, model: Any) -> Space:
    """The actions of an environment; a model that gives numbers is refused others."""
    space = environment.spec.actions
    if isinstance(space, Finite) and space.values is None:
        raise BadInput(f"the actions of {environment.spec.name} are no numbers: {model.spec.name} cannot choose them")
    return space
