"""Estimators of policy gradients that need no derivative: zeroth order, elite mean, central differences."""

from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array, as_like, namespace_of, order_by_cost, pick, to_numpy
from wmel.diagnostics.esnr.problem import Question, flat, rows_of
from wmel.diagnostics.esnr.sampling import CategoricalActions, EsnrSettings, GaussianActions
from wmel.errors import BadInput
from wmel.randomness import Streams

RESOLUTION = {4: 2e-7, 8: 1e-14}  # bytes of a number -> what differs by less than this share of itself is the same
SMALL, LARGE = 1e-4, 1e-3  # in halves of the action range


@dataclass(frozen=True, eq=False)
class Gradients:
    """S gradients at each of B observations, and what they took."""

    samples: np.ndarray  # [B,S,D] float64
    flat: np.ndarray  # [B] whether every action sequence had the same return there
    model_steps: int
    out_of_range: float  # share of drawn numbers beyond the action bounds
    rollouts_each: int = 1  # imagined sequences behind one gradient
    effective_elites: float | None = None
    discrete: bool = False  # of draws that can coincide

    def __repr__(self) -> str:
        observations, samples, numbers = self.samples.shape
        return f"Gradients({observations} observations, {samples} samples of {numbers} numbers each)"


def is_flat(returns: Array) -> np.ndarray:
    """Which observations have one return only, by returns [b,...]: bool [b]."""
    numbers = to_numpy(returns).reshape(len(returns), -1)
    return np.ptp(numbers, axis=1) <= RESOLUTION[numbers.itemsize] * abs(numbers).max(axis=1)


def gathered(parts: list[Gradients]) -> Gradients:
    """The gradients of consecutive observations together."""
    sizes = [part.samples.size for part in parts]
    known = [(part.effective_elites, part.samples.size) for part in parts if part.effective_elites is not None]
    return Gradients(
        np.concatenate([part.samples for part in parts]),
        np.concatenate([part.flat for part in parts]),
        sum(part.model_steps for part in parts),
        float(np.average([part.out_of_range for part in parts], weights=sizes)),
        parts[0].rollouts_each,
        sum(value * size for value, size in known) / sum(size for _, size in known) if known else None,
        parts[0].discrete,
    )


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


def elite_mean(
    asked: Question, draw: GaussianActions | CategoricalActions, streams: Streams, rows: slice, purpose: str
) -> Gradients:
    """One step of the cross-entropy method as a gradient: a whole population is imagined for each."""
    settings, count = asked.settings, len(streams)
    samples, population = settings.samples, settings.population
    drawn = draw.draw(streams, purpose, (samples, population), rows, asked.latents)
    place = rows_of(rows.start, rows.stop, samples * population)
    returns = asked.in_parts(place, flat(drawn.actions, 2)).rewards.sum(1).reshape(count * samples, population)
    order = order_by_cost(-returns)[:, : settings.elites]
    weights = _weights(pick(returns, order), settings)
    points = pick(drawn.points.reshape(count * samples, population, -1), order)
    means = to_numpy((weights[..., None] * points).sum(1)).astype(np.float64).reshape(count, samples, -1)
    means[~np.isfinite(to_numpy(returns)).all(axis=1).reshape(count, samples)] = np.nan  # elites by default, not merit
    if not settings.raw_elite_mean:
        centre = draw.centre if len(draw.centre) == 1 else draw.centre[rows]
        means = means - centre.reshape(len(centre), 1, -1)
    effective = to_numpy(1 / (weights**2).sum(1))
    return Gradients(
        means,
        is_flat(returns.reshape(count, samples, population)),
        count * samples * population * settings.plan_horizon,
        draw.out_of_range(drawn.points),
        population,
        float(np.nanmean(effective)) if np.isfinite(effective).any() else None,
        isinstance(draw, CategoricalActions),
    )


def _weights(returns: Array, settings: EsnrSettings) -> Array:
    """How much each elite counts, by returns [n,E], best first: [n,E]"""
    xp = namespace_of(returns)
    gaps = returns - returns[:, :1]
    if settings.normalize_returns:
        spread = returns.std(1)[:, None] if xp is np else returns.std(1, correction=0)[:, None]
        gaps = gaps / xp.where(spread > 0, spread, as_like(np.float32(1), returns))
    weights = xp.exp(settings.temperature * gaps)
    return weights / weights.sum(1)[:, None]


@dataclass(frozen=True, eq=False)
class Differences:
    """Gradients by the small step, and the mean ones by the large step, which agree where they mean anything."""

    gradients: Gradients
    coarse_means: np.ndarray  # [b,D]


def central_differences(
    asked: Question, draw: GaussianActions | CategoricalActions, streams: Streams, rows: slice, purpose: str
) -> Differences:
    """Each coordinate of each sampled sequence moved up and down."""
    if isinstance(draw, CategoricalActions):
        raise BadInput(f"actions are {draw.space.count} levels and have no derivative: use zog or cem")
    if namespace_of(asked.latents) is not np:
        raise BadInput(f"{asked.model.spec.name} computes in float32, too coarse for differences: use fog, zog or cem")
    settings, count, samples = asked.settings, len(streams), asked.settings.samples
    noise = draw.noise(streams, purpose, (samples,), np.zeros(0, np.float32))
    inner = draw.around(noise, rows).astype(np.float64).reshape(count * samples, -1)
    place = rows_of(rows.start, rows.stop, samples)
    (fine, returns), (coarse, _) = (_slopes(asked, draw, place, inner, step) for step in (SMALL, LARGE))
    coordinates = inner.shape[1]
    gradients = Gradients(
        fine.reshape(count, samples, coordinates),
        is_flat(returns.reshape(count, -1)),
        4 * coordinates * count * samples * settings.plan_horizon,
        draw.out_of_range(inner),
        2 * coordinates,
    )
    return Differences(gradients, coarse.reshape(count, samples, coordinates).mean(axis=1))


def _slopes(
    asked: Question, draw: GaussianActions, place: np.ndarray, inner: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes [M,D] of the return at what was drawn [M,D], and the returns around it [M,2D]."""
    coordinates, shape = inner.shape[1], (asked.settings.plan_horizon, draw.centre.shape[2])
    each = max(1, asked.settings.rows // (2 * coordinates))
    moves = step * np.concatenate([np.eye(coordinates), -np.eye(coordinates)])
    found = []
    for start in range(0, len(inner), each):
        moved = (inner[start : start + each, None] + moves).reshape(-1, *shape)
        whence = np.repeat(place[start : start + each], 2 * coordinates)
        returns = to_numpy(asked.foreseen(whence, draw.executed(moved)).rewards).sum(axis=1)
        found.append(returns.reshape(-1, 2 * coordinates))
    around = np.concatenate(found)
    up, down = np.split(around, 2, axis=1)
    return (up - down) / (2 * step), around
