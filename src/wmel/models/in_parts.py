"""Rows worked on so few at a time that one thread does them: neither company nor threads change a bit then."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

ROWS_AT_ONCE = 16  # torch float32 gives a row the same bits in any batch of a multiple of this
UNSHARED = 32_768  # numbers that torch works on in one thread: the seams between threads show in the last bit


@dataclass(frozen=True)
class InParts:
    """How many rows a network is given at a time, and how many more make them a multiple of ROWS_AT_ONCE."""

    rows: int
    fills_up: bool

    @classmethod
    def of(cls, network: nn.Module) -> "InParts":
        """By the widest of its layers; a GPU takes all at once."""
        weights = list(network.parameters())
        if weights[0].device.type != "cpu":
            return cls(1 << 30, fills_up=False)
        widest = max(values.shape[-2:][0] for values in weights)
        return cls(max(ROWS_AT_ONCE, UNSHARED // widest // ROWS_AT_ONCE * ROWS_AT_ONCE), fills_up=True)

    def __call__(self, made: Callable[..., Tensor], *rows: Tensor, axis: int = 0) -> Tensor:
        """What is made of rows [M,...], put together along the axis that has them."""
        count = len(rows[0])
        missing = -count % ROWS_AT_ONCE if self.fills_up else 0
        if missing:
            rows = tuple(torch.cat([one, one[-1:].expand(missing, *one.shape[1:])]) for one in rows)
        parts = [made(*part) for part in zip(*(one.split(self.rows) for one in rows), strict=True)]
        whole = parts[0] if len(parts) == 1 else torch.cat(parts, axis)
        return whole.narrow(axis, 0, count) if missing else whole
