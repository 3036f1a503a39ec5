"""A trainer makes a world model of an environment and writes its checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable


@dataclass(frozen=True, eq=False)
class Trained:
    """A model, and the card that says what it is and how good."""

    model: Any
    card: dict[str, Any]


@dataclass(frozen=True, eq=False)
class ProgressListener:
    """Is told of long work: what begins and how much of it there is, how much was done, and lines to print."""

    begin: Callable[[str, float, str], None] = lambda title, total, unit: None
    advance: Callable[[float], None] = lambda count: None
    note: Callable[[str], None] = lambda line: None


class Trainer(Protocol):
    """A frozen dataclass of settings; a setting that is None has a default that depends on the environment."""

    @property
    def seed(self) -> int: ...

    @property
    def rollouts(self) -> tuple[str, ...]:
        """Ways to imagine with its models, where there is a choice; such a model is a dataclass with `rollout_way`."""
        ...

    @property
    def checkpoint_updates(self) -> tuple[int, ...]:
        """The updates after which a checkpoint is kept on the way, as `folder/checkpoints/0000100`; () for none."""
        ...

    def resolve(self, environment: Any) -> Self:
        """The same with the defaults of an environment filled in; settings that contradict each other are refused."""
        ...

    def train(self, environment: Any, folder: Path, listener: ProgressListener) -> Trained:
        """Train and write the checkpoint; one that was killed goes on or starts again."""
        ...

    def forecast(self, environment: Any) -> float:
        """Seconds that training will take, about."""
        ...

    def blank(self, environment: Any) -> Any:
        """A network of the right size, untrained; the trainer is resolved."""
        ...

    def model(self, environment: Any, network: Any) -> Any:
        """A network as a model of an environment."""
        ...

    def check(self, environment: Any, described: dict[str, Any]) -> None:
        """Refuse an environment that a checkpoint, as its card describes it, cannot be used in."""
        ...

    @classmethod
    def of_card(cls, described: dict[str, Any]) -> Self:
        """The trainer whose `blank` fits the weights of a checkpoint, by the model that its card describes."""
        ...


@runtime_checkable
class CountsProgress(Protocol):
    """A trainer whose checkpoints on the way are counted in something else than updates."""

    def counts_in(self) -> str:
        """What is counted: epochs."""
        ...


@runtime_checkable
class LearnsFromStored(Protocol):
    """A trainer that may learn from stored episodes alone, without their environment."""

    def learns_from_stored(self) -> bool:
        """Whether it does with these settings."""
        ...
