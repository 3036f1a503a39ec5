"""mlp and latent-mlp: networks that predict the next observation, or learn latent dynamics on imagined windows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from wmel.contract.environment import Enumerable, Environment, Finite, Space
from wmel.contract.trainer import TrainedModel
from wmel.errors import BadInput, require
from wmel.models.imagine import rollout_by_steps
from wmel.models.mlp import MLP, LatentMLP, LatentMLPModel, MLPModel
from wmel.parts import implements, refuse_unknown_settings, setting
from wmel.training.checkpoints import build_card
from wmel.training.data import Dataset, Transitions, has_reward, network_input, window_indices
from wmel.training.fit import FitResult, Samples, fit, observation_errors, reward_errors
from wmel.training.fitted import ALL, FittedTrainer

MAX_WIDTH, MAX_LAYERS = 16_384, 100  # of a network
MIN_SCALE = 1e-6  # of a component that is almost constant
CONTROL = {"collect": "random", "hidden": (64, 64), "rounded": False}
FIT_OF_CONTROL = {"epochs": 200, "batch": 256, "learning_rate": 1e-3, "decay": False, "held_out": 0.1}
FIT_OF_GRIDS = {"epochs": 800, "batch": 1 << 20, "learning_rate": 1e-2, "decay": False, "held_out": 0.0}  # full batch
GRID = {"collect": ALL, "hidden": (32, 32), "target": "delta", "rounded": True, **FIT_OF_GRIDS}


def check_hidden(widths: tuple[int, ...] | None) -> None:
    """Raises BadInput for a network without hidden layers, or with more than MAX_LAYERS."""
    require(widths is None or len(widths) > 0, "hidden must contain the width of at least one layer", widths)
    require(widths is None or len(widths) <= MAX_LAYERS, f"hidden must have at most {MAX_LAYERS} layers", widths)


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


LATENT_CONTROL = {
    "collect": "random",
    "epochs": 80,
    "batch": 256,
    "learning_rate": 6e-3,
    "decay": True,
    "held_out": 0.1,
}
LATENT_GRID = {"collect": ALL, **FIT_OF_GRIDS}


@refuse_unknown_settings
@dataclass(frozen=True, kw_only=True)
class LatentMLPTrainer(FittedTrainer):
    """Four networks that imagine windows of episodes. An epoch contains each transition about `window` times."""

    hidden: tuple[int, ...] = setting((64, 64), "hidden layers of each network", at_least=1, at_most=MAX_WIDTH)
    latent: int = setting(32, "components of the latent", at_least=1, at_most=MAX_WIDTH)
    window: int = setting(5, "steps imagined at a time in training", at_least=1)

    kind: ClassVar[str] = "latent-mlp"
    network_settings: ClassVar[tuple[str, ...]] = ("hidden", "latent", "window")

    def __post_init__(self):
        super().__post_init__()
        check_hidden(self.hidden)

    def defaults(self, environment: Environment) -> dict[str, Any]:
        check_has_reward(environment)
        return LATENT_GRID if implements(environment, Enumerable) else LATENT_CONTROL

    def fit(
        self, environment: Environment, data: Dataset, progress: Callable[[float], None]
    ) -> tuple[LatentMLP, FitResult]:
        """Whole episodes are held out, because windows overlap."""
        transitions, space = data.training, environment.spec.actions
        rewards = _finite_rewards(environment, transitions)
        torch.manual_seed(self.seed)
        network = self.blank(environment)
        set_scale(network, "observation", transitions.observations)
        set_scale(network, "reward", rewards)
        windows = window_indices(transitions.episodes, self.window)
        samples = _build_window_samples(network, transitions, network_input(space, transitions.actions), windows)
        return network, fit(network, samples, self, progress)

    def measure(self, environment: Environment, data: Dataset, network: LatentMLP, result: FitResult) -> TrainedModel:
        model, space = self.model(environment, network), environment.spec.actions
        windows = window_indices(data.training.episodes, self.window)
        fitted, held_out = (np.unique(windows[rows]) for rows in (result.fitted, result.held_out))

        def imagine(observations: Tensor, actions: Tensor) -> Tensor:
            return network.decode(rollout_by_steps(network.step, network.encode(observations), actions))

        def reward(observations: Tensor, actions: Tensor) -> Tensor:
            return network.rewards(network.encode(observations), actions)

        errors = observation_errors(imagine, space, data, fitted, held_out)
        errors |= reward_errors(reward, space, data, fitted)
        return TrainedModel(model, build_card(environment, data, self, result, errors))

    def blank(self, environment: Environment) -> LatentMLP:
        """A network of the right size. Its weights are sampled from torch's global generator."""
        spec = environment.spec
        return LatentMLP(len(spec.observation), action_width(spec.actions), self.hidden, self.latent)

    def model(self, environment: Environment, network: LatentMLP) -> LatentMLPModel:
        finite = isinstance(environment.spec.actions, Finite)
        return LatentMLPModel(network.requires_grad_(False), "latent-mlp", "one_hot" if finite else "value")


def check_has_reward(environment: Environment) -> None:
    """Raises BadInput for an environment without a reward."""
    if not has_reward(environment):
        raise BadInput(f"latent-mlp learns a reward, and {environment.spec.name} has none: train mlp instead")


def window_loss(network: LatentMLP, observations: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
    """The loss of windows: observations [W,K+1,O], network inputs [W,K,A] and rewards [W,K].

    Each window is imagined from its first observation. The loss is the sum of three mean squared errors: of the decoded
    observations and of the rewards, each divided by its scale, and of the latents from the encoded observations.
    """
    latents = rollout_by_steps(network.step, network.encode(observations[:, 0]), actions)
    with torch.no_grad():
        encoded = network.encode(observations[:, 1:])
    reward_error = (network.rewards(latents[:, :-1], actions) - rewards) / network.reward_scale
    observation_error = (network.decode(latents) - observations) / network.observation_scale
    return observation_error.square().mean() + reward_error.square().mean() + mse_loss(latents[:, 1:], encoded)


def _finite_rewards(environment: Environment, data: Transitions) -> np.ndarray:
    if data.rewards is None:
        check_has_reward(environment)
        raise BadInput(f"latent-mlp learns a reward, and the data of {environment.spec.name} have none")
    if not np.isfinite(data.rewards).all():
        raise BadInput(f"rewards must be finite; those of {environment.spec.name} contain NaN or infinity")
    return data.rewards


def _build_window_samples(network: LatentMLP, data: Transitions, inputs: np.ndarray, windows: np.ndarray) -> Samples:
    """One sample for each window, one group for each episode."""
    observations, actions, after, rewards = (
        torch.as_tensor(array, dtype=torch.float32)
        for array in (data.observations, inputs, data.next_observations, data.rewards)
    )

    def loss(rows: Tensor) -> Tensor:  # [W,K]
        window = torch.cat([observations[rows], after[rows[:, -1:]]], dim=1)
        return window_loss(network, window, actions[rows], rewards[rows])

    _, groups = np.unique(data.episodes[windows[:, 0]], return_inverse=True)
    return Samples((torch.as_tensor(windows),), loss, groups)
