"""The replay buffer of a TD-MPC2 training, its tensors, and what memory allows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wmel.errors import BadInput
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

ON_THE_HOST = ("can't allocate memory", "calculation overflowed", "Overflow when unpacking")
ON_THE_DEVICE = ("CUDA error: out of memory", "ALLOC_FAILED")


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


@contextmanager
def enough_memory(settings: TDMPC2Trainer, *, playing: bool = True) -> Iterator[None]:
    """Where a device or the host has no memory left, name the settings that take it."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _told(settings, "the device", playing) from error
    except MemoryError as error:
        raise _told(settings, "this machine", playing) from error
    except (RuntimeError, TypeError) as error:
        for where, said in (("this machine", ON_THE_HOST), ("the device", ON_THE_DEVICE)):
            if any(words in str(error) for words in said):
                raise _told(settings, where, playing) from error
        raise


def _told(settings: TDMPC2Trainer, where: str, playing: bool) -> BadInput:
    kept = f", or --envs ({settings.envs}) or --updates ({settings.updates}), by which the episodes kept grow"
    return BadInput(
        f"{where} ran out of memory: lower --batch ({settings.batch}), which a step of learning takes"
        f"{kept if playing else ''}, or --size ({settings.size})"
    )


@dataclass(eq=False)
class Replay:
    """Rounds of E episodes in step with each other; the last round may still be going on."""

    observations: Tensor  # [rounds, L+1, E, O]
    actions: Tensor  # [rounds, L, E, A]
    rewards: Tensor  # [rounds, L, E]
    windows: Tensor  # [] how many windows there are in one episode of the list, where the device can read it
    horizon: int
    round: int = 0
    step: int = 0

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
        """Stored episodes [E,L+1,O], [E,L,A], [E,L] as one finished round."""
        shapes = [array.shape for array in (observations, actions, rewards)]
        if [len(shape) for shape in shapes] != [3, 3, 2]:
            raise BadInput(f"episodes are observations [E,L+1,O], actions [E,L,A] and rewards [E,L], got {shapes}")
        count, length = actions.shape[:2]
        if shapes[0][:2] != (count, length + 1) or shapes[2] != (count, length):
            raise BadInput(f"observations, actions and rewards are not of the same episodes: {shapes}")
        made = cls.blank(1, length, count, observations.shape[-1], actions.shape[-1], horizon, device)
        for tensor, array in ((made.observations, observations), (made.actions, actions), (made.rewards, rewards)):
            tensor[0].copy_(torch.as_tensor(array, dtype=torch.float32).transpose(0, 1))
        made.windows.fill_(length - horizon + 1)
        made.step = length
        return made

    def put(self, place: int, parts: tuple[np.ndarray, ...]) -> None:
        """A round that was played before: observations [L+1,E,O], actions [L,E,A], rewards [L,E]."""
        tensors = (self.observations, self.actions, self.rewards)
        if [part.shape for part in parts] != [tuple(tensor.shape[1:]) for tensor in tensors]:
            raise BadInput(f"round {place} of the episodes is of other shapes: {[part.shape for part in parts]}")
        for tensor, part in zip(tensors, parts, strict=True):
            tensor[place].copy_(torch.as_tensor(part))
        self.round, self.step = place, self.length

    def taken(self, place: int) -> tuple[np.ndarray, ...]:
        """A round, on the host."""
        return tuple(part[place].cpu().numpy() for part in (self.observations, self.actions, self.rewards))

    @property
    def length(self) -> int:
        return self.actions.shape[1]

    def begin(self, observations: Tensor) -> None:
        """A new round of episodes, from observations [E,O] on; it takes the place of one that was left early."""
        self.round, self.step = self.round + (self.step == self.length), 0
        self.observations[self.round, 0] = observations
        self.windows.fill_(self._windows)

    def add(self, actions: Tensor, rewards: Tensor, observations: Tensor) -> None:
        """One decision of every episode: [E,A], [E], [E,O]"""
        self.actions[self.round, self.step] = actions
        self.rewards[self.round, self.step] = rewards
        self.observations[self.round, self.step + 1] = observations
        self.step += 1
        self.windows.fill_(self._windows)

    def sample(self, batch: int) -> tuple[Tensor, Tensor, Tensor]:
        """Windows drawn alike: observations [H+1,n,O], actions [H,n,A], rewards [H,n]; no host trip."""
        if not self._windows:
            raise BadInput(f"there is no window of {self.horizon} decisions to sample yet")
        device, each = self.windows.device, self.length - self.horizon + 1
        drawn = (torch.rand(batch, device=device, dtype=torch.float64) * self.windows).long()
        which, start = drawn // each, drawn % each
        env = torch.randint(self.actions.shape[2], (batch,), device=device)
        ahead = start + torch.arange(self.horizon + 1, device=device)[:, None]
        return (
            self.observations[which, ahead, env],
            self.actions[which, ahead[:-1], env],
            self.rewards[which, ahead[:-1], env],
        )

    @property
    def _windows(self) -> int:
        """Windows of the horizon in one episode of the list."""
        return self.round * (self.length - self.horizon + 1) + max(self.step - self.horizon + 1, 0)
