"""Training the models a study asks for, once each, into its store."""

import json
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

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
    def folder(self) -> Path:
        return self.models / self.training.key

    @property
    def is_done(self) -> bool:
        """Whether there is a checkpoint whose weights are those its card was written for."""
        try:
            card = json.loads((self.folder / "card.json").read_text(encoding="utf-8"))
            weights = sha256((self.folder / "weights.safetensors").read_bytes()).hexdigest()
        except (OSError, ValueError):
            return False
        return isinstance(card, dict) and card.get("weights_sha256") == weights


def train(job: TrainingJob) -> float:
    """Train, write the checkpoint; how many seconds it took."""
    from wmel.training.checkpoints import write_checkpoint  # torch is needed only here
    from wmel.training.recipes import gathered, recipe, trained

    begin, training = time.perf_counter(), job.training
    world = built_environment(training.environment, training.environment_settings)
    how = recipe(world, training.trainer, **training.settings)
    made = trained(world, how, gathered(world, how))
    write_checkpoint(job.folder, made.model.network.state_dict(), made.card)
    return time.perf_counter() - begin
