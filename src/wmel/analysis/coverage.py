"""Where states were visited along an axis one can name: did the data ever go where the planner must?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wmel.errors import BadInput

BINS = 20


@dataclass(frozen=True)
class Coverage:
    """Visits along an axis from -top to top; shares lie beyond half and three quarters of the way up."""

    axis: str
    states: int
    mean: float
    most: float
    above_half: float
    above_three_quarters: float
    histogram: tuple[int, ...]  # of BINS equal parts of the axis


def has_axis(names: tuple[str, ...]) -> bool:
    """Whether observations with these components have an axis to be covered."""
    return any(name.startswith("cos") for name in names)


def uprightness(names: tuple[str, ...], observations: np.ndarray) -> np.ndarray | None:
    """The sum of the cosines among the components [...,O] -> [...]; None where there is none."""
    cosines = [place for place, name in enumerate(names) if name.startswith("cos")]
    return observations[..., cosines].sum(axis=-1) if cosines else None


def coverage(names: tuple[str, ...], observations: np.ndarray) -> Coverage | None:
    """How upright the visited states [N,O] were; None where nothing can be upright."""
    values = uprightness(names, observations)
    if values is None:
        return None
    values = values[np.isfinite(values)]
    if not len(values):
        raise BadInput("coverage needs at least one visited state, got none")
    top = float(sum(name.startswith("cos") for name in names))
    counts, _ = np.histogram(values.clip(-top, top), bins=BINS, range=(-top, top))
    return Coverage(
        "uprightness",
        len(values),
        float(values.mean()),
        float(values.max()),
        float((values > top / 2).mean()),
        float((values > 0.75 * top).mean()),
        tuple(int(count) for count in counts),
    )


def joined_coverage(parts: Sequence[Coverage]) -> Coverage:
    """The coverage of several sets of states as one."""
    states = sum(one.states for one in parts)

    def share(name: str) -> float:
        return sum(getattr(one, name) * one.states for one in parts) / states

    return Coverage(
        parts[0].axis,
        states,
        share("mean"),
        max(one.most for one in parts),
        share("above_half"),
        share("above_three_quarters"),
        tuple(sum(counts) for counts in zip(*(one.histogram for one in parts), strict=True)),
    )
