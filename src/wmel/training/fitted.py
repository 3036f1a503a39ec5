"""Trainers that collect transitions and fit a network to them: what all of them share."""

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
from wmel.contract.trainer import ProgressListener, TrainedModel
from wmel.errors import BadInput
from wmel.parts import check_settings, setting
from wmel.policies.mixture import exploration, mixture_label
from wmel.training.checkpoints import CHECKPOINTS, check_trained_for, refuse_another, trained_for, write_checkpoint
from wmel.training.data import Collected, collect, every_transition
from wmel.training.fit import Fitted
from wmel.training.stored_episodes import EpisodesFolder

ALL, STORED = "all", "stored"  # collected: every transition there is; episodes that were played before
COLLECTION = {"transitions": 2000, "epsilon": 0.0, "episode_steps": 200}
TRANSITIONS_OF_STORED = 20_000
TRANSITIONS_TRIED, EPOCHS_TRIED = 400, 4  # of a training whose time is forecast
FIT = ("epochs", "batch", "learning_rate", "decay", "held_out", "patience", "seed", "threads")


@dataclass(frozen=True, kw_only=True)
class FittedTrainer(ABC):
    """Settings of collecting and fitting; a trainer adds those of its network."""

    collect: str | list | dict | None = setting(
        None, "policy that collects data, or a mixture such as 3*random+cem; none: random, on grids all transitions"
    )
    data: str | None = setting(None, "folder of stored episodes to learn from, instead of collecting")
    transitions: int | None = setting(None, "transitions to learn from; none: 2000, of stored data 20000", at_least=2)
    epsilon: float | None = setting(None, "share of actions replaced by random ones; none: 0", at_least=0, at_most=1)
    episode_steps: int | None = setting(None, "steps of an episode of data; none: 200", at_least=1)
    epochs: int | None = setting(None, "passes over the data; none: 200, latent-mlp 80, on grids 800", at_least=1)
    batch: int | None = setting(None, "samples per update; none: 256, on grids all", at_least=1)
    learning_rate: float | None = setting(
        None, "of Adam; none: 0.001, latent-mlp 0.006, on grids 0.01", above=0, below=inf
    )
    decay: bool | None = setting(None, "lower the learning rate along half a cosine; none: latent-mlp only")
    held_out: float | None = setting(None, "share of the data held out; none: 0.1, on grids 0", at_least=0, below=1)
    patience: int | None = setting(
        None, "stop after so many epochs without a better held-out error and keep the best; none: never", at_least=1
    )
    checkpoints: tuple[int, ...] | None = setting(
        None,
        "epochs after which a checkpoint is kept on the way; without epochs, the last ends the training",
        at_least=1,
    )
    seed: int = setting(0, "of the data, the split and the weights", at_least=0)
    threads: int = setting(1, "threads to fit with", at_least=1)

    kind: ClassVar[str]
    rollouts: ClassVar[tuple[str, ...]] = ()
    network_settings: ClassVar[tuple[str, ...]]  # those a card describes the network by

    def __post_init__(self):
        check_settings(self)
        if self.data is not None and self.collect not in (None, STORED):
            raise BadInput(f"stored episodes are as they were played: leave out collect {self.collect!r}, or data")
        if self.patience is not None and self.held_out == 0:
            raise BadInput("patience needs data held out to judge by: give held_out a share above 0")
        if self.checkpoints is not None and self.patience is not None:
            raise BadInput("patience may end a training before a checkpoint is due: give patience or checkpoints")
        if self.epochs is not None and any(at > self.epochs for at in self.checkpoint_updates):
            raise BadInput(f"checkpoints {self.checkpoints} lie beyond the {self.epochs} epochs of the training")

    @property
    def checkpoint_updates(self) -> tuple[int, ...]:
        """The epochs after which a checkpoint is kept on the way, in rising order."""
        return tuple(sorted(set(self.checkpoints or ())))

    def counts_in(self) -> str:
        return "epochs"

    @abstractmethod
    def defaults(self, environment: Environment) -> dict[str, Any]:
        """What settings that are None come to in an environment."""

    @abstractmethod
    def fit(
        self, environment: Environment, data: Collected, progress: Callable[[float], None]
    ) -> tuple[nn.Module, Fitted]:
        """Fit a network to data, `progress` counting epochs."""

    @abstractmethod
    def measure(self, environment: Environment, data: Collected, network: Any, fitted: Fitted) -> TrainedModel:
        """A fitted network as a model, with the card that says how good it is on what was held out."""

    @abstractmethod
    def blank(self, environment: Environment) -> Any: ...

    @abstractmethod
    def model(self, environment: Environment, network: Any) -> Any: ...

    @classmethod
    def of_card(cls, described: dict[str, Any]) -> Self:
        """Raises where the card leaves something open: a guess could fit the weights and predict something else."""
        unsaid = [name for name in cls.network_settings if described.get(name) is None]
        if unsaid:
            raise ValueError(f"it does not say what {unsaid[0]} is")
        return cls(**{name: described[name] for name in cls.network_settings})

    def check(self, environment: Environment, described: dict[str, Any]) -> None:
        check_trained_for(environment, described)

    def resolve(self, environment: Environment) -> Self:
        known = self.defaults(environment)
        if self.checkpoints:
            known = {**known, "epochs": max(self.checkpoints)}
        policy = STORED if self.data is not None else self.collect or known["collect"]
        usual = {
            name: value
            for name, value in {**known, **self._collection_defaults(policy, environment), "collect": policy}.items()
            if getattr(self, name) is None
        }
        return replace(self, **usual)

    def _collection_defaults(self, policy: str | list | dict, environment: Environment) -> dict[str, Any]:
        """What collecting comes to; settings that the policy has no use for, and unusable data, are refused."""
        if policy == STORED:
            if self.epsilon is not None or self.episode_steps is not None:
                raise BadInput("stored episodes are as they were played: leave out epsilon and episode_steps")
            if self.data is not None:
                check_stored(Path(self.data), environment)
            return {"transitions": TRANSITIONS_OF_STORED}
        if policy != ALL:
            return COLLECTION
        for name in COLLECTION:
            if getattr(self, name) is not None:
                raise BadInput(
                    f"every transition there is is collected, so {name} has no use: leave it out, or name a policy "
                    "that collects"
                )
        return {}

    def train(self, environment: Environment, folder: Path, listener: ProgressListener) -> TrainedModel:
        refuse_another(folder, self.kind)
        how = self.resolve(environment)
        listener.begin(f"{mixture_label(how.collect)} in {environment.spec.name}", how.transitions or 0, "transitions")
        data = how.gather(environment, listener.advance)
        listener.begin(f"fitting {self.kind}", how.epochs or 0, "epochs")
        made = how.learn_all(environment, data, listener.advance)
        for at, one in made.items():
            home = folder if at is None else folder / CHECKPOINTS / f"{at:07d}"
            write_checkpoint(home, one.model.network.state_dict(), one.card)
        return made[None]

    def forecast(self, environment: Environment) -> float:
        """Seconds a training takes: some transitions are collected and some epochs fitted, the rest in proportion."""
        how = self.resolve(environment)
        fewer = None if how.transitions is None else min(how.transitions, TRANSITIONS_TRIED)
        few = replace(how, transitions=fewer, epochs=EPOCHS_TRIED, patience=None, checkpoints=None)
        begin = time.perf_counter()
        data = few.gather(environment)
        collected = time.perf_counter()
        few.learn(environment, data)
        fitted = time.perf_counter()
        few.learn(environment, data)
        again = time.perf_counter() - fitted
        scale = 1.0 if how.transitions is None or fewer is None else how.transitions / fewer
        epoch = min(fitted - collected, again) / EPOCHS_TRIED
        return scale * (collected - begin + epoch * (how.epochs or 0))

    def gather(self, environment: Environment, progress: Callable[[float], None] = lambda done: None) -> Collected:
        """The data it learns from; `progress` counts transitions."""
        if self.collect == ALL:
            return every_transition(environment)
        assert self.transitions is not None
        if self.collect == STORED:
            if self.data is None:
                raise BadInput("'stored' collects nothing: say with `data` where episodes are stored")
            return read_stored(Path(self.data), environment, self.transitions, self.seed)
        assert self.collect is not None and self.epsilon is not None and self.episode_steps is not None
        policy = exploration(environment, self.collect, self.epsilon)
        steps, seed = self.episode_steps, self.seed
        return collect(environment, policy, self.transitions, episode_steps=steps, seed=seed, progress=progress)

    def learn(
        self, environment: Environment, data: Collected, progress: Callable[[float], None] = lambda done: None
    ) -> TrainedModel:
        """The model of its data; `progress` counts epochs."""
        return self.learn_all(environment, data, progress)[None]

    def learn_all(
        self, environment: Environment, data: Collected, progress: Callable[[float], None]
    ) -> dict[int | None, TrainedModel]:
        """The checkpoints on the way by their epochs, then the model itself, as None."""
        network, fitted = self.fit(environment, data, progress)
        found: dict[int | None, TrainedModel] = {}
        for at, weights in fitted.snapshots.items():
            before = deepcopy(network)
            before.load_state_dict(weights)
            found[at] = self._described(self.measure(environment, data, before, fitted.after(at)))
        return {**found, None: self._described(self.measure(environment, data, network, fitted))}

    def _described(self, made: TrainedModel) -> TrainedModel:
        """The same with what it was collected by and trained with on its card."""
        collected = {
            "policy": self.collect,
            **{name: getattr(self, name) for name in COLLECTION},
            "seed": self.seed,
        }
        return TrainedModel(made.model, {**made.card, "collect": collected, "trainer": TRAINERS.describe(self)})

    @property
    def described(self) -> dict[str, Any]:
        """The settings of its network, as a card has them."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name in self.network_settings}

    @property
    def fitting(self) -> dict[str, Any]:
        """The settings of the fit, as a card has them."""
        return {name: getattr(self, name) for name in FIT}


def read_stored(folder: Path, environment: Environment, transitions: int, seed: int) -> Collected:
    """So many transitions of the episodes in a folder, which must have been played in the same environment."""
    check_stored(folder, environment)
    return EpisodesFolder(folder).read().collected(transitions, seed)


def check_stored(folder: Path, environment: Environment) -> None:
    """Refuse a folder without episodes, or with episodes that were played in another environment."""
    described = EpisodesFolder(folder).description()
    if {name: value for name, value in described.items() if name != "init"} != trained_for(environment):
        raise BadInput(
            f"the episodes in {folder} were played in {described['environment']} and cannot be learned from for "
            f"{environment.spec.name}: its observations, actions or action repeat are others"
        )
