"""Ascents from the horizon with the gradients of one estimator, all seeds at once."""

from collections.abc import Callable

import numpy as np
import torch

from wmel.diagnostics.ceiling_bounce.estimators import Estimator

ITERATIONS = 20
RATE = 0.05  # of Adam


def ascents(
    estimator: Estimator, speed: float, seeds: int, progress: Callable[[float], None] = lambda iterations: None
) -> np.ndarray:
    """Angles from 0 on: [iterations + 1, seeds]; seeds do not know each other, as Adam works number by number."""
    angles = torch.zeros(seeds, dtype=torch.float64)
    adam, path = torch.optim.Adam([angles], lr=RATE, maximize=True), [np.zeros(seeds)]
    for iteration in range(ITERATIONS):
        angles.grad = torch.as_tensor(estimator.step(speed, path[-1], moment=1 + iteration))
        adam.step()
        path.append(angles.numpy().copy())
        progress(1)
    return np.stack(path)
