"""Where a network can be."""

from contextlib import AbstractContextManager, nullcontext

import torch

from wmel.errors import BadInput


def current(device: torch.device) -> AbstractContextManager[object]:
    """While graphs and streams are made on a device: torch makes them on the current one."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def usable_device(name: str) -> torch.device:
    """The device of a name; one that is not here is refused."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise BadInput(f"no device is called {name!r}; known: cpu, cuda, cuda:1") from None
    if device.type not in ("cpu", "cuda"):
        raise BadInput(f"wmel plans on cpu and cuda, not on {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BadInput(f"{name} was asked for, and torch sees {torch.cuda.device_count()} CUDA devices here")
    return device
