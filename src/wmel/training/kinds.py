"""The kinds of world models that can be trained: one line each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wmel.contract.environment import Environment
from wmel.training.card import Trained, check_trained_for
from wmel.training.latent_mlp import LatentMLPSettings, blank_latent_mlp, latent_mlp_model, train_latent_mlp
from wmel.training.mlp import MLPSettings, blank_mlp, mlp_model, train_mlp
from wmel.training.tdmpc2.settings import TDMPC2Settings
from wmel.training.tdmpc2.train import blank_tdmpc2, check_tdmpc2, tdmpc2_model


@dataclass(frozen=True)
class Kind:
    """From settings to a network, from a network to a model, and from data to a trained one."""

    settings: Any  # a class of settings that a card can be read into
    blank: Callable[[Environment, Any], Any]
    model: Callable[[Environment, Any], Any]
    fit: Callable[..., Trained] | None = None  # to data; None: it learns as it plays
    check: Callable[[Environment, dict[str, Any]], None] = check_trained_for


KINDS = {
    "mlp": Kind(MLPSettings, blank_mlp, mlp_model, train_mlp),
    "latent-mlp": Kind(LatentMLPSettings, blank_latent_mlp, latent_mlp_model, train_latent_mlp),
    "tdmpc2": Kind(TDMPC2Settings, blank_tdmpc2, tdmpc2_model, check=check_tdmpc2),
}
