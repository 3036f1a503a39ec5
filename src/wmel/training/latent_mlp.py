"""latent-mlp: networks with latent dynamics, trained on imagined windows of episodes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from wmel.contract.environment import Enumerable, Environment, Finite
from wmel.contract.trainer import TrainedModel
from wmel.errors import BadInput
from wmel.models.imagine import rollout_by_steps
from wmel.models.latent_mlp import LatentMLP, LatentMLPModel
from wmel.parts import implements, refuse_unknown_settings, setting
from wmel.training.checkpoints import build_card
from wmel.training.data import Dataset, Transitions, has_reward, network_input, window_indices
from wmel.training.fit import FitResult, Samples, fit, observation_errors, reward_errors
from wmel.training.fitted import ALL, FittedTrainer
from wmel.training.mlp import FIT_OF_GRIDS, MAX_WIDTH, action_width, check_hidden, set_scale

CONTROL = {"collect": "random", "epochs": 80, "batch": 256, "learning_rate": 6e-3, "decay": True, "held_out": 0.1}
GRID = {"collect": ALL, **FIT_OF_GRIDS}


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
        return GRID if implements(environment, Enumerable) else CONTROL

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
        samples = _build_samples(network, transitions, network_input(space, transitions.actions), windows)
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


def _build_samples(network: LatentMLP, data: Transitions, inputs: np.ndarray, windows: np.ndarray) -> Samples:
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
