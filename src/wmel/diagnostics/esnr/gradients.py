"""Sampled gradients, whatever estimator they came from."""

from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array, to_numpy

RESOLUTION = {4: 2e-7, 8: 1e-14}  # bytes of a number -> what differs by less than this share of itself is the same


@dataclass(frozen=True, eq=False)
class Gradients:
    """S gradients at each of B observations, and what they took."""

    samples: np.ndarray  # [B,S,D] float64
    flat: np.ndarray  # [B] whether every action sequence had the same return there
    model_steps: int
    out_of_range: float  # share of drawn numbers beyond the action bounds
    rollouts_each: int = 1  # imagined sequences behind one gradient
    effective_elites: float | None = None
    discrete: bool = False  # of draws that can coincide


def is_flat(returns: Array) -> np.ndarray:
    """Which observations have one return only, by returns [b,...]: bool [b]."""
    numbers = to_numpy(returns).reshape(len(returns), -1)
    return np.ptp(numbers, axis=1) <= RESOLUTION[numbers.itemsize] * abs(numbers).max(axis=1)


def gathered(parts: list[Gradients]) -> Gradients:
    """The gradients of consecutive observations together."""
    sizes = [part.samples.size for part in parts]
    known = [(part.effective_elites, part.samples.size) for part in parts if part.effective_elites is not None]
    return Gradients(
        np.concatenate([part.samples for part in parts]),
        np.concatenate([part.flat for part in parts]),
        sum(part.model_steps for part in parts),
        float(np.average([part.out_of_range for part in parts], weights=sizes)),
        parts[0].rollouts_each,
        sum(value * size for value, size in known) / sum(size for _, size in known) if known else None,
        parts[0].discrete,
    )
