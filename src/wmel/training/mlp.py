"""Training an MLP world model: collect, fit, measure, write the card."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch.nn.functional import mse_loss

from wmel.contract.environment import Environment
from wmel.contract.spaces import Finite
from wmel.errors import require
from wmel.models.mlp import MLP, MLPModel
from wmel.training.card import Trained, card_of
from wmel.training.collect import Collected
from wmel.training.errors import observation_errors
from wmel.training.fit import FitSettings, Samples, fit
from wmel.training.networks import action_width, check_hidden, set_scale
from wmel.training.transitions import Transitions, network_input

Target = Literal["next", "delta"]


@dataclass(frozen=True)
class MLPSettings:
    """The documents' by default: absolute next observation, 64-64; `delta` also scales what goes in and out."""

    hidden: tuple[int, ...] = (64, 64)
    target: Target | str = "next"
    rounded: bool = False  # predictions to whole numbers, as on a grid

    def __post_init__(self):
        require(self.target in ("next", "delta"), "target must be 'next' or 'delta'", self.target)
        check_hidden(self.hidden)

    @classmethod
    def of_card(cls, described: dict[str, Any]) -> "MLPSettings":
        """As the card of a checkpoint has them."""
        return cls(tuple(described["hidden"]), described["target"], bool(described.get("rounded")))


def train_mlp(
    environment: Environment,
    collected: Collected,
    network: MLPSettings,
    settings: FitSettings,
    progress: Callable[[float], None] = lambda epochs: None,
) -> Trained:
    """Fit an MLP to collected data and measure it on what was held out; `progress` counts epochs."""
    data, space = collected.training, environment.spec.actions
    torch.manual_seed(settings.seed)
    made = blank_mlp(environment, network)
    if network.target == "delta":
        set_scale(made, "seen", data.observations)
        set_scale(made, "made", data.next_observations - data.observations)
    fitted = fit(made, _samples(made, data, network_input(space, data.actions)), settings, progress)
    model = mlp_model(environment, made)
    errors = observation_errors(model.rollout, space, collected, fitted.kept, fitted.held_out)
    card = card_of(environment, collected, settings, fitted, kind="mlp", network=network, errors=errors)
    return Trained(model, card)


def blank_mlp(environment: Environment, settings: MLPSettings) -> MLP:
    """A network of the right size, its weights drawn from torch's generator."""
    spec = environment.spec
    target: Target = "delta" if settings.target == "delta" else "next"
    return MLP(len(spec.observation), action_width(spec.actions), settings.hidden, target, settings.rounded)


def mlp_model(environment: Environment, network: MLP) -> MLPModel:
    """The network as a model of an environment."""
    finite = isinstance(environment.spec.actions, Finite)
    return MLPModel(network.requires_grad_(False), "mlp", "index" if finite else "value")


def _samples(network: MLP, data: Transitions, acted: np.ndarray) -> Samples:
    """Each transition by itself."""
    observations, actions, after = (
        torch.as_tensor(array, dtype=torch.float32) for array in (data.observations, acted, data.next_observations)
    )
    wanted = network.wanted(observations, after)
    return Samples(
        (observations, actions, wanted),
        lambda seen, acted, wanted: mse_loss(network(seen, acted), wanted),
        groups=np.arange(len(data)),
    )
