"""The replay buffer of a TD-MPC2 training, the names of stored tensors, and errors for a lack of memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wmel.errors import BadInput
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

HOST_ERRORS = ("can't allocate memory", "calculation overflowed", "Overflow when unpacking")
DEVICE_ERRORS = ("CUDA error: out of memory", "ALLOC_FAILED")


def add_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with a prefix before each name."""
    return {f"{prefix}.{name}": value for name, value in tensors.items()}


def select_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names have a prefix, under their names without it."""
    begin = f"{prefix}."
    return {name.removeprefix(begin): value for name, value in tensors.items() if name.startswith(begin)}


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimiser, named by the index of the parameter and the name of the value."""
    state = optimiser.state_dict()["state"]
    return {f"{place}.{name}": value for place, numbers in state.items() for name, value in numbers.items()}


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Restores the state of an optimiser from `optimiser_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        place, name = key.split(".")
        state.setdefault(int(place), {})[name] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


@contextmanager
def explain_out_of_memory(settings: TDMPC2Trainer, *, online: bool = True) -> Iterator[None]:
    """Turns errors for a lack of memory into BadInput, with the settings that determine the memory use."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _out_of_memory(settings, "the device", online) from error
    except MemoryError as error:
        raise _out_of_memory(settings, "this machine", online) from error
    except (RuntimeError, TypeError) as error:
        for where, messages in (("this machine", HOST_ERRORS), ("the device", DEVICE_ERRORS)):
            if any(message in str(error) for message in messages):
                raise _out_of_memory(settings, where, online) from error
        raise


def _out_of_memory(settings: TDMPC2Trainer, where: str, online: bool) -> BadInput:
    replay = f", or --envs ({settings.envs}) or --updates ({settings.updates}), which determine the stored episodes"
    return BadInput(
        f"{where} ran out of memory: lower --batch ({settings.batch}), which an update requires"
        f"{replay if online else ''}, or --size ({settings.size})"
    )


@dataclass(eq=False)
class Replay:
    """Rounds of E parallel episodes. The last round may be incomplete."""

    observations: Tensor  # [rounds, L+1, E, O]
    actions: Tensor  # [rounds, L, E, A]
    rewards: Tensor  # [rounds, L, E]
    windows: Tensor  # [] number of windows in the rounds of one environment, on the device
    horizon: int
    round: int = 0  # the round that is being written
    step: int = 0  # the steps of this round so far

    @classmethod
    def blank(
        cls, rounds: int, length: int, envs: int, observation: int, action: int, horizon: int, device: torch.device
    ) -> "Replay":
        if length < horizon:
            raise BadInput(f"episodes of {length} decisions are shorter than the training horizon {horizon}")
        return cls(
            torch.zeros(rounds, length + 1, envs, observation, device=device),
            torch.zeros(rounds, length, envs, action, device=device),
            torch.zeros(rounds, length, envs, device=device),
            torch.zeros((), device=device),
            horizon,
        )

    @classmethod
    def of(cls, observations: np.ndarray, actions: np.ndarray, rewards: np.ndarray, horizon: int, device: torch.device):
        """A buffer with one complete round: observations [E,L+1,O], actions [E,L,A], rewards [E,L]."""
        shapes = [array.shape for array in (observations, actions, rewards)]
        if [len(shape) for shape in shapes] != [3, 3, 2]:
            raise BadInput(f"episodes are observations [E,L+1,O], actions [E,L,A] and rewards [E,L], got {shapes}")
        count, length = actions.shape[:2]
        if shapes[0][:2] != (count, length + 1) or shapes[2] != (count, length):
            raise BadInput(f"observations, actions and rewards must be of the same episodes: {shapes}")
        replay = cls.blank(1, length, count, observations.shape[-1], actions.shape[-1], horizon, device)
        parts = ((replay.observations, observations), (replay.actions, actions), (replay.rewards, rewards))
        for tensor, array in parts:
            tensor[0].copy_(torch.as_tensor(array, dtype=torch.float32).transpose(0, 1))
        replay.windows.fill_(length - horizon + 1)
        replay.step = length
        return replay

    def load_round(self, place: int, parts: tuple[np.ndarray, ...]) -> None:
        """Restores a round: observations [L+1,E,O], actions [L,E,A], rewards [L,E]."""
        tensors = (self.observations, self.actions, self.rewards)
        if [part.shape for part in parts] != [tuple(tensor.shape[1:]) for tensor in tensors]:
            raise BadInput(f"round {place} of the episodes has other shapes: {[part.shape for part in parts]}")
        for tensor, part in zip(tensors, parts, strict=True):
            tensor[place].copy_(torch.as_tensor(part))
        self.round, self.step = place, self.length

    def copy_round(self, place: int) -> tuple[np.ndarray, ...]:
        """A round as arrays on the host."""
        return tuple(part[place].cpu().numpy() for part in (self.observations, self.actions, self.rewards))

    @property
    def length(self) -> int:
        return self.actions.shape[1]

    def begin_round(self, observations: Tensor) -> None:
        """Begins a round of episodes with observations [E,O]. Overwrites an incomplete round."""
        self.round, self.step = self.round + (self.step == self.length), 0
        self.observations[self.round, 0] = observations
        self.windows.fill_(self._window_count)

    def add_step(self, actions: Tensor, rewards: Tensor, observations: Tensor) -> None:
        """Adds a step of every episode: actions [E,A], rewards [E], next observations [E,O]."""
        self.actions[self.round, self.step] = actions
        self.rewards[self.round, self.step] = rewards
        self.observations[self.round, self.step + 1] = observations
        self.step += 1
        self.windows.fill_(self._window_count)

    def sample(self, batch: int) -> tuple[Tensor, Tensor, Tensor]:
        """Samples windows uniformly: observations [H+1,n,O], actions [H,n,A], rewards [H,n]. Stays on the device."""
        if not self._window_count:
            raise BadInput(f"the replay buffer contains no window of {self.horizon} steps yet")
        device, per_round = self.windows.device, self.length - self.horizon + 1
        window = (torch.rand(batch, device=device, dtype=torch.float64) * self.windows).long()
        rounds, start = window // per_round, window % per_round
        env = torch.randint(self.actions.shape[2], (batch,), device=device)
        steps = start + torch.arange(self.horizon + 1, device=device)[:, None]
        return (
            self.observations[rounds, steps, env],
            self.actions[rounds, steps[:-1], env],
            self.rewards[rounds, steps[:-1], env],
        )

    @property
    def _window_count(self) -> int:
        """The number of windows in the rounds of one environment."""
        return self.round * (self.length - self.horizon + 1) + max(self.step - self.horizon + 1, 0)
