"""What a training keeps so that it can be resumed, and the unfinished files it leaves."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from torch import Tensor

from wmel.contract.trainer import TrainedModel
from wmel.errors import BadInput
from wmel.training.checkpoints import CARD, CHECKPOINTS, remove, remove_checkpoint, write_checkpoint, write_tensors
from wmel.training.stored_episodes import EpisodesFolder
from wmel.training.tdmpc2.draws import TrainingMoment
from wmel.training.tdmpc2.finish import stored_weights

FILE = "unfinished.safetensors"
EPISODES = "episodes"
OTHER_SHAPES = ("loading state_dict", "must match", "expected shape", "wrong size")  # torch: tensors do not fit
SECONDS_BETWEEN_SAVINGS = 30.0


@dataclass(eq=False)
class Unfinished:
    """What must be known to go on: tensors by name, and the rest as data."""

    asked: dict[str, Any]  # the settings and what is learned from
    tensors: dict[str, Tensor]
    updates: int
    episodes: int
    rounds: int  # of episodes that were played to their end
    best_return: float | None
    curve: list[TrainingMoment] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """In place of what was there before."""
        said = {name: value for name, value in vars(self).items() if name not in ("tensors", "curve")}
        said["curve"] = [asdict(moment) for moment in self.curve]
        write_tensors(folder / FILE, self.tensors, {"unfinished": json.dumps(said)})

    def _check(self) -> None:
        """Refuse what no training wrote."""
        counts, numbers = (self.updates, self.episodes, self.rounds), [moment.seconds for moment in self.curve]
        numbers += [] if self.best_return is None else [self.best_return]
        if not all(type(count) is int and count >= 0 for count in counts) or self.updates > self.asked.get(
            "updates", self.updates
        ):
            raise ValueError("counts")
        if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
            raise ValueError("numbers")

    @classmethod
    def found(cls, folder: Path, asked: dict[str, Any]) -> "Unfinished | None":
        """The one in a folder; None where there is none. One that was asked for something else is refused."""
        path = folder / FILE
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                said, names = json.loads(file.metadata()["unfinished"]), list(file.keys())
                tensors = {name: file.get_tensor(name) for name in names}
            said["curve"] = [TrainingMoment(**moment) for moment in said["curve"]]
            made = cls(tensors=tensors, **said)
            made._check()
            differing = next((name for name in asked if made.asked.get(name) != asked[name]), None)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{path} is no unfinished training: remove it to begin anew") from error
        if differing is not None:
            raise BadInput(
                f"{folder} holds an unfinished training with {differing.replace('_', ' ')} "
                f"{made.asked.get(differing)}, now {asked[differing]}: ask for the same to go on with it, or remove "
                f"{path} to begin anew"
            )
        return made


@dataclass(eq=False)
class Keeper:
    """Of one training, in the folder its checkpoint will be in."""

    folder: Path
    checkpoints: int = 0  # on the way, evenly spaced in the logarithm of the updates
    seconds: float = SECONDS_BETWEEN_SAVINGS
    begun: int = 0  # updates that were done before this process took it up
    saved: int | None = None  # the updates a training that is killed now goes on from
    _last: float = field(default_factory=time.monotonic)

    @property
    def episodes(self) -> EpisodesFolder:
        return EpisodesFolder(self.folder / EPISODES)

    def stops(self, updates: int) -> tuple[int, ...]:
        """After which updates there is a checkpoint: from the first to the last."""
        return spaced_updates(updates, self.checkpoints)

    def take_up(self, asked: dict[str, Any], go_on: Callable[[Unfinished], None]) -> bool:
        """Go on with a training in the folder that did not end; False where there is none, and one can begin.

        One that is finished is never begun anew.
        """
        start = Unfinished.found(self.folder, asked)
        if start is None:
            if (self.folder / CARD).exists():
                raise BadInput(f"{self.folder} holds a finished training: give another --output, or remove it first")
            for old in (self.folder / CHECKPOINTS).glob("*"):
                remove_checkpoint(old)
            return False
        try:
            go_on(start)
        except (KeyError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not any(words in str(error) for words in OTHER_SHAPES):
                raise
            raise BadInput(f"{self.folder / FILE} is damaged: remove it to begin anew") from error
        self.begun = self.saved = start.updates
        return True

    def note(self, unfinished: Callable[[], Unfinished]) -> None:
        """Where it stands, now and then."""
        if time.monotonic() - self._last >= self.seconds:
            now = unfinished()
            now.write(self.folder)
            self.saved, self._last = now.updates, time.monotonic()

    def checkpoint(self, updates: int, made: TrainedModel) -> None:
        """One on the way."""
        write_checkpoint(self.folder / CHECKPOINTS / f"{updates:07d}", stored_weights(made), made.card)

    def finish(self, made: TrainedModel) -> None:
        """The training is over: its checkpoint, and nothing to go on from."""
        write_checkpoint(self.folder, stored_weights(made), made.card)
        remove(self.folder / FILE)


def spaced_updates(updates: int, checkpoints: int) -> tuple[int, ...]:
    """So many numbers of updates from the first to the last, evenly in their logarithm; equal ones count once."""
    spaced = np.geomspace(1, updates, checkpoints) if checkpoints > 1 else [updates] * checkpoints
    return tuple(sorted({round(float(one)) for one in spaced}))
