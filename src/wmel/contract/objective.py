"""What a planner is to minimise along an imagined trajectory, and how steps become one number."""

from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Protocol, TypeAlias

from wmel.arrays import Array
from wmel.errors import require
from wmel.parts import Meaning


@dataclass(frozen=True)
class ClosestApproach:
    """The lowest step cost counts, and the plan is cut where it is first reached.

    When the last step reaches it too, the whole plan is kept.
    """


@dataclass(frozen=True)
class DiscountedSum:
    """All step costs count, each step worth `rate` times the one before; the whole plan is kept."""

    rate: float = 1.0

    def __post_init__(self):
        require(0 < self.rate <= 1, "a discount rate must lie in (0, 1]", self.rate)


Reduction: TypeAlias = ClosestApproach | DiscountedSum
Discount = Annotated[float, Meaning("worth of a step, as a share of the step before", above=0, at_most=1)]
ActionWeight = Annotated[
    float, Meaning("weight of the mean square of the actions, added to the cost of every step", at_least=0, below=inf)
]


@dataclass(frozen=True)
class ModelReward:
    """Not a score of observations but the reward the model itself gives: a gap under it is of model and score."""

    reduction: Reduction = field(default_factory=DiscountedSum)
    name: str = "model-reward"


class Objective(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def reduction(self) -> Reduction: ...

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        """observations [M,H+1,O] from the start on, action values [M,H,A], goals [M,G] -> costs of steps 1..H [M,H]"""
        ...
