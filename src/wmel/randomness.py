"""Streams: random numbers that depend on the episode seed and the moment, and on nothing else."""

import math
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from wmel.arrays import Array, contiguous, namespace_of


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
        """Float32 multiples of 2^-23 in [0, 1): [rounds, B, *shape].

        What leads a round does not depend on how much follows, and no number times n rounds up to n.
        """
        count = math.prod(shape)
        bits = np.empty((rounds, len(self), -(-count // 2)), np.uint64)
        philox, state = _generator()
        key, counter = state["state"]["key"], state["state"]["counter"]
        key[1] = zlib.crc32(purpose.encode())
        for row, (seed, moment) in enumerate(zip(self.episode_seeds.tolist(), self.moments.tolist(), strict=True)):
            key[0], counter[1] = seed, moment
            for index in range(rounds):
                counter[2] = index
                philox.state = state
                bits[index, row] = philox.random_raw(bits.shape[2])
        return _between_zero_and_one(bits)[:, :, :count].reshape(rounds, len(self), *shape)


@cache
def _generator() -> tuple[np.random.Philox, Any]:
    """One generator for all draws, and its state, which every draw sets first."""
    philox = np.random.Philox(key=0)
    return philox, philox.state


def normals(uniforms: Array) -> Array:
    """Box-Muller: uniforms [...,2k] of a stream -> standard normals [...,2k], in their own library."""
    xp, width = namespace_of(uniforms), uniforms.shape[-1]
    planes = contiguous(uniforms.reshape(-1, width).swapaxes(0, 1))  # numpy is slow along an axis as short as an action
    half = width // 2
    radius = 1 - planes[:half]
    xp.log(radius, out=radius)  # in place: at this size, memory costs more than arithmetic
    radius *= -2
    xp.sqrt(radius, out=radius)
    angle = 2 * math.pi * planes[half:]
    across = xp.cos(angle)
    up = xp.sin(angle, out=angle)
    across *= radius
    up *= radius
    return contiguous(xp.concatenate([across, up]).swapaxes(0, 1)).reshape(uniforms.shape)


def _between_zero_and_one(bits: np.ndarray) -> np.ndarray:
    """uint64 [..., k] -> float32 [..., 2k] from 23 bits each, in place: exponents set to 1..2, then less 1."""
    halves = bits.view(np.uint32)
    halves >>= 9
    halves |= 0x3F800000
    numbers = halves.view(np.float32)
    numbers -= 1
    return numbers
