"""The kinds of world models that can be trained: one line each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wmel.contract.environment import Environment
from wmel.training.card import Trained
from wmel.training.latent_mlp import LatentMLPSettings, blank_latent_mlp, latent_mlp_model, train_latent_mlp
from wmel.training.mlp import MLPSettings, blank_mlp, mlp_model, train_mlp


@dataclass(frozen=True)
class Kind:
    """From settings to a network, from a network to a model, and from data to a trained one."""

    settings: Any  # a class of settings that a card can be read into
    blank: Callable[[Environment, Any], Any]
    model: Callable[[Environment, Any], Any]
    train: Callable[..., Trained]


KINDS = {
    "mlp": Kind(MLPSettings, blank_mlp, mlp_model, train_mlp),
    "latent-mlp": Kind(LatentMLPSettings, blank_latent_mlp, latent_mlp_model, train_latent_mlp),
}
