"""Success criteria and stop rules of episodes. Success is judged only here."""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from wmel.errors import BadInput, parse_choice, require, require_whole


class When(StrEnum):
    """The steps at which the quantity is judged."""

    FIRST = "first"  # at any step
    AT_END = "at_end"  # at the last step
    SUSTAINED = "sustained"  # at `steps` steps in a row


class Stop(StrEnum):
    """What ends an episode before its last step."""

    SUCCESS = "success"
    HORIZON = "horizon"


@dataclass(frozen=True)
class Criterion:
    """An episode succeeds when a quantity of the environment meets a bound."""

    quantity: str
    at_least: float | None = None
    at_most: float | None = None
    when: When = When.FIRST
    steps: int = 1

    def __post_init__(self):
        if (self.at_least is None) == (self.at_most is None):
            raise BadInput(f"a criterion on {self.quantity!r} requires either at_least or at_most")
        object.__setattr__(self, "when", parse_choice(When, self.when))
        require_whole(self.steps, "the steps of a sustained success")
        require(self.steps == 1 or self.when is When.SUSTAINED, "only a sustained success has steps", self.steps)

    @classmethod
    def parse(cls, text: str) -> "Criterion":
        """Parses a criterion: reward>=0.6, distance<=0@at_end, reward>=0.6@sustained:10."""
        inequality, _, timing = text.replace(" ", "").partition("@")
        sign = ">=" if ">=" in inequality else "<="
        quantity, _, bound = inequality.partition(sign)
        when, _, steps = timing.partition(":")
        try:
            limit, consecutive = float(bound), int(steps) if steps else 1
        except ValueError:
            quantity = ""
        if not quantity.isidentifier() or not math.isfinite(limit):
            raise BadInput(f"{text!r} is not a success criterion; write 'reward>=0.6' or 'distance<=0@at_end'")
        bounds = {"at_least": limit} if sign == ">=" else {"at_most": limit}
        return cls(quantity, **bounds, when=parse_choice(When, when or When.FIRST), steps=consecutive)

    def __str__(self) -> str:
        sign, limit = (">=", self.at_least) if self.at_least is not None else ("<=", self.at_most)
        bound = f"{sign}{repr(float(limit or 0)).removesuffix('.0')}"
        timing = {When.FIRST: "", When.AT_END: "@at_end", When.SUSTAINED: f"@sustained:{self.steps}"}[self.when]
        return f"{self.quantity}{bound}{timing}"


def stop_rule(criterion: Criterion | None, stop: Stop | str | None) -> Stop:
    """The stop rule of an episode. The default is SUCCESS if the criterion is judged at every step, else HORIZON.

    Raises BadInput for a rule that does not fit the criterion.
    """
    if stop is None:
        return Stop.SUCCESS if criterion is not None and criterion.when is When.FIRST else Stop.HORIZON
    stop = parse_choice(Stop, stop)
    if stop is Stop.SUCCESS and criterion is None:
        raise BadInput("stop = success requires a criterion: give one, or set stop = horizon")
    if stop is Stop.SUCCESS and criterion is not None and criterion.when is not When.FIRST:
        raise BadInput(f"criterion '{criterion}' is judged over whole episodes: set stop = horizon, got stop = success")
    return stop


def is_met(criterion: Criterion, quantities: dict[str, np.ndarray]) -> np.ndarray:
    """Which episodes meet the bound of the criterion at this step: bool [B]."""
    if criterion.quantity not in quantities:
        known = ", ".join(quantities)
        raise BadInput(f"the environment has no quantity '{criterion.quantity}' for the criterion; known: {known}")
    values = quantities[criterion.quantity]
    return values >= criterion.at_least if criterion.at_least is not None else values <= criterion.at_most


def is_success(criterion: Criterion, streak: np.ndarray, is_last_step: bool | np.ndarray) -> np.ndarray:
    """Which episodes succeed at this step: bool [B]. `streak` [B] counts consecutive steps that meet the bound."""
    if criterion.when is When.AT_END:
        return (streak > 0) & is_last_step
    return streak >= criterion.steps
