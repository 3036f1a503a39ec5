"""Training a TD-MPC2 in an environment: learn, then a decoder, then measure, then the card."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from wmel.closed_loop.run import episode_seeds
from wmel.contract.environment import Environment
from wmel.contract.spaces import Box, Finite
from wmel.errors import BadInput
from wmel.models.tdmpc2.model import Decoded, TDMPC2Model
from wmel.models.tdmpc2.network import SIZES, TDMPC2
from wmel.threads import limited_to
from wmel.training.card import Trained, trained_for
from wmel.training.seeds import TRAINING
from wmel.training.tdmpc2.decoder import decoder_pairs, fit_decoder
from wmel.training.tdmpc2.draws import Draws
from wmel.training.tdmpc2.online import Diverged, Moment, Training
from wmel.training.tdmpc2.play import played
from wmel.training.tdmpc2.settings import TDMPC2Settings, discount_of
from wmel.versions import versions_in_use

DECODER_EPISODES, MEASURED_EPISODES = 10, 64
PLAYED = 50_000  # training episodes have lower numbers
BEST, LAST = "of the round of episodes that returned most", "the last: no round had updates from beginning to end"


def train_tdmpc2(
    environment: Environment,
    settings: TDMPC2Settings,
    device: torch.device,
    tell: Callable[[Moment], None] = lambda moment: None,
) -> Trained:
    """Learn online, fit the decoder to the policy's own episodes, and measure its return and errors on others.

    Raises Diverged where a loss is no number; the error holds what the best weights so far make, if there are any.
    """
    training, curve = Training(environment, settings, device), []

    def keep(moment: Moment) -> None:
        curve.append(moment)
        tell(moment)

    with limited_to(settings.threads):
        try:
            training.run(keep)
        except Diverged as error:
            rated = training.best()[0] is not None
            raise Diverged(str(error), _finished(training, curve, str(error)) if rated else None) from error
        return _finished(training, curve, None)


def _finished(training: Training, curve: list[Moment], diverged: str | None) -> Trained:
    """The best weights of a training with a decoder, and their card."""
    environment, settings, device = training.environment, training.settings, training.device
    with Draws(settings.seed, device).going_on():
        networks = blank_tdmpc2(environment, settings).to(device)
    best, weights = training.best()
    networks.agent.load_state_dict(weights)
    networks.agent.requires_grad_(False).eval()
    seeds = episode_seeds(TRAINING + settings.seed, PLAYED + DECODER_EPISODES + MEASURED_EPISODES)[PLAYED:]
    own = played(environment, networks, seeds[:DECODER_EPISODES])
    pairs = decoder_pairs(networks, own.observations, own.actions)
    error = fit_decoder(networks, *pairs, settings.seed, settings.decoder_steps)
    others = played(environment, networks, seeds[DECODER_EPISODES:])
    latents, seen = decoder_pairs(networks, others.observations, others.actions)
    with torch.no_grad():
        held_out = float((networks.decoder(latents) - seen).square().mean())
    card = {
        "model": {"kind": "tdmpc2", **trained_for(environment), **_shape_of(settings)},
        "environment": environment.spec.name,
        "init": environment.spec.init,
        "data": {"transitions": curve[-1].transitions, "episodes": training.episodes},
        "errors": {"decoder_mse": _number(error), "held_out_decoder_mse": _number(held_out)},
        "kept": {"weights": LAST if best is None else BEST, "return": best},
        "policy_return": {
            "mean": _number(others.returns.mean()),
            "deviation": _number(others.returns.std(ddof=1)),
            "episodes": MEASURED_EPISODES,
        },
        "fit": {
            **asdict(settings),
            "discount": training.learner.discount,
            "device": device.type,
            "updates_taken": training.updates,
            "diverged": diverged,
        },
        "curve": [asdict(moment) for moment in curve],
        "versions": versions_in_use(),
    }
    return Trained(tdmpc2_model(environment, networks), card)


def blank_tdmpc2(environment: Environment, settings: TDMPC2Settings) -> Decoded:
    """Networks of the right size for what an environment observes and does."""
    space = environment.spec.actions
    if isinstance(space, Box):
        low, high = space.low, space.high
    else:
        width = 1 if space.values is None else space.values.shape[1]
        low, high = -np.ones(width), np.ones(width)
    network = TDMPC2(
        len(environment.spec.observation), len(low), SIZES[settings.size], settings.activation, settings.latent_norm
    )
    bounds = (torch.as_tensor(bound, dtype=torch.float32) for bound in (low, high))
    return Decoded(network, *bounds, discount=discount_of(environment.spec.max_steps))


def tdmpc2_model(environment: Environment, networks: Decoded) -> TDMPC2Model:
    """The networks as a model of an environment."""
    return TDMPC2Model(networks.requires_grad_(False).eval())


def check_tdmpc2(environment: Environment, described: dict[str, Any]) -> None:
    """Refuse an environment that observes something else, or whose actions have another width."""
    spec = environment.spec
    if described.get("observation") != list(spec.observation):
        raise BadInput(
            f"the checkpoint was trained on {described.get('environment')}, and {spec.name} observes something else: "
            f"{described.get('observation')} there, {list(spec.observation)} here"
        )
    space, bounds = spec.actions, (described.get("actions") or {}).get("bounds")
    width = len(bounds[0]) if isinstance(bounds, list) and bounds and isinstance(bounds[0], list) else None
    values = space.values if isinstance(space, Finite) else None
    here = space.width if isinstance(space, Box) else None if values is None else values.shape[1]
    if width is None or width != here:
        raise BadInput(
            f"the checkpoint was trained on {described.get('environment')} with actions of {width} numbers; those of "
            f"{spec.name} have {here}"
        )


def _shape_of(settings: TDMPC2Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in ("size", "activation", "latent_norm")}


def _number(value: float) -> float | None:
    """As a card holds it: JSON has no NaN."""
    return float(value) if math.isfinite(value) else None
