"""The contract of objectives: the cost of each step of a trajectory, and the reduction of these costs to one number."""

from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Protocol, TypeAlias

from wmel.arrays import Array
from wmel.errors import require
from wmel.parts import Meaning


@dataclass(frozen=True)
class ClosestApproach:
    """The lowest step cost. The plan is cut at the first step that reaches it.

    If the last step reaches it too, the whole plan is kept, as in the wmel 0.18 repository.
    """


@dataclass(frozen=True)
class DiscountedSum:
    """The discounted sum of all step costs. The whole plan is kept."""

    rate: float = 1.0

    def __post_init__(self):
        require(0 < self.rate <= 1, "a discount rate must lie in (0, 1]", self.rate)


Reduction: TypeAlias = ClosestApproach | DiscountedSum
Discount = Annotated[float, Meaning("discount factor of the step costs", above=0, at_most=1)]
ActionWeight = Annotated[
    float, Meaning("weight of the mean square of the actions, added to the cost of every step", at_least=0, below=inf)
]


@dataclass(frozen=True)
class ModelReward:
    """The reward that the model predicts, instead of a cost of observations. A gap then includes the reward's error."""

    reduction: Reduction = field(default_factory=DiscountedSum)
    name: str = "model-reward"


class Objective(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def reduction(self) -> Reduction: ...

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        """observations [M,H+1,O] including the start, action values [M,H,A], goals [M,G] -> step costs [M,H]"""
        ...
