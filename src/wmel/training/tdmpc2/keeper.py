"""What of a training is on disk while it goes on: its episodes, where it stands, and checkpoints on the way."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wmel.contract.trainer import Trained
from wmel.errors import BadInput
from wmel.training.checkpoints import CARD, remove, remove_checkpoint, write_checkpoint
from wmel.training.stored_episodes import EpisodesFolder
from wmel.training.tdmpc2.finish import stored_weights
from wmel.training.tdmpc2.unfinished import FILE, Unfinished

EPISODES, CHECKPOINTS = "episodes", "checkpoints"
OTHER_SHAPES = ("loading state_dict", "must match", "expected shape", "wrong size")  # torch: tensors do not fit
SECONDS_BETWEEN_SAVINGS = 30.0


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

    def checkpoint(self, updates: int, made: Trained) -> None:
        """One on the way."""
        write_checkpoint(self.folder / CHECKPOINTS / f"{updates:07d}", stored_weights(made), made.card)

    def finish(self, made: Trained) -> None:
        """The training is over: its checkpoint, and nothing to go on from."""
        write_checkpoint(self.folder, stored_weights(made), made.card)
        remove(self.folder / FILE)


def spaced_updates(updates: int, checkpoints: int) -> tuple[int, ...]:
    """So many numbers of updates from the first to the last, evenly in their logarithm; equal ones count once."""
    spaced = np.geomspace(1, updates, checkpoints) if checkpoints > 1 else [updates] * checkpoints
    return tuple(sorted({round(float(one)) for one in spaced}))
