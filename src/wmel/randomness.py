"""Streams: random numbers that depend on the episode seed and the moment, and on nothing else."""

import zlib
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Streams:
    """One counter-based generator per episode; nothing is consumed, so asking again gives the same numbers.

    Philox is keyed by (episode seed, purpose) and counts from (moment, round), so that a draw is the same
    in any block, order or process. `moments` is the plan call or the step the numbers are for.
    """

    episode_seeds: np.ndarray  # [B]
    moments: np.ndarray  # [B]

    def __len__(self) -> int:
        return len(self.episode_seeds)

    def rows(self, index: np.ndarray) -> "Streams":
        """The streams of some of the episodes."""
        return Streams(self.episode_seeds[index], self.moments[index])

    def uniforms(self, purpose: str, shape: tuple[int, ...], rounds: int = 1) -> np.ndarray:
        """Float32 numbers in [0, 1), [rounds, B, *shape]; what leads a round does not depend on how much follows."""
        numbers = np.empty((rounds, len(self), *shape), dtype=np.float32)
        philox = np.random.Philox(key=0)
        generator = np.random.Generator(philox)
        state = philox.state
        key, counter = state["state"]["key"], state["state"]["counter"]
        key[1] = zlib.crc32(purpose.encode())
        for row, (seed, moment) in enumerate(zip(self.episode_seeds.tolist(), self.moments.tolist(), strict=True)):
            key[0] = seed
            counter[1] = moment
            for index in range(rounds):
                counter[2] = index
                philox.state = state
                generator.random(dtype=np.float32, out=numbers[index, row])
        return numbers
