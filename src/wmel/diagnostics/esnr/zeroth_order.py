"""zog: gradients by the score of what was drawn (REINFORCE), with nothing asked of the model but returns."""

import numpy as np

from wmel.arrays import to_numpy
from wmel.diagnostics.esnr.draws import CategoricalActions, GaussianActions
from wmel.diagnostics.esnr.gradients import Gradients, is_flat
from wmel.diagnostics.esnr.question import Question, flat, rows_of
from wmel.diagnostics.esnr.settings import EsnrSettings
from wmel.randomness import Streams


def zeroth_order(
    asked: Question, draw: GaussianActions | CategoricalActions, streams: Streams, rows: slice, purpose: str
) -> Gradients:
    """Gradients of the expected return with respect to the mean of the actions, or their logits: ascent directions."""
    settings, count = asked.settings, len(streams)
    samples, horizon = settings.samples, settings.plan_horizon
    drawn = draw.draw(streams, purpose, (samples,), rows, asked.latents)
    wanted = settings.baseline == "value"
    seen = asked.in_parts(rows_of(rows.start, rows.stop, samples), flat(drawn.actions, 2), values=wanted)
    exact = to_numpy(seen.rewards).reshape(count, samples, horizon)
    rewards = exact.astype(np.float64)
    met = None if seen.values is None else to_numpy(seen.values).astype(np.float64).reshape(rewards.shape)
    credit = _credit(rewards, settings)
    scores = to_numpy(drawn.scores).astype(np.float64)
    gradients = (credit - _baseline(credit, met, settings))[..., None] * scores
    return Gradients(
        gradients.reshape(count, samples, -1),
        is_flat(exact.sum(axis=2)),
        count * samples * horizon,
        draw.out_of_range(drawn.points),
        discrete=isinstance(draw, CategoricalActions),
    )


def _credit(rewards: np.ndarray, settings: EsnrSettings) -> np.ndarray:
    """What of the discounted rewards [b,S,H] each action answers for: [b,S,H]"""
    if settings.credit == "paper":
        return rewards
    if settings.credit == "full_return":
        return np.broadcast_to(rewards.sum(axis=2, keepdims=True), rewards.shape)
    return np.cumsum(rewards[..., ::-1], axis=2)[..., ::-1]


def _baseline(credit: np.ndarray, values: np.ndarray | None, settings: EsnrSettings) -> np.ndarray | float:
    """What is taken off the credit [b,S,H]: the mean of the other samples, or what the model expected."""
    if settings.baseline == "none":
        return 0.0
    if values is not None:
        return values if settings.credit == "reward_to_go" else values[..., :1]
    known = np.isfinite(credit)
    others = known.sum(axis=1, keepdims=True) - 1
    total = np.where(known, credit, 0).sum(axis=1, keepdims=True)
    return (total - credit) / np.maximum(others, 1)
