"""Where a model and an objective meet: the cost of candidate action sequences, as a planner sees it."""

from dataclasses import dataclass

from wmel.arrays import Array, as_like, contiguous, namespace_of, one_hot, repeat_rows
from wmel.contract.abilities import able
from wmel.contract.objective import ModelReward, Objective
from wmel.contract.planner import CandidateCosts
from wmel.contract.spaces import Box, Space
from wmel.contract.world_model import RewardsItself, WorldModel
from wmel.models.reductions import reduced
from wmel.models.rollout import decoded, rollout

BYTES_PER_CHUNK = 1 << 20  # imagined observations at a time: what a core's cache holds


@dataclass(frozen=True, eq=False)
class ImaginedCost:
    """Callable on candidates [B,N,H,A]; rows are imagined in chunks that fit the cache.

    The chunk changes memory and no result, but for the last digits of a model's matrix products.
    """

    model: WorldModel
    objective: Objective | ModelReward
    space: Space
    latents: Array  # [B,Z]
    goals: Array  # [B,G]
    observation_width: int
    bytes_per_chunk: int = BYTES_PER_CHUNK

    def __call__(self, candidates: Array) -> CandidateCosts:
        batch, count, horizon, width = candidates.shape
        widest = max(self.observation_width, self.latents.shape[1])
        rows = max(1, self.bytes_per_chunk // (4 * (horizon + 1) * widest))
        actions = candidates.reshape(batch * count, horizon, width)
        parts = [self._imagine(start, count, actions[start : start + rows]) for start in range(0, len(actions), rows)]
        xp = namespace_of(parts[0].costs)
        costs = xp.concatenate([part.costs for part in parts]).reshape(batch, count)
        lengths = xp.concatenate([part.lengths for part in parts]).reshape(batch, count)
        return CandidateCosts(costs, lengths)

    def _imagine(self, start: int, count: int, actions: Array) -> CandidateCosts:
        """Costs of some rows [M,H,A], the first of which is row `start` of B episodes x `count` candidates."""
        length = len(actions)
        spare = -length % self.model.spec.rows_at_once
        if spare:
            actions = namespace_of(actions).concatenate([actions, repeat_rows(actions[-1:], spare)])
        by_step = contiguous(actions.swapaxes(0, 1))  # what is read step by step lies step by step in memory
        values = self.space.as_values(by_step).swapaxes(0, 1)
        latents, goals = (_spread(rows, start, count, length, spare) for rows in (self.latents, self.goals))
        inputs = model_input(self.model, self.space, by_step.swapaxes(0, 1), values)
        trajectory = rollout(self.model, latents, inputs)
        costs = self._costs(trajectory, inputs, values, goals)
        return reduced(self.objective.reduction, costs[:length])

    def _costs(self, trajectory: Array, inputs: Array, values: Array, goals: Array) -> Array:
        """Of steps 1..H of imagined trajectories [M,H+1,Z]."""
        if isinstance(self.objective, ModelReward):
            assert able(self.model, RewardsItself), "a policy checks that its model has a reward"
            return -self.model.rewards(trajectory, inputs)
        observations = decoded(self.model, trajectory)
        costs = self.objective.costs(observations, values, as_like(goals, observations))
        finite = namespace_of(observations).isfinite(observations)
        if finite.all():
            return costs
        return namespace_of(costs).where(finite[:, 1:].all(-1), costs, float("inf"))  # whatever an objective reads


def model_input(model: WorldModel, space: Space, actions: Array, values: Array) -> Array:
    """Actions [...,A] as the model takes them: finite ones as index, value or one-hot, whatever its spec asks for."""
    if isinstance(space, Box) or model.spec.action_input == "value":
        return values
    return actions if model.spec.action_input == "index" else one_hot(actions[..., 0], space.count)


def _spread(rows: Array, start: int, count: int, length: int, spare: int) -> Array:
    """Rows [B,...], each repeated `count` times; of those the `length` from `start` on, the last `spare` times more."""
    first, last = start // count, -(-(start + length) // count)
    chosen = repeat_rows(rows[first:last], count)[start - first * count :][:length]
    return namespace_of(chosen).concatenate([chosen, repeat_rows(chosen[-1:], spare)]) if spare else chosen
