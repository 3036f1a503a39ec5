"""Random numbers of a training, and the count of what was done."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class TrainingMoment:
    """After so many updates."""

    updates: int
    transitions: int
    seconds: float
    mean_return: float | None  # of the round that just ended
    losses: dict[str, float]


class Draws:
    """Begins at a seed; each time goes on where the last one ended."""

    def __init__(self, seed: int, device: torch.device):
        self._devices = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(self._devices):
            torch.default_generator.manual_seed(seed)
            for one in self._devices:
                with torch.cuda.device(one):
                    torch.cuda.manual_seed(seed)
            self._keep()

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """While torch draws from this sequence."""
        with torch.random.fork_rng(self._devices):
            torch.set_rng_state(self._host)
            for device, state in zip(self._devices, self._there, strict=True):
                torch.cuda.set_rng_state(state, device)
            try:
                yield
            finally:
                self._keep()

    def tensors(self) -> dict[str, torch.Tensor]:
        """Where the sequence is, by name."""
        return {"host": self._host, **{f"device{place}": state for place, state in enumerate(self._there)}}

    def load(self, tensors: dict[str, torch.Tensor]) -> None:
        """Go on from there; another kind of device begins its own sequence anew."""
        self._host = tensors["host"]
        self._there = [tensors.get(f"device{place}", state) for place, state in enumerate(self._there)]

    def _keep(self) -> None:
        self._host = torch.get_rng_state()
        self._there = [torch.cuda.get_rng_state(device) for device in self._devices]
