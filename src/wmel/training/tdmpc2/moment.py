"""How a training stands, as its curve has it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """After so many updates."""

    updates: int
    transitions: int
    seconds: float
    mean_return: float | None  # of the round that just ended
    losses: dict[str, float]
