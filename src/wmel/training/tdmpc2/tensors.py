"""Tensors of several parts under one set of names, and back."""

import torch
from torch import Tensor


def prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Under one more name."""
    return {f"{prefix}.{name}": value for name, value in tensors.items()}


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The reverse: those under a name, without it."""
    begin = f"{prefix}."
    return {name.removeprefix(begin): value for name, value in tensors.items() if name.startswith(begin)}


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What it remembers, by the place of a weight and the name of the number."""
    state = optimiser.state_dict()["state"]
    return {f"{place}.{name}": value for place, numbers in state.items() for name, value in numbers.items()}


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The reverse."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        place, name = key.split(".")
        state.setdefault(int(place), {})[name] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
