"""upright and smooth-upright: poles and arms that point up, by the cosines among what is observed."""

from dataclasses import dataclass, field

from wmel.arrays import Array
from wmel.contract.environment import Environment
from wmel.contract.objective import ClosestApproach, Discount, DiscountedSum, Reduction
from wmel.errors import BadInput


@dataclass(frozen=True)
class Upright:
    """Minus the sum of some components of the observation: for arms of length one, minus the height of the tip."""

    cosines: tuple[int, ...]
    reduction: Reduction = field(default_factory=ClosestApproach)
    name: str = "upright"

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        return -sum(ahead[:, :, cosine] for cosine in self.cosines)


@dataclass(frozen=True)
class SmoothUpright:
    """The share of the way to upright that is missing, 0 to 1, at every step of the plan."""

    cosines: tuple[int, ...]
    reduction: Reduction = field(default_factory=DiscountedSum)
    name: str = "smooth-upright"

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        return sum(1 - ahead[:, :, cosine] for cosine in self.cosines) / (2 * len(self.cosines))


def upright(environment: Environment) -> Upright:
    """The documents' score of acrobot and cartpole: the highest point along the plan, where it is cut."""
    return Upright(_cosines(environment))


def smooth_upright(environment: Environment, discount: Discount = 1.0) -> SmoothUpright:
    """How upright along the whole plan."""
    return SmoothUpright(_cosines(environment), DiscountedSum(discount))


def _cosines(environment: Environment) -> tuple[int, ...]:
    found = tuple(k for k, name in enumerate(environment.spec.observation) if name.startswith("cos"))
    if not found:
        raise BadInput(f"{environment.spec.name} observes no cosine of an angle: nothing there can be upright")
    return found
