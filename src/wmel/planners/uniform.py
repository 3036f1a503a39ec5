"""Uniform draws over an action space."""

from wmel.arrays import Array, as_like, namespace_of, whole
from wmel.contract.spaces import Box, Space


def uniform_actions(space: Space, uniforms: Array) -> Array:
    """Numbers [...,A] of a stream -> actions [...,A] as they travel, never outside the bounds."""
    xp = namespace_of(uniforms)
    if isinstance(space, Box):
        low, high = as_like(space.low, uniforms), as_like(space.high, uniforms)
        return xp.clip(low + uniforms * (high - low), low, high)
    return whole(uniforms * space.count)
