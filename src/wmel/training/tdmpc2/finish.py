"""The end of a training: the decoder, rounding to half precision, and the card."""

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
from wmel.training.tdmpc2.learner import TorchRng
from wmel.training.tdmpc2.trainer import CurvePoint, TDMPC2Trainer, discount_of

BATCH, LEARNING_RATE = 256, 1e-3  # of the decoder, as in the wmel 0.18 repository
DECODER_EPISODES = 10
Pair = tuple[np.ndarray, np.ndarray]  # observations [E,L+1,O] and actions [E,L,A]


def decoder_pairs(networks: TDMPC2WithDecoder, observations: np.ndarray, actions: np.ndarray) -> tuple[Tensor, Tensor]:
    """Latents and the observations that they should decode to, from episodes [E,L+1,O], [E,L,A].

    The latents are the encodings of all observations, and the one-step predictions of all but the first observation.
    Actions are in the units of the environment.
    """
    device = networks.low.device
    targets = torch.as_tensor(observations, dtype=torch.float32, device=device)
    scaled = networks.scale_actions(torch.as_tensor(actions, dtype=torch.float32, device=device))
    with torch.no_grad():
        latents = networks.agent.encode(targets)
        predicted = networks.agent.next(latents[:, :-1], scaled)
    pairs = [(latents, targets), (predicted, targets[:, 1:])]
    return torch.cat([latent.flatten(0, 1) for latent, _ in pairs]), torch.cat([one.flatten(0, 1) for _, one in pairs])


def fit_decoder(networks: TDMPC2WithDecoder, latents: Tensor, observations: Tensor, seed: int, steps: int) -> None:
    """Fits the decoder to latents [n,Z] and observations [n,O]."""
    generator = torch.Generator(device=latents.device).manual_seed(seed)
    optimiser = torch.optim.Adam(networks.decoder.parameters(), lr=LEARNING_RATE, fused=True)
    for _ in range(steps):
        rows = torch.randint(len(latents), (BATCH,), generator=generator, device=latents.device)
        loss = torch.nn.functional.mse_loss(networks.decoder(latents[rows]), observations[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()


def decoder_error(networks: TDMPC2WithDecoder, latents: Tensor, observations: Tensor) -> float:
    """The mean squared error of the decoder on latents [n,Z] and observations [n,O]."""
    with torch.no_grad():
        parts = zip(latents.split(1 << 16), observations.split(1 << 16), strict=True)
        squares = sum((networks.decoder(latent) - target).square().sum() for latent, target in parts)
    return float(squares) / observations.numel()


def build_networks(
    observation: int, low: np.ndarray, high: np.ndarray, steps: int, settings: TDMPC2Trainer
) -> TDMPC2WithDecoder:
    """Untrained networks for a width of observations, bounds of actions [A], and a length of episodes."""
    network = TDMPC2(observation, len(low), SIZES[settings.size], settings.activation, settings.latent_norm)
    bounds = (torch.tensor(bound, dtype=torch.float32) for bound in (low, high))  # copies: load_state_dict writes there
    return TDMPC2WithDecoder(network, *bounds, discount=discount_of(steps))


def restore_networks(
    blank: Callable[[], TDMPC2WithDecoder], weights: dict[str, Tensor], settings: TDMPC2Trainer, device: torch.device
) -> TDMPC2WithDecoder:
    """Networks with the weights of a training and an untrained decoder. Only the decoder requires gradients."""
    with TorchRng(settings.seed, device).active():
        networks = blank().to(device)
    networks.agent.load_state_dict(weights)
    if settings.half:
        round_to_half(networks.agent)
    networks.agent.requires_grad_(False).eval()
    return networks


@torch.no_grad()
def round_to_half(network: nn.Module) -> None:
    """Rounds the weights to half precision, so that a checkpoint in half precision is the same model."""
    for name, weight in network.named_parameters():
        if not weight.half().isfinite().all():
            raise BadInput(f"{name} has weights beyond the range of half precision: train without --half")
        weight.copy_(weight.half())


def stored_weights(trained: TrainedModel) -> dict[str, Tensor]:
    """The weights as a checkpoint stores them: parameters in half precision if the training rounded them."""
    network = trained.model.network
    halved = {name for name, _ in network.named_parameters()} if trained.card["fit"]["half"] else set()
    return {name: value.half() if name in halved else value for name, value in network.state_dict().items()}


def fit_and_measure_decoder(
    networks: TDMPC2WithDecoder, episodes: Pair, others: Pair, settings: TDMPC2Trainer
) -> dict[str, float | None]:
    """Fits the decoder to episodes. Returns its mean squared errors on these and on other episodes."""
    fitted, held_out = (decoder_pairs(networks, *some) for some in (episodes, others))
    fit_decoder(networks, *fitted, settings.seed, settings.decoder_steps)
    if settings.half:
        round_to_half(networks.decoder)
    return {
        "decoder_mse": _finite_or_none(decoder_error(networks, *fitted)),
        "held_out_decoder_mse": _finite_or_none(decoder_error(networks, *held_out)),
    }


def build_tdmpc2_card(
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
    curve: list[CurvePoint],
    diverged: str | None = None,
    without: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The card of a trained model.

    `described` is the description of the environment, `steps` the length of its episodes, `kept` the origin of the
    weights, and `without` are settings that had no effect.
    """
    shape = {name: getattr(settings, name) for name in ("size", "activation", "latent_norm")}
    described = dict(described)
    policy_return = None if returns is None else {
        "mean": _finite_or_none(returns.mean()),
        "deviation": _finite_or_none(returns.std(ddof=1)),
        "episodes": len(returns),
    }  # fmt: skip
    return {
        "environment": described["environment"],
        "init": described.pop("init", None),
        "model": {**described, "kind": "tdmpc2", **shape},
        "trainer": TRAINERS.describe(settings),
        "data": data,
        "errors": errors,
        "kept": kept,
        "policy_return": policy_return,
        "fit": {
            **{name: value for name, value in settings.learning_settings.items() if name not in without},
            "discount": discount_of(steps),
            "device": device.type,
            "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
            "updates_taken": updates,
            "diverged": diverged,
        },
        "curve": [asdict(point) for point in curve],
        "versions": versions_in_use(),
    }


def _finite_or_none(value: float) -> float | None:
    """None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None
