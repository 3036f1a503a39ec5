"""mlp: an MLP that predicts the next observation."""

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
from wmel.models.mlp import MLP, MLPModel
from wmel.parts import implements, refuse_unknown_settings, setting
from wmel.training.checkpoints import build_card
from wmel.training.data import Dataset, Transitions, network_input
from wmel.training.fit import FitResult, Samples, fit, observation_errors
from wmel.training.fitted import ALL, FittedTrainer

MAX_WIDTH = 16_384  # of a layer
MIN_SCALE = 1e-6  # of a component that is almost constant
CONTROL = {"collect": "random", "hidden": (64, 64), "rounded": False}
FIT_OF_CONTROL = {"epochs": 200, "batch": 256, "learning_rate": 1e-3, "decay": False, "held_out": 0.1}
FIT_OF_GRIDS = {"epochs": 800, "batch": 1 << 20, "learning_rate": 1e-2, "decay": False, "held_out": 0.0}  # full batch
GRID = {"collect": ALL, "hidden": (32, 32), "target": "delta", "rounded": True, **FIT_OF_GRIDS}


def check_hidden(widths: tuple[int, ...] | None) -> None:
    """Raises BadInput for a network without hidden layers."""
    require(widths is None or len(widths) > 0, "hidden must contain the width of at least one layer", widths)


def action_width(space: Space) -> int:
    """The width of an action as the input of a network. Finite actions are one-hot."""
    return space.count if isinstance(space, Finite) else space.width


def set_scale(network: nn.Module, name: str, numbers: np.ndarray) -> None:
    """Sets the buffers `name`_centre and `name`_scale of a network to mean and standard deviation of rows [T,...]."""
    getattr(network, f"{name}_centre").copy_(torch.as_tensor(numbers.mean(axis=0)))
    getattr(network, f"{name}_scale").copy_(torch.as_tensor(numbers.std(axis=0).clip(MIN_SCALE)))


@refuse_unknown_settings
@dataclass(frozen=True, kw_only=True)
class MLPTrainer(FittedTrainer):
    """The defaults are those of the wmel 0.18 repository: two hidden layers of 64, the absolute next observation.

    The target `delta` also normalises inputs and outputs.
    """

    hidden: tuple[int, ...] | None = setting(
        None, "widths of the hidden layers; none: 64,64, on grids 32,32", at_least=1, at_most=MAX_WIDTH
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
        """Predictions are not rounded if the card does not contain `rounded`."""
        return super().of_card({"rounded": False, **described})

    def defaults(self, environment: Environment) -> dict[str, Any]:
        if implements(environment, Enumerable):
            return GRID
        target = "next" if environment.spec.name.startswith("dmc_") else "delta"
        return {**CONTROL, **FIT_OF_CONTROL, "target": target}

    def fit(self, environment: Environment, data: Dataset, progress: Callable[[float], None]) -> tuple[MLP, FitResult]:
        transitions, space = data.training, environment.spec.actions
        torch.manual_seed(self.seed)
        network = self.blank(environment)
        if self.target == "delta":
            set_scale(network, "seen", transitions.observations)
            set_scale(network, "made", transitions.next_observations - transitions.observations)
        samples = _build_samples(network, transitions, network_input(space, transitions.actions))
        return network, fit(network, samples, self, progress)

    def measure(self, environment: Environment, data: Dataset, network: MLP, result: FitResult) -> TrainedModel:
        model, space = self.model(environment, network), environment.spec.actions
        errors = observation_errors(model.rollout, space, data, result.fitted, result.held_out)
        return TrainedModel(model, build_card(environment, data, self, result, errors))

    def blank(self, environment: Environment) -> MLP:
        """A network of the right size. Its weights are sampled from torch's global generator."""
        spec, hidden = environment.spec, self.hidden or CONTROL["hidden"]
        width = action_width(spec.actions)
        return MLP(len(spec.observation), width, hidden, self.target or "next", bool(self.rounded))

    def model(self, environment: Environment, network: MLP) -> MLPModel:
        finite = isinstance(environment.spec.actions, Finite)
        return MLPModel(network.requires_grad_(False), "mlp", "index" if finite else "value")


def _build_samples(network: MLP, data: Transitions, inputs: np.ndarray) -> Samples:
    """One sample and one group for each transition."""
    observations, actions, after = (
        torch.as_tensor(array, dtype=torch.float32) for array in (data.observations, inputs, data.next_observations)
    )
    targets = network.scaled_targets(observations, after)
    return Samples(
        (observations, actions, targets),
        lambda observations, actions, targets: mse_loss(network(observations, actions), targets),
        groups=np.arange(len(data)),
    )
