"""The stored state of a training: snapshots to resume from, episodes, and checkpoints."""

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
from wmel.training.checkpoints import CARD, CHECKPOINTS, remove_checkpoint, remove_file, write_checkpoint, write_tensors
from wmel.training.stored_episodes import EpisodesFolder
from wmel.training.tdmpc2.finish import stored_weights
from wmel.training.tdmpc2.learner import DivergenceError
from wmel.training.tdmpc2.trainer import CurvePoint

SNAPSHOT_FILE = "unfinished.safetensors"
EPISODES = "episodes"
SHAPE_ERRORS = ("loading state_dict", "must match", "expected shape", "wrong size")  # messages of torch
SECONDS_BETWEEN_SAVES = 30.0


@dataclass(eq=False)
class TrainingSnapshot:
    """An unfinished training: its tensors by name, and all other data."""

    request: dict[str, Any]  # the settings and the data of the training
    tensors: dict[str, Tensor]
    updates: int
    episodes: int
    rounds: int  # complete rounds of episodes
    best_return: float | None
    curve: list[CurvePoint] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Writes the snapshot in place of an earlier one."""
        counts = {name: getattr(self, name) for name in ("updates", "episodes", "rounds", "best_return")}
        data = {"asked": self.request, **counts, "curve": [asdict(point) for point in self.curve]}
        write_tensors(folder / SNAPSHOT_FILE, self.tensors, {"unfinished": json.dumps(data)})

    def _check(self) -> None:
        """Raises ValueError for values that no training has written."""
        counts, numbers = (self.updates, self.episodes, self.rounds), [point.seconds for point in self.curve]
        numbers += [] if self.best_return is None else [self.best_return]
        if not all(type(count) is int and count >= 0 for count in counts) or self.updates > self.request.get(
            "updates", self.updates
        ):
            raise ValueError("counts")
        if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
            raise ValueError("numbers")

    @classmethod
    def read(cls, folder: Path, request: dict[str, Any]) -> "TrainingSnapshot | None":
        """The snapshot in a folder, or None. Raises BadInput for a snapshot with other settings or other data."""
        path = folder / SNAPSHOT_FILE
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                data, names = json.loads(file.metadata()["unfinished"]), list(file.keys())
                tensors = {name: file.get_tensor(name) for name in names}
            stored, curve = data.pop("asked"), [CurvePoint(**point) for point in data.pop("curve")]
            snapshot = cls(stored, tensors, curve=curve, **data)
            snapshot._check()
            differing = next((name for name in request if stored.get(name) != request[name]), None)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{path} is not a valid snapshot of a training: remove it to start again") from error
        if differing is not None:
            raise BadInput(
                f"{folder} contains an unfinished training with {differing.replace('_', ' ')} "
                f"{stored.get(differing)}, now {request[differing]}: use the same settings to resume it, or "
                f"remove {path} to start again"
            )
        return snapshot


@dataclass(eq=False)
class TrainingState:
    """The state of one training, stored in the folder of its checkpoint."""

    folder: Path
    checkpoints: int = 0  # number of intermediate checkpoints
    seconds: float = SECONDS_BETWEEN_SAVES
    resumed_from: int = 0  # updates of the snapshot that this process resumed
    saved: int | None = None  # updates of the latest snapshot
    _last_save: float = field(default_factory=time.monotonic)

    @property
    def episodes(self) -> EpisodesFolder:
        return EpisodesFolder(self.folder / EPISODES)

    def checkpoint_updates(self, updates: int) -> tuple[int, ...]:
        """The updates after which a checkpoint is written, from the first to the last."""
        return space_updates(updates, self.checkpoints)

    def resume(self, request: dict[str, Any], restore: Callable[[TrainingSnapshot], None]) -> bool:
        """Restores the unfinished training in the folder. Returns False if there is none, and a new one can begin.

        Raises BadInput for a finished training, which would be overwritten.
        """
        snapshot = TrainingSnapshot.read(self.folder, request)
        if snapshot is None:
            if (self.folder / CARD).exists():
                raise BadInput(f"{self.folder} contains a finished training: give another --output, or remove it first")
            for old in (self.folder / CHECKPOINTS).glob("*"):
                remove_checkpoint(old)
            return False
        try:
            restore(snapshot)
        except (KeyError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not any(words in str(error) for words in SHAPE_ERRORS):
                raise
            raise BadInput(f"{self.folder / SNAPSHOT_FILE} is damaged: remove it to start again") from error
        self.resumed_from = self.saved = snapshot.updates
        return True

    def save_if_due(self, snapshot: Callable[[], TrainingSnapshot]) -> None:
        """Writes a snapshot if the last one is at least `seconds` old."""
        if time.monotonic() - self._last_save >= self.seconds:
            current = snapshot()
            current.write(self.folder)
            self.saved, self._last_save = current.updates, time.monotonic()

    def save_checkpoint(self, updates: int, trained: TrainedModel) -> None:
        """Writes an intermediate checkpoint."""
        write_checkpoint(self.folder / CHECKPOINTS / f"{updates:07d}", stored_weights(trained), trained.card)

    def finish(self, trained: TrainedModel) -> None:
        """Writes the final checkpoint and removes the snapshot."""
        write_checkpoint(self.folder, stored_weights(trained), trained.card)
        remove_file(self.folder / SNAPSHOT_FILE)


@dataclass(frozen=True, eq=False)
class TrainingHooks:
    """What a training calls while it runs, and where it stores its state."""

    report: Callable[[CurvePoint], None] = lambda point: None  # with each new point of the training curve
    advance: Callable[[int], None] = lambda updates: None  # with the number of updates just done
    state: TrainingState | None = None  # None: no snapshots, episodes or intermediate checkpoints are written


def complete_training(
    training: Any,
    hooks: TrainingHooks,
    run_stored: Callable[[Any, TrainingState, TrainingHooks], None],
    build_model: Callable[[str | None], TrainedModel | None],
) -> TrainedModel:
    """Runs a training to its end, with its state stored if `hooks` has one.

    `build_model` returns the model of the training, given why it diverged, or None. Raises DivergenceError with that
    model for a loss that is not finite.
    """
    try:
        if hooks.state is None:
            training.run(hooks.report, advance=hooks.advance)
        else:
            run_stored(training, hooks.state, hooks)
    except DivergenceError as error:
        raise DivergenceError(str(error), build_model(str(error))) from error
    trained = build_model(None)
    assert trained is not None, "a training that did not diverge has a model"
    return trained


def space_updates(updates: int, checkpoints: int) -> tuple[int, ...]:
    """Numbers of updates from 1 to the last, evenly spaced in their logarithm, without duplicates."""
    spaced = np.geomspace(1, updates, checkpoints) if checkpoints > 1 else [updates] * checkpoints
    return tuple(sorted({round(float(one)) for one in spaced}))
