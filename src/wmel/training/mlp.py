"""Train an MLP that predicts the next observation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import nn
from torch.nn.functional import mse_loss

from wmel.contract.environment import Enumerable, Environment, Finite, Space
from wmel.contract.trainer import TrainedModel
from wmel.errors import require
from wmel.kinds import implements
from wmel.models.mlp import MLP, MLPModel
from wmel.parts import refuse_unknown_settings, setting
from wmel.training.checkpoints import card_of
from wmel.training.data import Collected, Transitions, network_input
from wmel.training.evaluate import observation_errors
from wmel.training.fit import Fitted, Samples, fit
from wmel.training.fitted import ALL, FittedTrainer

WIDEST = 16_384
SMALLEST_SCALE = 1e-6  # of a component that hardly ever changes
CONTROL = {"collect": "random", "hidden": (64, 64), "rounded": False}
FIT_OF_CONTROL = {"epochs": 200, "batch": 256, "learning_rate": 1e-3, "decay": False, "held_out": 0.1}
FIT_OF_GRIDS = {"epochs": 800, "batch": 1 << 20, "learning_rate": 1e-2, "decay": False, "held_out": 0.0}  # one batch
GRID = {"collect": ALL, "hidden": (32, 32), "target": "delta", "rounded": True, **FIT_OF_GRIDS}


def check_hidden(widths: tuple[int, ...] | None) -> None:
    """Refuse a network without a hidden layer."""
    require(widths is None or len(widths) > 0, "hidden must name the width of at least one layer", widths)


def action_width(space: Space) -> int:
    """Numbers of an action as a network takes it: finite ones are one-hot."""
    return space.count if isinstance(space, Finite) else space.width


def set_scale(network: nn.Module, name: str, numbers: np.ndarray) -> None:
    """Give a network the mean and the standard deviation of rows [T,...], as its `name`_centre and `name`_scale."""
    getattr(network, f"{name}_centre").copy_(torch.as_tensor(numbers.mean(axis=0)))
    getattr(network, f"{name}_scale").copy_(torch.as_tensor(numbers.std(axis=0).clip(SMALLEST_SCALE)))


@refuse_unknown_settings
@dataclass(frozen=True, kw_only=True)
class MLPTrainer(FittedTrainer):
    """The documents' settings by default: absolute next observation, 64-64; `delta` also scales inputs and outputs."""

    hidden: tuple[int, ...] | None = setting(
        None, "widths of the hidden layers; none: 64,64, on grids 32,32", at_least=1, at_most=WIDEST
    )
    target: Literal["next", "delta"] | None = setting(
        None, "predict the next observation or its scaled change; none: next on dmc_*, else delta"
    )
    rounded: bool | None = setting(None, "round predictions to whole numbers; none: on grids only")

    kind: ClassVar[str] = "mlp"
    network_settings: ClassVar[tuple[str, ...]] = ("hidden", "target", "rounded")

    def __post_init__(self):
        super().__post_init__()
        check_hidden(self.hidden)

    @classmethod
    def of_card(cls, described: dict[str, Any]) -> Self:
        """A card that does not say so rounds nothing."""
        return super().of_card({"rounded": False, **described})

    def defaults(self, environment: Environment) -> dict[str, Any]:
        if implements(environment, Enumerable):
            return GRID
        target = "next" if environment.spec.name.startswith("dmc_") else "delta"
        return {**CONTROL, **FIT_OF_CONTROL, "target": target}

    def fit(self, environment: Environment, data: Collected, progress: Callable[[float], None]) -> tuple[MLP, Fitted]:
        transitions, space = data.training, environment.spec.actions
        torch.manual_seed(self.seed)
        network = self.blank(environment)
        if self.target == "delta":
            set_scale(network, "seen", transitions.observations)
            set_scale(network, "made", transitions.next_observations - transitions.observations)
        samples = _samples(network, transitions, network_input(space, transitions.actions))
        return network, fit(network, samples, self, progress)

    def measure(self, environment: Environment, data: Collected, network: MLP, fitted: Fitted) -> TrainedModel:
        model, space = self.model(environment, network), environment.spec.actions
        errors = observation_errors(model.rollout, space, data, fitted.kept, fitted.held_out)
        return TrainedModel(model, card_of(environment, data, self, fitted, errors))

    def blank(self, environment: Environment) -> MLP:
        """A network of the right size, its weights sampled from torch's generator."""
        spec, hidden = environment.spec, self.hidden or CONTROL["hidden"]
        width = action_width(spec.actions)
        return MLP(len(spec.observation), width, hidden, self.target or "next", bool(self.rounded))

    def model(self, environment: Environment, network: MLP) -> MLPModel:
        finite = isinstance(environment.spec.actions, Finite)
        return MLPModel(network.requires_grad_(False), "mlp", "index" if finite else "value")


def _samples(network: MLP, data: Transitions, acted: np.ndarray) -> Samples:
    """Each transition by itself."""
    observations, actions, after = (
        torch.as_tensor(array, dtype=torch.float32) for array in (data.observations, acted, data.next_observations)
    )
    wanted = network.scaled_targets(observations, after)
    return Samples(
        (observations, actions, wanted),
        lambda seen, acted, wanted: mse_loss(network(seen, acted), wanted),
        groups=np.arange(len(data)),
    )
