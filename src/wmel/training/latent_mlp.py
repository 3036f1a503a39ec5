"""latent-mlp: trained on windows of episodes, which it imagines; every step is compared."""

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
from wmel.kinds import implements
from wmel.models.imagine import rollout_by_steps
from wmel.models.latent_mlp import LatentMLP, LatentMLPModel
from wmel.parts import refuse_unknown_settings, setting
from wmel.training.checkpoints import card_of
from wmel.training.data import Collected, Transitions, gives_reward, network_input, windows_of
from wmel.training.evaluate import observation_errors, reward_errors
from wmel.training.fit import Fitted, Samples, fit
from wmel.training.fitted import ALL, FittedTrainer
from wmel.training.mlp import FIT_OF_GRIDS, WIDEST, action_width, check_hidden, set_scale

CONTROL = {"collect": "random", "epochs": 80, "batch": 256, "learning_rate": 6e-3, "decay": True, "held_out": 0.1}
GRID = {"collect": ALL, **FIT_OF_GRIDS}


@refuse_unknown_settings
@dataclass(frozen=True, kw_only=True)
class LatentMLPTrainer(FittedTrainer):
    """Four networks that imagine windows of episodes in a latent; an epoch sees each transition `window` times."""

    hidden: tuple[int, ...] = setting((64, 64), "hidden layers of each network", at_least=1, at_most=WIDEST)
    latent: int = setting(32, "components of the latent", at_least=1, at_most=WIDEST)
    window: int = setting(5, "steps imagined at a time in training", at_least=1)

    kind: ClassVar[str] = "latent-mlp"
    network_settings: ClassVar[tuple[str, ...]] = ("hidden", "latent", "window")

    def __post_init__(self):
        super().__post_init__()
        check_hidden(self.hidden)

    def defaults(self, environment: Environment) -> dict[str, Any]:
        check_rewarded(environment)
        return GRID if implements(environment, Enumerable) else CONTROL

    def fit(
        self, environment: Environment, data: Collected, progress: Callable[[float], None]
    ) -> tuple[LatentMLP, Fitted]:
        """Whole episodes of the data are held out, for their windows overlap."""
        transitions, space = data.training, environment.spec.actions
        rewards = _rewards(environment, transitions)
        torch.manual_seed(self.seed)
        network = self.blank(environment)
        set_scale(network, "observation", transitions.observations)
        set_scale(network, "reward", rewards)
        windows = windows_of(transitions.episodes, self.window)
        samples = _samples(network, transitions, network_input(space, transitions.actions), windows)
        return network, fit(network, samples, self, progress)

    def measure(self, environment: Environment, data: Collected, network: LatentMLP, fitted: Fitted) -> TrainedModel:
        model, space = self.model(environment, network), environment.spec.actions
        windows = windows_of(data.training.episodes, self.window)
        kept, held_out = (np.unique(windows[rows]) for rows in (fitted.kept, fitted.held_out))

        def imagine(observations: Tensor, actions: Tensor) -> Tensor:
            return network.decode(rollout_by_steps(network.step, network.encode(observations), actions))

        def reward(observations: Tensor, actions: Tensor) -> Tensor:
            return network.rewards(network.encode(observations), actions)

        errors = observation_errors(imagine, space, data, kept, held_out)
        errors |= reward_errors(reward, space, data, kept)
        return TrainedModel(model, card_of(environment, data, self, fitted, errors))

    def blank(self, environment: Environment) -> LatentMLP:
        """A network of the right size, its weights sampled from torch's generator."""
        spec = environment.spec
        return LatentMLP(len(spec.observation), action_width(spec.actions), self.hidden, self.latent)

    def model(self, environment: Environment, network: LatentMLP) -> LatentMLPModel:
        finite = isinstance(environment.spec.actions, Finite)
        return LatentMLPModel(network.requires_grad_(False), "latent-mlp", "one_hot" if finite else "value")


def check_rewarded(environment: Environment) -> None:
    """Refuse an environment that gives no reward to learn."""
    if not gives_reward(environment):
        raise BadInput(f"{environment.spec.name} gives no reward, which a latent-mlp learns: train mlp instead")


def window_loss(network: LatentMLP, observations: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
    """Of observations [W,K+1,O], network inputs [W,K,A] and rewards [W,K], each in its own scale.

    Imagined from the first observation: what is decoded, the rewards, and how far latents are from those of the truth.
    """
    latents = rollout_by_steps(network.step, network.encode(observations[:, 0]), actions)
    with torch.no_grad():
        seen = network.encode(observations[:, 1:])
    reward_gaps = (network.rewards(latents[:, :-1], actions) - rewards) / network.reward_scale
    observation_gaps = (network.decode(latents) - observations) / network.observation_scale
    return observation_gaps.square().mean() + reward_gaps.square().mean() + mse_loss(latents[:, 1:], seen)


def _rewards(environment: Environment, data: Transitions) -> np.ndarray:
    if data.rewards is None:
        check_rewarded(environment)
        raise BadInput(f"the data of {environment.spec.name} hold no rewards, which a latent-mlp learns")
    if not np.isfinite(data.rewards).all():
        raise BadInput(f"rewards must be finite, and those of {environment.spec.name} hold NaN or infinity")
    return data.rewards


def _samples(network: LatentMLP, data: Transitions, acted: np.ndarray, windows: np.ndarray) -> Samples:
    """Each window by itself; those of an episode belong together."""
    observations, actions, after, rewards = (
        torch.as_tensor(array, dtype=torch.float32)
        for array in (data.observations, acted, data.next_observations, data.rewards)
    )

    def loss(rows: Tensor) -> Tensor:  # [W,K]
        seen = torch.cat([observations[rows], after[rows[:, -1:]]], dim=1)
        return window_loss(network, seen, actions[rows], rewards[rows])

    _, groups = np.unique(data.episodes[windows[:, 0]], return_inverse=True)
    return Samples((torch.as_tensor(windows),), loss, groups)
