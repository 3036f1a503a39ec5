"""Training the models a study asks for, once each, into its store."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wmel.study.build import built_environment
from wmel.study.cells import Training


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """A model to be trained, and the folder of checkpoints it goes to."""

    training: Training
    models: Path

    @property
    def name(self) -> str:
        training = self.training
        settings = ", ".join(f"{name} {value}" for name, value in training.settings.items())
        return f"{training.trainer} in {training.environment} ({settings})"

    @property
    def folders(self) -> dict[int | None, Path]:
        """By the epoch its weights are kept after; None is the last."""
        kept: dict[int | None, Path] = {
            epoch: self.models / f"{self.training.key}-{epoch}" for epoch in self.training.checkpoints
        }
        return kept or {None: self.models / self.training.key}

    @property
    def is_done(self) -> bool:
        return all((folder / "card.json").exists() for folder in self.folders.values())


def train(job: TrainingJob) -> float:
    """Train, write the checkpoints; how many seconds it took."""
    from wmel.training.checkpoints import write_checkpoint  # torch is needed only here
    from wmel.training.recipes import gathered, recipe, trained

    begin, training = time.perf_counter(), job.training
    world = built_environment(training.environment, training.environment_settings)
    how = recipe(world, training.trainer, **_settings(training))
    data = gathered(world, how)
    for epoch, folder in job.folders.items():
        asked = how if epoch is None else replace(how, fit=replace(how.fit, epochs=epoch))
        made = trained(world, asked, data)
        write_checkpoint(folder, made.model.network.state_dict(), made.card)
    return time.perf_counter() - begin


def _settings(training: Training) -> dict[str, Any]:
    hidden = training.settings.get("hidden")
    return {**training.settings, **({} if hidden is None else {"hidden": tuple(hidden)})}
