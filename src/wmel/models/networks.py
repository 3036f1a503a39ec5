"""What all torch models use: input tensors, batches in chunks that do not change results, and hashes of weights."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.errors import BadInput

ROW_MULTIPLE = 16  # in float32, torch computes a row bit-equal in all batches of a multiple of this size
ONE_THREAD = 32_768  # numbers that torch processes in one thread; several threads may change the last bit


def observations_tensor(percept: Percept, width: int, device: torch.device, name: str) -> Tensor:
    """The observations [B,O] of a percept as a tensor. Raises BadInput if their width is not that of the network."""
    observations = torch.as_tensor(percept.observation, dtype=torch.float32, device=device)
    if observations.ndim != 2 or observations.shape[1] != width:
        raise BadInput(f"{name} observes {width} numbers, got observations of shape {tuple(observations.shape)}")
    return observations


@dataclass(frozen=True)
class RowChunks:
    """Applies functions of a network in chunks of rows, padded to a multiple of ROW_MULTIPLE."""

    rows: int
    is_padded: bool

    @classmethod
    def of(cls, network: nn.Module) -> "RowChunks":
        """Chunks that fit the widest layer of a network. On a GPU there is one chunk."""
        weights = list(network.parameters())
        if weights[0].device.type != "cpu":
            return cls(1 << 30, is_padded=False)
        widest = max(values.shape[-2:][0] for values in weights)
        return cls(max(ROW_MULTIPLE, ONE_THREAD // widest // ROW_MULTIPLE * ROW_MULTIPLE), is_padded=True)

    def __call__(self, function: Callable[..., Tensor], *rows: Tensor, axis: int = 0) -> Tensor:
        """The function of rows [M,...]. `axis` is the axis of the rows in its result."""
        count = len(rows[0])
        missing = -count % ROW_MULTIPLE if self.is_padded else 0
        if missing:
            rows = tuple(torch.cat([one, one[-1:].expand(missing, *one.shape[1:])]) for one in rows)
        parts = [function(*part) for part in zip(*(one.split(self.rows) for one in rows), strict=True)]
        result = parts[0] if len(parts) == 1 else torch.cat(parts, axis)
        return result.narrow(axis, 0, count) if missing else result


def weights_hash(network: nn.Module) -> str:
    """The SHA-256 of the names, shapes and values of all weights, on any device."""
    digest = sha256()
    for name, values in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(values.shape)} {values.dtype}".encode())
        digest.update(values.detach().cpu().numpy().tobytes())
    return digest.hexdigest()
