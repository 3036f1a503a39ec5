"""A training that can go no further."""

from wmel.contract.trainer import Trained
from wmel.errors import BadInput


class Diverged(BadInput):
    """A loss or a reward became NaN or infinite, or a simulation broke; what the best weights before that make."""

    def __init__(self, message: str, best: Trained | None = None):
        super().__init__(message)
        self.best = best


def no_number(updates: int, losses: dict[str, float]) -> Diverged:
    """What to say of a loss or a reward."""
    said = ", ".join(f"{name} {value:.3g}" for name, value in losses.items())
    return Diverged(f"a loss or a reward became NaN or infinite by update {updates}: {said}")
