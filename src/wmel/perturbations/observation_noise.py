"""observation-noise-S: Gaussian noise on the observations of the policy. The state does not change."""

from dataclasses import dataclass

import numpy as np

from wmel.parts import check_settings, refuse_unknown_settings, setting
from wmel.perturbations.window import NoEffect
from wmel.randomness import Streams, normals


@refuse_unknown_settings
@dataclass(frozen=True)
class ObservationNoise(NoEffect):
    """Independent normal noise on every component at every step of the window."""

    sigma: float = setting(0.1, "standard deviation of the noise", at_least=0, below=np.inf)
    window: int | None = setting(None, "steps it lasts; none: to the end of the episode", at_least=1)

    def __post_init__(self):
        check_settings(self)

    @property
    def name(self) -> str:
        return f"observation-noise-{self.sigma:g}" + ("" if self.window is None else f"@{self.window}")

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        width = observations.shape[1]
        noise = normals(streams.uniforms("sense", (width + width % 2,))[0])[:, :width]
        return observations + self.sigma * noise
