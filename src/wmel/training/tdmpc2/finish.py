"""The end of a training: the decoder is fitted, the policy evaluated, the checkpoint written."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wmel.catalog import TRAINERS
from wmel.contract.trainer import TrainedModel
from wmel.errors import BadInput
from wmel.machine import versions_in_use
from wmel.models.tdmpc2.model import TDMPC2WithDecoder
from wmel.models.tdmpc2.network import SIZES, TDMPC2
from wmel.training.tdmpc2.draws import Draws, TrainingMoment
from wmel.training.tdmpc2.trainer import TDMPC2Trainer, discount_of

BATCH, LEARNING_RATE = 256, 1e-3  # the documents'
DECODER_EPISODES = 10
Pair = tuple[np.ndarray, np.ndarray]  # what was seen and what was done


def decoder_pairs(networks: TDMPC2WithDecoder, observations: np.ndarray, actions: np.ndarray) -> tuple[Tensor, Tensor]:
    """Latents and what they should decode to, of episodes [E,L+1,O], [E,L,A] in their own units.

    Each observation encoded, and each but the first as the dynamics foresee it from the one before.
    """
    device = networks.low.device
    seen = torch.as_tensor(observations, dtype=torch.float32, device=device)
    acted = networks.scale_actions(torch.as_tensor(actions, dtype=torch.float32, device=device))
    with torch.no_grad():
        latents = networks.agent.encode(seen)
        foreseen = networks.agent.next(latents[:, :-1], acted)
    pairs = [(latents, seen), (foreseen, seen[:, 1:])]
    return torch.cat([latent.flatten(0, 1) for latent, _ in pairs]), torch.cat([one.flatten(0, 1) for _, one in pairs])


def fit_decoder(networks: TDMPC2WithDecoder, latents: Tensor, observations: Tensor, seed: int, steps: int) -> None:
    """Fit the decoder to pairs [n,Z], [n,O]."""
    generator = torch.Generator(device=latents.device).manual_seed(seed)
    optimiser = torch.optim.Adam(networks.decoder.parameters(), lr=LEARNING_RATE, fused=True)
    for _ in range(steps):
        rows = torch.randint(len(latents), (BATCH,), generator=generator, device=latents.device)
        loss = torch.nn.functional.mse_loss(networks.decoder(latents[rows]), observations[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()


def decoder_error(networks: TDMPC2WithDecoder, latents: Tensor, observations: Tensor) -> float:
    """Mean squared, on pairs [n,Z], [n,O]."""
    with torch.no_grad():
        parts = zip(latents.split(1 << 16), observations.split(1 << 16), strict=True)
        squares = sum((networks.decoder(latent) - seen).square().sum() for latent, seen in parts)
    return float(squares) / observations.numel()


def networks_for(
    observation: int, low: np.ndarray, high: np.ndarray, steps: int, settings: TDMPC2Trainer
) -> TDMPC2WithDecoder:
    """Networks for observations so wide, actions in such a range, and episodes of so many decisions."""
    network = TDMPC2(observation, len(low), SIZES[settings.size], settings.activation, settings.latent_norm)
    bounds = (torch.tensor(bound, dtype=torch.float32) for bound in (low, high))  # copies: weights are loaded into them
    return TDMPC2WithDecoder(network, *bounds, discount=discount_of(steps))


def with_weights(
    blank: Callable[[], TDMPC2WithDecoder], weights: dict[str, Tensor], settings: TDMPC2Trainer, device: torch.device
) -> TDMPC2WithDecoder:
    """Networks that learn no more, but for their decoder."""
    with Draws(settings.seed, device).going_on():
        networks = blank().to(device)
    networks.agent.load_state_dict(weights)
    if settings.half:
        round_to_half(networks.agent)
    networks.agent.requires_grad_(False).eval()
    return networks


@torch.no_grad()
def round_to_half(network: nn.Module) -> None:
    """Weights that half precision can hold, so that a checkpoint of half the size is the same model."""
    for name, weight in network.named_parameters():
        if not weight.half().isfinite().all():
            raise BadInput(f"{name} has weights beyond half precision: train without --half")
        weight.copy_(weight.half())


def stored_weights(made: TrainedModel) -> dict[str, Tensor]:
    """As a checkpoint holds them."""
    network = made.model.network
    learned = {name for name, _ in network.named_parameters()} if made.card["fit"]["half"] else set()
    return {name: value.half() if name in learned else value for name, value in network.state_dict().items()}


def decoder_of(
    networks: TDMPC2WithDecoder, episodes: Pair, others: Pair, settings: TDMPC2Trainer
) -> dict[str, float | None]:
    """Fit the decoder to episodes [E,L+1,O], [E,L,A]; its mean squared error on these and on others."""
    fitted, held_out = (decoder_pairs(networks, *some) for some in (episodes, others))
    fit_decoder(networks, *fitted, settings.seed, settings.decoder_steps)
    if settings.half:
        round_to_half(networks.decoder)
    return {
        "decoder_mse": _number(decoder_error(networks, *fitted)),
        "held_out_decoder_mse": _number(decoder_error(networks, *held_out)),
    }


def card_of_tdmpc2(
    described: dict[str, Any],
    settings: TDMPC2Trainer,
    device: torch.device,
    *,
    data: dict[str, Any],
    errors: dict[str, Any],
    kept: dict[str, Any],
    returns: np.ndarray | None,
    updates: int,
    steps: int,
    curve: list[TrainingMoment],
    diverged: str | None = None,
    without: tuple[str, ...] = (),
) -> dict[str, Any]:
    """What is to be said of a trained one.

    `described` is what its environment is, `steps` the decisions it has, `without` settings that were not in force.
    """
    shape = {name: getattr(settings, name) for name in ("size", "activation", "latent_norm")}
    described = dict(described)
    measured = None if returns is None else {
        "mean": _number(returns.mean()), "deviation": _number(returns.std(ddof=1)), "episodes": len(returns)
    }  # fmt: skip
    return {
        "environment": described["environment"],
        "init": described.pop("init", None),
        "model": {**described, "kind": "tdmpc2", **shape},
        "trainer": TRAINERS.describe(settings),
        "data": data,
        "errors": errors,
        "kept": kept,
        "policy_return": measured,
        "fit": {
            **{name: value for name, value in settings.learning.items() if name not in without},
            "discount": discount_of(steps),
            "device": device.type,
            "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
            "updates_taken": updates,
            "diverged": diverged,
        },
        "curve": [asdict(moment) for moment in curve],
        "versions": versions_in_use(),
    }


def _number(value: float) -> float | None:
    """As a card holds it: JSON has no NaN."""
    return float(value) if math.isfinite(value) else None
