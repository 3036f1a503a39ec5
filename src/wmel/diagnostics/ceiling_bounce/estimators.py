"""Gradient estimators on the ceiling bounce, and gradient ascent with them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from wmel.diagnostics.ceiling_bounce.problem import launch_model
from wmel.diagnostics.esnr.measure import esnr
from wmel.diagnostics.esnr.result import Esnr
from wmel.diagnostics.esnr.sampling import FEWEST_SAMPLES
from wmel.machine import limit_blas_threads

LAUNCHES = 64  # per step of an ascent, whatever estimator makes use of them
SIGMA = 0.03  # radians
AT_A_TIME = 1 << 16
ITERATIONS = 20
RATE = 0.05  # of Adam


@dataclass(frozen=True)
class Estimator:
    """An estimator of ESNR under the name it has here; `settings` are those of EsnrSettings."""

    name: str
    method: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        """Gradients by which the ratio at one angle is stable to a few percent."""
        return 512 if self.by_population else 4096

    @property
    def by_population(self) -> bool:
        """Whether one gradient takes all the launches of a step."""
        return self.method == "cem"

    def ratios(self, speed: float, angles: np.ndarray, **settings: Any) -> Esnr:
        """The ESNR with one observation for each of the angles [n]."""
        return self._asked(speed, angles, samples=self.samples, noise_seed=0, **settings)

    def step(self, speed: float, angles: np.ndarray, moment: int) -> np.ndarray:
        """One gradient from 64 launches around each of the angles [n]: [n]; noise depends on the row and the moment."""
        samples = FEWEST_SAMPLES if self.by_population else LAUNCHES
        found = self._asked(speed, angles, samples=samples, noise_seed=moment).gradients.samples[..., 0]
        return found[:, 0] if self.by_population else found.mean(axis=1)

    def _asked(self, speed: float, angles: np.ndarray, **settings: Any) -> Esnr:
        how = {"sigma": SIGMA, "population": LAUNCHES, "rows": AT_A_TIME, **self.settings, **settings}
        centre, nowhere = np.reshape(angles, (-1, 1, 1)), np.zeros((len(angles), 1))
        with limit_blas_threads():
            return esnr(launch_model(speed), nowhere, self.method, mean=centre, **how)


FIRST_ORDER = Estimator("FoG", "fog")


ESTIMATORS = (
    FIRST_ORDER,
    Estimator("CEM 8/64", "cem", {"elites": 8}),
    Estimator("CEM 16/64", "cem", {"elites": 16}),
    Estimator("CEM 32/64", "cem", {"elites": 32}),
    Estimator("ZoG leave-one-out", "zog"),
    Estimator("ZoG no baseline", "zog", {"baseline": "none"}),
    Estimator("MPPI", "cem", {"elites": LAUNCHES, "temperature": 1.0}),
)


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
