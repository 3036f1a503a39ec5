"""The planner of TD-MPC2: MPPI in latent space, with samples of the policy prior and a value after the last step."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array, as_like, namespace_of, no_grad_unless_required, order_by_cost, pick, to_numpy
from wmel.contract.environment import Box, Environment, Finite, Space
from wmel.contract.policy import Decision, Percept
from wmel.errors import BadInput
from wmel.models.imagine import rollout
from wmel.randomness import Streams, normals

MIN_DEVIATION, MAX_DEVIATION = 0.05, 2.0  # of the samples, in halves of the action range
SEARCH_SETTINGS = ("plan_horizon", "iterations", "candidates", "from_policy", "elites", "temperature")
WIDE_ACTION, EXTRA_ITERATIONS = 20, 2  # actions with at least 20 components take 2 more iterations


@dataclass(frozen=True, eq=False)
class LatentMPPI:
    """Executes the first action of one of the elites, sampled by weight. The defaults are the published settings."""

    space: Space
    low: np.ndarray  # [A] of the model's actions
    high: np.ndarray
    model: Any  # with rewards, action values and a policy
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
            "planner": {"name": "latent-mppi", **{name: getattr(self, name) for name in SEARCH_SETTINGS}},
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
            actions, mean = self._optimise(latents, memory["mean"], streams)
        shifted = np.concatenate([to_numpy(mean)[:, 1:], np.zeros_like(memory["mean"][:, :1])], axis=1)
        chosen = self.space.nearest(self._unscale(to_numpy(actions)))
        steps = np.full(count, self.compute_per_plan_call)
        return Decision(chosen[:, None], np.ones(count, np.int64), {"mean": shifted}, steps)

    def _optimise(self, latents: Array, previous: np.ndarray, streams: Streams) -> tuple[Array, Array]:
        """An action [B,A] in [-1, 1] for each episode, and the mean [B,H,A] of the final distribution."""
        xp, width = namespace_of(latents), len(self.low)
        sampled = self.candidates - self.from_policy
        noise = self._sample_noise(streams, "mppi", (sampled, self.plan_horizon, width), latents)
        policy_noise = self._sample_noise(streams, "mppi policy", (self.from_policy, self.plan_horizon, width), latents)
        value_noise = self._sample_noise(streams, "mppi value", (self.candidates, width), latents)
        critics = streams.uniforms("mppi critics", (2,), self.iterations)
        policy_sequences = self._sample_policy_sequences(latents, policy_noise[0])
        mean, deviation = as_like(previous, latents), xp.full_like(as_like(previous, latents), MAX_DEVIATION)
        elites = weights = None
        for iteration in range(self.iterations):
            candidates = xp.clip(mean[:, None] + deviation[:, None] * noise[iteration], -1, 1)
            candidates = xp.concatenate([policy_sequences, candidates], axis=1)
            values = self._estimate_returns(latents, candidates, value_noise[iteration], critics[iteration])
            order = order_by_cost(-values)[:, : self.elites]
            elites, best = pick(candidates, order), pick(values, order)
            weights = xp.exp(self.temperature * (best - best[:, :1]))
            weights = (weights / weights.sum(1)[:, None])[:, :, None, None]
            mean = (weights * elites).sum(1)
            deviation = xp.clip(xp.sqrt((weights * (elites - mean[:, None]) ** 2).sum(1)), MIN_DEVIATION, MAX_DEVIATION)
        assert elites is not None and weights is not None
        uniforms = as_like(streams.uniforms("mppi elite", (1,))[0], latents)
        index = (xp.cumsum(weights[:, :, 0, 0], 1) < uniforms).sum(1).clip(0, self.elites - 1)
        return pick(elites, index[:, None])[:, 0, 0], mean

    def _sample_policy_sequences(self, latents: Array, noise: Array) -> Array:
        """Actions [B,P,H,A] sampled from the model's policy along its own rollouts."""
        batch, count = noise.shape[:2]
        latents, actions = self._repeat(latents, count), []
        for step in range(self.plan_horizon):
            values = self.model.policy(latents, noise[:, :, step].reshape(batch * count, -1))
            latents = self.model.step(latents, values)
            actions.append(self._scale(values).reshape(batch, count, 1, -1))
        return namespace_of(latents).concatenate(actions, axis=2)

    def _estimate_returns(self, latents: Array, candidates: Array, noise: Array, critics: np.ndarray) -> Array:
        """Returns [B,N] of candidates [B,N,H,A]: discounted rewards, and the mean of two critics after the last step.

        The uniforms `critics` [B,2] select the critics.
        """
        batch, count = candidates.shape[:2]
        actions = self._unscale(candidates.reshape(batch * count, self.plan_horizon, -1))
        trajectory = rollout(self.model, self._repeat(latents, count), actions)
        rewards, rate = self.model.rewards(trajectory, actions), self.model.discount()
        end = trajectory[:, -1]
        last = self.model.policy(end, noise.reshape(batch * count, -1))
        values = self.model.action_values(end, last).reshape(-1, batch, count)
        one, other = sample_pairs(len(values), critics)
        total = rate**self.plan_horizon * (values[one, np.arange(batch)] + values[other, np.arange(batch)]) / 2
        for step in range(self.plan_horizon):
            total = total + rate**step * rewards[:, step].reshape(batch, count)
        return total

    def _sample_noise(self, streams: Streams, purpose: str, shape: tuple[int, ...], like: Array) -> Array:
        """Standard normals [iterations,B,*shape]."""
        width = shape[-1]
        uniforms = streams.uniforms(purpose, (*shape[:-1], width + width % 2), self.iterations)
        return normals(as_like(uniforms, like))[..., :width]

    def _repeat(self, latents: Array, times: int) -> Array:
        return latents[as_like(np.repeat(np.arange(len(latents)), times), latents)]

    def _scale(self, values: Array) -> Array:
        low, high = (as_like(bound, values) for bound in (self.low, self.high))
        return 2 * (values - low) / (high - low) - 1

    def _unscale(self, actions: Array) -> Array:
        low, high = (as_like(bound, actions) for bound in (self.low, self.high))
        return low + (actions + 1) / 2 * (high - low)


def sample_pairs(count: int, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two distinct indices below `count` for each row of uniforms [B,2]. All pairs are equally likely.

    If `count` is 1, both are 0.
    """
    one = np.floor(uniforms[:, 0] * count).astype(np.int64)
    other = np.floor(uniforms[:, 1] * (count - 1)).astype(np.int64)
    return one, np.minimum(other + (other >= one), count - 1)


def latent_mppi(environment: Environment, model: Any, *, iterations: int | None = None, **search: Any) -> LatentMPPI:
    """The planner for an environment whose actions are numbers, or finite levels of numbers.

    The default number of iterations is the published one, which is larger for wide actions.
    """
    space = check_numeric_actions(environment, model)
    if iterations is None:
        is_wide = isinstance(space, Box) and space.width >= WIDE_ACTION
        iterations = LatentMPPI.iterations + (EXTRA_ITERATIONS if is_wide else 0)
    if isinstance(space, Box):
        return LatentMPPI(space, space.low, space.high, model, iterations=iterations, **search)
    assert space.values is not None
    return LatentMPPI(space, space.values.min(0), space.values.max(0), model, iterations=iterations, **search)


def check_numeric_actions(environment: Environment, model: Any) -> Space:
    """The action space of an environment. Raises BadInput if its actions have no numeric values."""
    space = environment.spec.actions
    if isinstance(space, Finite) and space.values is None:
        raise BadInput(f"the actions of {environment.spec.name} are not numeric: {model.spec.name} cannot choose them")
    return space
