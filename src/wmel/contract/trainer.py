"""The contract of trainers: a trainer trains a world model for an environment and writes its checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from wmel.contract import old_names


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model and its card, which describes the training, the data and the errors."""

    model: Any
    card: dict[str, Any]


@dataclass(frozen=True, eq=False)
class ProgressListener:
    """Callbacks of long work: its title, amount and unit, then each finished amount, and lines to print."""

    begin: Callable[[str, float, str], None] = lambda title, total, unit: None
    advance: Callable[[float], None] = lambda count: None
    note: Callable[[str], None] = lambda line: None


class Trainer(Protocol):
    """A frozen dataclass of settings; a setting that is None has a default that depends on the environment.

    A setting `seed`, if it has one, is the seed of each training of a recipe.
    """

    @property
    def rollouts(self) -> tuple[str, ...]:
        """Rollout methods of its models, where there is a choice. Such a model is a dataclass with `rollout_way`."""
        ...

    @property
    def checkpoint_updates(self) -> tuple[int, ...]:
        """The updates after which an intermediate checkpoint is written, as `folder/checkpoints/0000100`."""
        ...

    def resolve(self, environment: Any) -> Self:
        """A copy with the defaults of an environment. Raises BadInput for settings that contradict each other."""
        ...

    def train(self, environment: Any, folder: Path, listener: ProgressListener) -> TrainedModel:
        """Trains and writes the checkpoint. An interrupted training is resumed or restarted."""
        ...

    def forecast(self, environment: Any) -> float:
        """The approximate training time in seconds."""
        ...

    def blank(self, environment: Any) -> Any:
        """An untrained network of the right size. The trainer is resolved."""
        ...

    def model(self, environment: Any, network: Any) -> Any:
        """A network as a model of an environment."""
        ...

    def check(self, environment: Any, described: dict[str, Any]) -> None:
        """Raises BadInput for an environment that a checkpoint cannot be used in. `described` is from its card."""
        ...

    @classmethod
    def of_card(cls, described: dict[str, Any]) -> Self:
        """The trainer whose `blank` fits the weights of a checkpoint. `described` is from its card."""
        ...


@runtime_checkable
class HasProgressUnit(Protocol):
    """A trainer that counts intermediate checkpoints in another unit than updates."""

    def counts_in(self) -> str:
        """The unit: epochs."""
        ...


@runtime_checkable
class OfflineTrainer(Protocol):
    """A trainer that can learn from stored episodes without their environment."""

    def learns_from_stored(self) -> bool:
        """Whether it learns from stored episodes with these settings."""
        ...


__getattr__ = old_names(__name__)
