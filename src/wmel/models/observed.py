"""What a network is shown: observations as float32 where it is, and as wide as it knows them."""

import torch
from torch import Tensor

from wmel.contract.policy import Percept
from wmel.errors import BadInput


def observed(percept: Percept, width: int, device: torch.device, name: str) -> Tensor:
    """Observations [B,O] of a percept; another width than the network's is refused."""
    observations = torch.as_tensor(percept.observation, dtype=torch.float32, device=device)
    if observations.ndim != 2 or observations.shape[1] != width:
        raise BadInput(f"{name} observes {width} numbers, got observations of shape {tuple(observations.shape)}")
    return observations
