"""The kinds of world models that can be trained: one line each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, get_args

from wmel.contract.environment import Environment
from wmel.errors import BadInput
from wmel.models.tdmpc2.model import Rollout
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
    rollouts: tuple[str, ...] = ()  # ways to imagine with it, where there is a choice; its model has `rollout_way`


KINDS = {
    "mlp": Kind(MLPSettings, blank_mlp, mlp_model, train_mlp),
    "latent-mlp": Kind(LatentMLPSettings, blank_latent_mlp, latent_mlp_model, train_latent_mlp),
    "tdmpc2": Kind(TDMPC2Settings, blank_tdmpc2, tdmpc2_model, check=check_tdmpc2, rollouts=get_args(Rollout)),
}


def imagining(model: Any, kind: str, rollout: str | None) -> Any:
    """A model of a kind that imagines in one of its ways; None: as it is."""
    if rollout is None:
        return model
    ways = KINDS[kind].rollouts
    if not ways:
        able = ", ".join(name for name, one in KINDS.items() if one.rollouts)
        raise BadInput(f"rollout {rollout!r} is for a model of kind {able}; a model of kind {kind} imagines in one way")
    if rollout not in ways:
        raise BadInput(f"a model of kind {kind} has no rollout {rollout!r}; known: {', '.join(ways)}")
    return replace(model, rollout_way=rollout)
