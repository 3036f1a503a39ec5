"""What the networks of all trainers have in common."""

import numpy as np
import torch
from torch import nn

from wmel.contract.spaces import Finite, Space
from wmel.errors import require

WIDEST = 16_384
SMALLEST_SCALE = 1e-6  # of a component that hardly ever changes


def check_hidden(widths: tuple[int, ...] | None) -> None:
    """Refuse a network without a hidden layer."""
    require(widths is None or len(widths) > 0, "hidden must name the width of at least one layer", widths)


def action_width(space: Space) -> int:
    """Numbers of an action as a network takes it: finite ones are one-hot."""
    return space.count if isinstance(space, Finite) else space.width


def set_scale(network: nn.Module, name: str, numbers: np.ndarray) -> None:
    """Give a network the mean and the standard deviation of rows [T,...], as its `name`_centre and `name`_scale."""
    getattr(network, f"{name}_centre").copy_(torch.as_tensor(numbers.mean(axis=0)))
    getattr(network, f"{name}_scale").copy_(torch.as_tensor(numbers.std(axis=0).clip(SMALLEST_SCALE)))
