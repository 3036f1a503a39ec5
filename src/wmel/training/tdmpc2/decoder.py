"""A decoder from latents to observations, learned after the model and changing nothing of it."""

import numpy as np
import torch
from torch import Tensor

from wmel.models.tdmpc2.model import Decoded

BATCH, LEARNING_RATE = 256, 1e-3  # the documents'


def decoder_pairs(networks: Decoded, observations: np.ndarray, actions: np.ndarray) -> tuple[Tensor, Tensor]:
    """Latents and what they should decode to, of episodes [E,L+1,O], [E,L,A] in their own units.

    Each observation encoded, and each but the first as the dynamics foresee it from the one before.
    """
    device = networks.low.device
    seen = torch.as_tensor(observations, dtype=torch.float32, device=device)
    acted = networks.scaled(torch.as_tensor(actions, dtype=torch.float32, device=device))
    with torch.no_grad():
        latents = networks.agent.encode(seen)
        foreseen = networks.agent.next(latents[:, :-1], acted)
    pairs = [(latents, seen), (foreseen, seen[:, 1:])]
    return torch.cat([latent.flatten(0, 1) for latent, _ in pairs]), torch.cat([one.flatten(0, 1) for _, one in pairs])


def fit_decoder(networks: Decoded, latents: Tensor, observations: Tensor, seed: int, steps: int) -> None:
    """Fit the decoder to pairs [n,Z], [n,O]."""
    generator = torch.Generator(device=latents.device).manual_seed(seed)
    optimiser = torch.optim.Adam(networks.decoder.parameters(), lr=LEARNING_RATE, fused=True)
    for _ in range(steps):
        rows = torch.randint(len(latents), (BATCH,), generator=generator, device=latents.device)
        loss = torch.nn.functional.mse_loss(networks.decoder(latents[rows]), observations[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()


def decoder_error(networks: Decoded, latents: Tensor, observations: Tensor) -> float:
    """Mean squared, on pairs [n,Z], [n,O]."""
    with torch.no_grad():
        parts = zip(latents.split(1 << 16), observations.split(1 << 16), strict=True)
        squares = sum((networks.decoder(latent) - seen).square().sum() for latent, seen in parts)
    return float(squares) / observations.numel()
