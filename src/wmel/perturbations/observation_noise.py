"""observation-noise-S: Gaussian noise on what the policy sees; the world itself is untouched."""

from dataclasses import dataclass

import numpy as np

from wmel.errors import require, require_whole
from wmel.perturbations.unchanged import Unchanged
from wmel.randomness import Streams, normals


@dataclass(frozen=True)
class ObservationNoise(Unchanged):
    """Independent noise of deviation sigma on every component at every step of the window."""

    sigma: float = 0.1
    window: int | None = None

    def __post_init__(self):
        require(0 <= self.sigma < np.inf, "sigma must be finite and not negative", self.sigma)
        if self.window is not None:
            require_whole(self.window, "the window of a perturbation")

    @property
    def name(self) -> str:
        return f"observation-noise-{self.sigma:g}" + ("" if self.window is None else f"@{self.window}")

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        width = observations.shape[1]
        noise = normals(streams.uniforms("sense", (width + width % 2,))[0])[:, :width]
        return observations + self.sigma * noise
