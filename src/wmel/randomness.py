"""Streams: random numbers that depend on the episode seed, a purpose and a counter, and on nothing else."""

import math
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from wmel.arrays import Array, namespace_of, to_contiguous
from wmel.settings import accept_old_names


@accept_old_names(moments="counters")
@dataclass(frozen=True, eq=False)
class Streams:
    """One counter-based generator per episode. It has no state: the same call returns the same numbers.

    Philox is keyed by (episode seed, purpose) and counts from (counter, round). A sample is therefore the same in any
    block, order or process. The counter is the plan call or the step that the numbers are for.
    """

    episode_seeds: np.ndarray  # [B]
    counters: np.ndarray  # [B]

    def __len__(self) -> int:
        return len(self.episode_seeds)

    def rows(self, index: np.ndarray) -> "Streams":
        """The streams of some of the episodes."""
        return Streams(self.episode_seeds[index], self.counters[index])

    def uniforms(self, purpose: str, shape: tuple[int, ...], rounds: int = 1) -> np.ndarray:
        """Float32 multiples of 2^-23 in [0, 1): [rounds, B, *shape].

        The first numbers of a round do not depend on how many follow. No number times n rounds up to n.
        """
        count = math.prod(shape)
        bits = np.empty((rounds, len(self), -(-count // 2)), np.uint64)
        philox, state = _generator()
        key, position = state["state"]["key"], state["state"]["counter"]
        key[1] = zlib.crc32(purpose.encode())
        for row, (seed, counter) in enumerate(zip(self.episode_seeds.tolist(), self.counters.tolist(), strict=True)):
            key[0], position[1] = seed, counter
            for index in range(rounds):
                position[2] = index
                philox.state = state
                bits[index, row] = philox.random_raw(bits.shape[2])
        return _to_unit_interval(bits)[:, :, :count].reshape(rounds, len(self), *shape)


@cache
def _generator() -> tuple[np.random.Philox, Any]:
    """A shared generator and its state. Every call of `uniforms` sets the state first."""
    philox = np.random.Philox(key=0)
    return philox, philox.state


def normals(uniforms: Array) -> Array:
    """Box-Muller: uniforms [...,2k] of a stream -> standard normals [...,2k] in the same library."""
    xp, width = namespace_of(uniforms), uniforms.shape[-1]
    planes = to_contiguous(uniforms.reshape(-1, width).swapaxes(0, 1))  # numpy is slow along a short last axis
    half = width // 2
    radius = 1 - planes[:half]
    xp.log(radius, out=radius)  # in place: at this size memory access costs more than arithmetic
    radius *= -2
    xp.sqrt(radius, out=radius)
    angle = 2 * math.pi * planes[half:]
    across = xp.cos(angle)
    up = xp.sin(angle, out=angle)
    across *= radius
    up *= radius
    return to_contiguous(xp.concatenate([across, up]).swapaxes(0, 1)).reshape(uniforms.shape)


def _to_unit_interval(bits: np.ndarray) -> np.ndarray:
    """uint64 [..., k] -> float32 [..., 2k] in [0, 1) from 23 bits each, in place.

    Setting the exponent of one gives a number in [1, 2).
    """
    halves = bits.view(np.uint32)
    halves >>= 9
    halves |= 0x3F800000
    numbers = halves.view(np.float32)
    numbers -= 1
    return numbers
