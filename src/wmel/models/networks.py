"""What torch models share: their inputs, batches in chunks, and the hash of their weights."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.errors import BadInput

ROWS_AT_ONCE = 16  # torch float32 gives a row the same bits in any batch of a multiple of this
UNSHARED = 32_768  # numbers that torch works on in one thread: the seams between threads show in the last bit


def observed(percept: Percept, width: int, device: torch.device, name: str) -> Tensor:
    """Observations [B,O] of a percept; another width than the network's is refused."""
    observations = torch.as_tensor(percept.observation, dtype=torch.float32, device=device)
    if observations.ndim != 2 or observations.shape[1] != width:
        raise BadInput(f"{name} observes {width} numbers, got observations of shape {tuple(observations.shape)}")
    return observations


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


def weights_hash(network: nn.Module) -> str:
    """Of names, shapes and values, wherever the network is."""
    digest = sha256()
    for name, values in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(values.shape)} {values.dtype}".encode())
        digest.update(values.detach().cpu().numpy().tobytes())
    return digest.hexdigest()
