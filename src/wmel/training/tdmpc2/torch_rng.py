"""A random number generator of a training: a private state of torch's global generators."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


class TorchRng:
    """A sequence of random numbers from a seed. Each use of `active` continues it.

    Operations such as dropout can only sample from torch's global generators, so their state is exchanged.
    """

    def __init__(self, seed: int, device: torch.device):
        self._devices = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(self._devices):
            torch.default_generator.manual_seed(seed)
            for one in self._devices:
                with torch.cuda.device(one):
                    torch.cuda.manual_seed(seed)
            self._save_states()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Makes torch's global generators sample from this sequence. They are restored afterwards."""
        with torch.random.fork_rng(self._devices):
            torch.set_rng_state(self._host_state)
            for device, state in zip(self._devices, self._device_states, strict=True):
                torch.cuda.set_rng_state(state, device)
            try:
                yield
            finally:
                self._save_states()

    def tensors(self) -> dict[str, torch.Tensor]:
        """The states of the generators by name."""
        return {
            "host": self._host_state,
            **{f"device{place}": state for place, state in enumerate(self._device_states)},
        }

    def load(self, tensors: dict[str, torch.Tensor]) -> None:
        """Restores the states. A generator without a stored state, as on another kind of device, keeps its own."""
        self._host_state = tensors["host"]
        self._device_states = [tensors.get(f"device{place}", state) for place, state in enumerate(self._device_states)]

    def _save_states(self) -> None:
        self._host_state = torch.get_rng_state()
        self._device_states = [torch.cuda.get_rng_state(device) for device in self._devices]
