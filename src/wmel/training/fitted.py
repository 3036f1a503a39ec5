"""The abstract class of trainers that collect transitions and fit a network to them."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Self

from torch import nn

from wmel.catalog import TRAINERS
from wmel.contract.environment import Environment
from wmel.contract.trainer import ProgressListener, TrainedModel, UnwrittenModel
from wmel.errors import BadInput, CannotWrite
from wmel.parts import check_settings, setting
from wmel.policies.direct import exploration, mixture_label, uses_model_policy
from wmel.settings import LARGEST_SEED, MAX_COUNT, MAX_THREADS
from wmel.training.checkpoints import (
    CHECKPOINTS,
    check_same_environment,
    describe_environment,
    refuse_other_kind,
    restore,
    write_checkpoint,
)
from wmel.training.data import Dataset, collect, list_transitions
from wmel.training.fit import FitResult
from wmel.training.stored_episodes import EpisodesFolder

ALL, STORED = "all", "stored"  # values of `collect`: every transition of the environment; stored episodes
COLLECTION = {"transitions": 2000, "epsilon": 0.0, "episode_steps": 200}
TRANSITIONS_OF_STORED = 20_000
FORECAST_TRANSITIONS, FORECAST_EPOCHS = 400, 4  # of the short training that a forecast extrapolates
MAX_TRANSITIONS = 100_000_000
FIT = ("epochs", "batch", "learning_rate", "decay", "held_out", "patience", "seed", "threads")


@dataclass(frozen=True, kw_only=True)
class FittedTrainer(ABC):
    """Settings of data collection and of the fit. A concrete trainer adds the settings of its network."""

    collect: str | list | dict | None = setting(
        None, "policy that collects data, or a mixture such as 3*random+cem; none: random, on grids all transitions"
    )
    collector: str | None = setting(
        None, "checkpoint whose policy collects, with collect prior (the default) or native"
    )
    data: str | None = setting(None, "folder of stored episodes to learn from, instead of collecting")
    transitions: int | None = setting(
        None, "transitions to learn from; none: 2000, of stored data 20000", at_least=2, cap=MAX_TRANSITIONS
    )
    epsilon: float | None = setting(None, "share of actions replaced by random ones; none: 0", at_least=0, at_most=1)
    episode_steps: int | None = setting(
        None, "length of the collected episodes, in steps; none: 200", at_least=1, cap=MAX_COUNT
    )
    epochs: int | None = setting(
        None, "passes over the data; none: 200, latent-mlp 80, on grids 800", at_least=1, cap=MAX_COUNT
    )
    batch: int | None = setting(None, "samples per update; none: 256, on grids all", at_least=1)
    learning_rate: float | None = setting(
        None, "of Adam; none: 0.001, latent-mlp 0.006, on grids 0.01", above=0, below=inf
    )
    decay: bool | None = setting(None, "lower the learning rate along half a cosine; none: latent-mlp only")
    held_out: float | None = setting(None, "share of the data held out; none: 0.1, on grids 0", at_least=0, below=1)
    patience: int | None = setting(
        None,
        "stop after this many epochs without a lower held-out error and keep the best weights; none: never",
        at_least=1,
        cap=MAX_COUNT,
    )
    checkpoints: tuple[int, ...] | None = setting(
        None,
        "epochs after which an intermediate checkpoint is written; without epochs, the last ends the training",
        at_least=1,
    )
    seed: int = setting(0, "of the data, the split and the weights", at_least=0, cap=LARGEST_SEED)
    threads: int = setting(1, "threads of the fit", at_least=1, cap=MAX_THREADS)

    kind: ClassVar[str]
    rollouts: ClassVar[tuple[str, ...]] = ()
    network_settings: ClassVar[tuple[str, ...]]  # names of the settings that describe the network in a card

    def __post_init__(self):
        check_settings(self)
        if self.data is not None and self.collect not in (None, STORED):
            raise BadInput(f"stored episodes cannot be collected again: leave out collect {self.collect!r}, or data")
        if self.data is not None and self.collector is not None:
            raise BadInput("stored episodes cannot be collected again: leave out collector, or data")
        if self.collector is not None and self.collect is not None and not uses_model_policy(self.collect):
            raise BadInput(f"a collector has no effect on collect {self.collect!r}: choose prior or native")
        if self.patience is not None and self.held_out == 0:
            raise BadInput("patience needs data held out: set held_out to a share above 0")
        if self.checkpoints is not None and self.patience is not None:
            raise BadInput("patience may end a training before a checkpoint is due: give patience or checkpoints")
        if self.epochs is not None and any(at > self.epochs for at in self.checkpoint_updates):
            raise BadInput(f"checkpoints {self.checkpoints} lie beyond the {self.epochs} epochs of the training")

    @property
    def checkpoint_updates(self) -> tuple[int, ...]:
        """The epochs after which an intermediate checkpoint is written, in increasing order."""
        return tuple(sorted(set(self.checkpoints or ())))

    def counts_in(self) -> str:
        return "epochs"

    @abstractmethod
    def defaults(self, environment: Environment) -> dict[str, Any]:
        """The values of settings that are None, for an environment."""

    @abstractmethod
    def fit(
        self, environment: Environment, data: Dataset, progress: Callable[[float], None]
    ) -> tuple[nn.Module, FitResult]:
        """Fits a network to data. `progress` is called with the number of finished epochs."""

    @abstractmethod
    def measure(self, environment: Environment, data: Dataset, network: Any, result: FitResult) -> TrainedModel:
        """A fitted network as a model, with a card that contains its errors."""

    @abstractmethod
    def blank(self, environment: Environment) -> Any: ...

    @abstractmethod
    def model(self, environment: Environment, network: Any) -> Any: ...

    @classmethod
    def of_card(cls, described: dict[str, Any]) -> Self:
        """Raises ValueError for a missing setting: a default could fit the weights and change the predictions."""
        missing = [name for name in cls.network_settings if described.get(name) is None]
        if missing:
            raise ValueError(f"it has no value of {missing[0]}")
        return cls(**{name: described[name] for name in cls.network_settings})

    def check(self, environment: Environment, described: dict[str, Any]) -> None:
        check_same_environment(environment, described)

    def resolve(self, environment: Environment) -> Self:
        defaults = self.defaults(environment)
        if self.checkpoints:
            defaults = {**defaults, "epochs": max(self.checkpoints)}
        own = "prior" if self.collector is not None else defaults["collect"]
        policy = STORED if self.data is not None else self.collect or own
        defaults = {**defaults, **self._collection_defaults(policy, environment), "collect": policy}
        return replace(self, **{name: value for name, value in defaults.items() if getattr(self, name) is None})

    def _collection_defaults(self, policy: str | list | dict, environment: Environment) -> dict[str, Any]:
        """The default settings of data collection. Raises BadInput for settings without effect and unusable data."""
        if policy == STORED:
            if self.epsilon is not None or self.episode_steps is not None:
                raise BadInput("epsilon and episode_steps have no effect on stored episodes: leave them out")
            if self.data is not None:
                check_stored_episodes(Path(self.data), environment)
            return {"transitions": TRANSITIONS_OF_STORED}
        if policy != ALL:
            return COLLECTION
        for name in COLLECTION:
            if getattr(self, name) is not None:
                raise BadInput(
                    f"{name} has no effect if every transition is collected: leave it out, or set `collect` to a policy"
                )
        return {}

    def train(self, environment: Environment, folder: Path, listener: ProgressListener) -> TrainedModel:
        refuse_other_kind(folder, self.kind)
        resolved = self.resolve(environment)
        title = f"{mixture_label(resolved.collect)} in {environment.spec.name}"
        listener.begin(title, resolved.transitions or 0, "transitions")
        data = resolved.gather(environment, listener.advance)
        listener.begin(f"fitting {self.kind}", resolved.epochs or 0, "epochs")
        models = resolved.learn_all(environment, data, listener.advance)
        try:
            for epochs, trained in models.items():
                home = folder if epochs is None else folder / CHECKPOINTS / f"{epochs:07d}"
                write_checkpoint(home, trained.model.network.state_dict(), trained.card)
        except CannotWrite as error:
            raise UnwrittenModel(str(error), models[None]) from error
        return models[None]

    def forecast(self, environment: Environment) -> float:
        """The approximate seconds of a training, extrapolated from few transitions and few epochs."""
        resolved = self.resolve(environment)
        fewer = None if resolved.transitions is None else min(resolved.transitions, FORECAST_TRANSITIONS)
        short = replace(resolved, transitions=fewer, epochs=FORECAST_EPOCHS, patience=None, checkpoints=None)
        begin = time.perf_counter()
        data = short.gather(environment)
        collected = time.perf_counter()
        short.learn(environment, data)
        first = time.perf_counter() - collected
        short.learn(environment, data)
        second = time.perf_counter() - collected - first
        scale = 1.0 if resolved.transitions is None or fewer is None else resolved.transitions / fewer
        epoch = min(first, second) / FORECAST_EPOCHS
        return scale * (collected - begin + epoch * (resolved.epochs or 0))

    def gather(self, environment: Environment, progress: Callable[[float], None] = lambda done: None) -> Dataset:
        """Collects or reads the training data. `progress` is called with the number of new transitions."""
        if self.collect == ALL:
            return list_transitions(environment)
        assert self.transitions is not None
        if self.collect == STORED:
            if self.data is None:
                raise BadInput("collect 'stored' requires `data`, the folder of the stored episodes")
            return read_stored(Path(self.data), environment, self.transitions, self.seed)
        assert self.collect is not None and self.epsilon is not None and self.episode_steps is not None
        model = None if self.collector is None else restore(Path(self.collector), environment)
        policy = exploration(environment, self.collect, self.epsilon, model)
        steps, seed = self.episode_steps, self.seed
        return collect(environment, policy, self.transitions, episode_steps=steps, seed=seed, progress=progress)

    def learn(
        self, environment: Environment, data: Dataset, progress: Callable[[float], None] = lambda done: None
    ) -> TrainedModel:
        """Fits and measures a model. `progress` is called with the number of finished epochs."""
        return self.learn_all(environment, data, progress)[None]

    def learn_all(
        self, environment: Environment, data: Dataset, progress: Callable[[float], None]
    ) -> dict[int | None, TrainedModel]:
        """The intermediate models by their number of epochs, and the final model under None."""
        network, result = self.fit(environment, data, progress)
        models: dict[int | None, TrainedModel] = {}
        for epochs, weights in result.snapshots.items():
            intermediate = deepcopy(network)
            intermediate.load_state_dict(weights)
            measured = self.measure(environment, data, intermediate, result.truncate(epochs))
            models[epochs] = self._with_settings(measured)
        return {**models, None: self._with_settings(self.measure(environment, data, network, result))}

    def _with_settings(self, trained: TrainedModel) -> TrainedModel:
        """The model with the settings of data collection and of the trainer on its card."""
        collection = {
            "policy": self.collect,
            **{name: getattr(self, name) for name in COLLECTION},
            "seed": self.seed,
        }
        return TrainedModel(trained.model, {**trained.card, "collect": collection, "trainer": TRAINERS.describe(self)})

    @property
    def network_values(self) -> dict[str, Any]:
        """The settings of the network by name, for a card."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name in self.network_settings}

    @property
    def fit_values(self) -> dict[str, Any]:
        """The settings of the fit by name, for a card."""
        return {name: getattr(self, name) for name in FIT}


def read_stored(folder: Path, environment: Environment, transitions: int, seed: int) -> Dataset:
    """A dataset of stored episodes. Raises BadInput for episodes of another environment."""
    check_stored_episodes(folder, environment)
    return EpisodesFolder(folder).read().sample_dataset(transitions, seed)


def check_stored_episodes(folder: Path, environment: Environment) -> None:
    """Raises BadInput for a folder without episodes, or with episodes of another environment."""
    described = EpisodesFolder(folder).description()
    if {name: value for name, value in described.items() if name != "init"} != describe_environment(environment):
        raise BadInput(
            f"the episodes in {folder} are of {described['environment']} and cannot be used for "
            f"{environment.spec.name}: its observations, actions or action repeat differ"
        )
