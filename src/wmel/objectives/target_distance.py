"""target-distance: how far away a target is that the observation points at."""

from dataclasses import dataclass, field

from wmel.arrays import Array, namespace_of
from wmel.contract.environment import Environment
from wmel.contract.objective import ClosestApproach, Reduction
from wmel.errors import BadInput


@dataclass(frozen=True)
class TargetDistance:
    """The length of the vector some components of the observation make."""

    towards: tuple[int, ...]
    reduction: Reduction = field(default_factory=ClosestApproach)
    name: str = "target-distance"

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        return namespace_of(observations).sqrt(sum(ahead[:, :, part] ** 2 for part in self.towards))


def target_distance(environment: Environment) -> TargetDistance:
    """The documents' score of reacher: the closest point along the plan, where it is cut."""
    towards = tuple(k for k, name in enumerate(environment.spec.observation) if name.startswith("to_target"))
    if not towards:
        raise BadInput(f"{environment.spec.name} observes no vector to a target")
    return TargetDistance(towards)
