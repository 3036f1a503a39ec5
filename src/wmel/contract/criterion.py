"""When an episode has succeeded, and when it stops: the one place where success is judged."""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from wmel.errors import BadInput, parse_choice, require, require_whole


class When(StrEnum):
    """The moment at which the quantity is judged."""

    FIRST = "first"  # at any step
    AT_END = "at_end"  # at the last step
    SUSTAINED = "sustained"  # at `steps` steps in a row


class Stop(StrEnum):
    """What ends an episode before its last step."""

    SUCCESS = "success"
    HORIZON = "horizon"


@dataclass(frozen=True)
class Criterion:
    """Success = a quantity of the environment on the right side of one bound."""

    quantity: str
    at_least: float | None = None
    at_most: float | None = None
    when: When = When.FIRST
    steps: int = 1

    def __post_init__(self):
        if (self.at_least is None) == (self.at_most is None):
            raise BadInput(f"a criterion on {self.quantity!r} needs either at_least or at_most")
        object.__setattr__(self, "when", parse_choice(When, self.when))
        require_whole(self.steps, "the steps of a sustained success")
        require(self.steps == 1 or self.when is When.SUSTAINED, "only a sustained success takes steps", self.steps)

    @classmethod
    def parse(cls, text: str) -> "Criterion":
        """A criterion as `str` writes it: reward>=0.6, distance<=0@at_end, reward>=0.6@sustained:10."""
        bounded, _, moment = text.replace(" ", "").partition("@")
        sign = ">=" if ">=" in bounded else "<="
        quantity, _, bound = bounded.partition(sign)
        when, _, steps = moment.partition(":")
        try:
            limit, in_a_row = float(bound), int(steps) if steps else 1
        except ValueError:
            quantity = ""
        if not quantity.isidentifier() or not math.isfinite(limit):
            raise BadInput(f"{text!r} is no criterion of success; write one like 'reward>=0.6' or 'distance<=0@at_end'")
        bounds = {"at_least": limit} if sign == ">=" else {"at_most": limit}
        return cls(quantity, **bounds, when=parse_choice(When, when or When.FIRST), steps=in_a_row)

    def __str__(self) -> str:
        sign, limit = (">=", self.at_least) if self.at_least is not None else ("<=", self.at_most)
        bound = f"{sign}{repr(float(limit or 0)).removesuffix('.0')}"
        moment = {When.FIRST: "", When.AT_END: "@at_end", When.SUSTAINED: f"@sustained:{self.steps}"}[self.when]
        return f"{self.quantity}{bound}{moment}"


def stop_rule(criterion: Criterion | None, stop: Stop | str | None) -> Stop:
    """The rule asked for, or the one that fits: stop at a success that is established at once, else run to the end.

    Refused: a rule that makes the criterion meaningless.
    """
    if stop is None:
        return Stop.SUCCESS if criterion is not None and criterion.when is When.FIRST else Stop.HORIZON
    stop = parse_choice(Stop, stop)
    if stop is Stop.SUCCESS and criterion is None:
        raise BadInput("without a criterion there is no success to stop at: give one, or stop = horizon")
    if stop is Stop.SUCCESS and criterion is not None and criterion.when is not When.FIRST:
        raise BadInput(
            f"success '{criterion}' is judged over whole episodes: it needs stop = horizon, got stop = success"
        )
    return stop


def held(criterion: Criterion, quantities: dict[str, np.ndarray]) -> np.ndarray:
    """Where the quantity is on the right side of its bound at this step: bool [B]."""
    if criterion.quantity not in quantities:
        known = ", ".join(quantities)
        raise BadInput(f"the environment has no quantity '{criterion.quantity}' to judge success by; known: {known}")
    values = quantities[criterion.quantity]
    return values >= criterion.at_least if criterion.at_least is not None else values <= criterion.at_most


def succeeded(criterion: Criterion, streak: np.ndarray, is_last_step: bool | np.ndarray) -> np.ndarray:
    """Where success is established at this step, given how many steps in a row [B] the criterion has held."""
    if criterion.when is When.AT_END:
        return (streak > 0) & is_last_step
    return streak >= criterion.steps
