"""Training a latent MLP world model on windows of episodes: it imagines them, and every step is compared."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from wmel.contract.environment import Environment
from wmel.contract.spaces import Finite
from wmel.errors import BadInput, require, require_whole
from wmel.models.latent_mlp import LatentMLP, LatentMLPModel
from wmel.models.rollout import step_by_step
from wmel.training.card import Trained, card_of
from wmel.training.collect import Collected, gives_reward
from wmel.training.errors import observation_errors, reward_errors
from wmel.training.fit import FitSettings, Samples, fit
from wmel.training.networks import WIDEST, action_width, check_hidden, set_scale
from wmel.training.transitions import Transitions, network_input
from wmel.training.windows import windows_of


@dataclass(frozen=True)
class LatentMLPSettings:
    """Hidden layers of each of its four networks, latent components, and steps imagined at a time in training."""

    hidden: tuple[int, ...] = (64, 64)
    latent: int = 32
    window: int = 5

    def __post_init__(self):
        check_hidden(self.hidden)
        require_whole(self.latent, "the width of the latent")
        require(self.latent <= WIDEST, f"a latent is at most {WIDEST} wide", self.latent)
        require_whole(self.window, "the steps of a window")

    @classmethod
    def of_card(cls, described: dict[str, Any]) -> "LatentMLPSettings":
        """As the card of a checkpoint has them."""
        return cls(tuple(described["hidden"]), described["latent"], described["window"])


def train_latent_mlp(
    environment: Environment,
    collected: Collected,
    network: LatentMLPSettings,
    settings: FitSettings,
    progress: Callable[[float], None] = lambda epochs: None,
) -> Trained:
    """Fit a latent MLP to collected data and measure it on what was held out; `progress` counts epochs.

    Whole episodes of the data are held out, for their windows overlap.
    """
    data, space = collected.training, environment.spec.actions
    rewards = _rewards(environment, data)
    torch.manual_seed(settings.seed)
    made = blank_latent_mlp(environment, network)
    set_scale(made, "observation", data.observations)
    set_scale(made, "reward", rewards)
    windows = windows_of(data.episodes, network.window)
    fitted = fit(made, _samples(made, data, network_input(space, data.actions), windows), settings, progress)
    model = latent_mlp_model(environment, made)
    kept, held_out = (np.unique(windows[rows]) for rows in (fitted.kept, fitted.held_out))

    def imagine(observations: Tensor, actions: Tensor) -> Tensor:
        return made.decode(step_by_step(made.step, made.encode(observations), actions))

    def reward(observations: Tensor, actions: Tensor) -> Tensor:
        return made.rewards(made.encode(observations), actions)

    errors = observation_errors(imagine, space, collected, kept, held_out)
    errors |= reward_errors(reward, space, collected, kept)
    card = card_of(environment, collected, settings, fitted, kind="latent-mlp", network=network, errors=errors)
    return Trained(model, card)


def check_rewarded(environment: Environment) -> None:
    """Refuse an environment that gives no reward to learn."""
    if not gives_reward(environment):
        raise BadInput(f"{environment.spec.name} gives no reward, which a latent-mlp learns: train mlp instead")


def blank_latent_mlp(environment: Environment, settings: LatentMLPSettings) -> LatentMLP:
    """A network of the right size, its weights drawn from torch's generator."""
    spec = environment.spec
    return LatentMLP(len(spec.observation), action_width(spec.actions), settings.hidden, settings.latent)


def latent_mlp_model(environment: Environment, network: LatentMLP) -> LatentMLPModel:
    """The network as a model of an environment."""
    finite = isinstance(environment.spec.actions, Finite)
    return LatentMLPModel(network.requires_grad_(False), "latent-mlp", "one_hot" if finite else "value")


def window_loss(network: LatentMLP, observations: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
    """Of observations [W,K+1,O], network inputs [W,K,A] and rewards [W,K], each in its own scale.

    Imagined from the first observation: what is decoded, the rewards, and how far latents are from those of the truth.
    """
    latents = step_by_step(network.step, network.encode(observations[:, 0]), actions)
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
