"""Estimators of policy gradients: first order, zeroth order, elite mean, central differences."""

from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array, as_like, namespace_of, order_by_cost, pick, to_numpy
from wmel.diagnostics.esnr.problem import GradientProblem, merge_axes, repeat_rows
from wmel.diagnostics.esnr.sampling import ActionDistribution, CategoricalActions, EsnrSettings, GaussianActions
from wmel.errors import BadInput, BadModel
from wmel.randomness import Streams

RESOLUTION = {4: 2e-7, 8: 1e-14}  # bytes of a number -> relative difference below which two numbers are equal
SMALL, LARGE = 1e-4, 1e-3  # steps of central differences, in halves of the action range


@dataclass(frozen=True, eq=False)
class Gradients:
    """S gradients at each of B observations, and what it took to estimate them."""

    samples: np.ndarray  # [B,S,D] float64
    flat: np.ndarray  # [B] whether all action sequences had the same return
    model_steps: int
    out_of_range: float  # share of sampled numbers beyond the action bounds
    rollouts_each: int = 1  # imagined sequences behind one gradient
    effective_elites: float | None = None
    discrete: bool = False  # from samples of which two can be equal

    def __repr__(self) -> str:
        observations, samples, numbers = self.samples.shape
        return f"Gradients({observations} observations, {samples} samples of {numbers} numbers each)"


def is_flat(returns: Array) -> np.ndarray:
    """Which observations have the same return for every sequence, from returns [b,...]: bool [b]."""
    numbers = to_numpy(returns).reshape(len(returns), -1)
    return np.ptp(numbers, axis=1) <= RESOLUTION[numbers.itemsize] * abs(numbers).max(axis=1)


def concatenate_gradients(parts: list[Gradients]) -> Gradients:
    """The gradients of consecutive observations as one."""
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


def first_order(
    problem: GradientProblem, distribution: ActionDistribution, streams: Streams, rows: slice, purpose: str
) -> Gradients:
    """Pathwise gradients of the return with respect to the mean of the actions, by one backward pass for all rows."""
    import torch  # an optional package

    settings, name = problem.settings, problem.model.spec.name
    if isinstance(distribution, CategoricalActions):
        raise BadInput(f"actions are {distribution.space.count} levels and have no derivative: use zog or cem")
    if namespace_of(problem.latents) is not torch:
        raise BadInput(f"{name} computes with numpy, which has no derivatives: use zog or cem")
    count, samples = len(streams), settings.samples
    noise = distribution.sample_noise(streams, purpose, (samples,), problem.latents)
    points, place = merge_axes(distribution.add_mean(noise, rows), 2), repeat_rows(rows, samples)
    parts = [
        _backward(problem, distribution, place[start : start + settings.rows], points[start : start + settings.rows])
        for start in range(0, len(points), settings.rows)
    ]
    gradients = torch.cat([part for part, _ in parts]).double().cpu().numpy()
    returns = torch.cat([part for _, part in parts]).double().cpu().numpy()
    return Gradients(
        gradients.reshape(count, samples, -1),
        is_flat(returns.reshape(count, samples)),
        count * samples * settings.plan_horizon,
        distribution.out_of_range(points),
    )


def _backward(
    problem: GradientProblem, distribution: GaussianActions, place: np.ndarray, points: Array
) -> tuple[Array, Array]:
    """Gradients [M,H,A] and returns [M]. Rows are independent, so the gradient of the sum holds that of each row."""
    import torch  # an optional package

    with torch.inference_mode(False), torch.enable_grad():
        leaf = points.clone().requires_grad_()
        try:
            returns = problem.imagine_returns(place, distribution.to_actions(leaf)).rewards.sum(1)
        except BadModel as error:
            if "grad" not in str(error.__cause__):
                raise
            raise BadInput(f"{error}: it computes outside torch, so use zog or cem") from error
        if not isinstance(returns, torch.Tensor) or not returns.requires_grad:
            raise BadInput(
                f"torch has no gradient of the return of {problem.model.spec.name} with respect to the actions (its "
                "functions are no torch operations, or do not depend on them): use zog or cem"
            )
        (gradient,) = torch.autograd.grad(returns.sum(), leaf)
    known = returns.detach().isfinite()
    return torch.where(known[:, None, None], gradient, torch.nan), returns.detach()


def zeroth_order(
    problem: GradientProblem, distribution: ActionDistribution, streams: Streams, rows: slice, purpose: str
) -> Gradients:
    """Gradients of the expected return with respect to the mean of the actions, or their logits: ascent directions."""
    settings, count = problem.settings, len(streams)
    samples, horizon = settings.samples, settings.plan_horizon
    sampled = distribution.sample(streams, purpose, (samples,), rows, problem.latents)
    imagined = problem.imagine_in_chunks(
        repeat_rows(rows, samples), merge_axes(sampled.actions, 2), values=settings.baseline == "value"
    )
    exact = to_numpy(imagined.rewards).reshape(count, samples, horizon)
    rewards, values = exact.astype(np.float64), None
    if imagined.values is not None:
        values = to_numpy(imagined.values).astype(np.float64).reshape(rewards.shape)
    credit = _credit(rewards, settings)
    scores = to_numpy(sampled.scores).astype(np.float64)
    gradients = (credit - _baseline(credit, values, settings))[..., None] * scores
    return Gradients(
        gradients.reshape(count, samples, -1),
        is_flat(exact.sum(axis=2)),
        count * samples * horizon,
        distribution.out_of_range(sampled.points),
        discrete=isinstance(distribution, CategoricalActions),
    )


def _credit(rewards: np.ndarray, settings: EsnrSettings) -> np.ndarray:
    """The part of the discounted rewards [b,S,H] that is credited to each action: [b,S,H]"""
    if settings.credit == "paper":
        return rewards
    if settings.credit == "full_return":
        return np.broadcast_to(rewards.sum(axis=2, keepdims=True), rewards.shape)
    return np.cumsum(rewards[..., ::-1], axis=2)[..., ::-1]


def _baseline(credit: np.ndarray, values: np.ndarray | None, settings: EsnrSettings) -> np.ndarray | float:
    """What is subtracted from the credit [b,S,H]: the mean of the other samples, or the values of the model."""
    if settings.baseline == "none":
        return 0.0
    if values is not None:
        return values if settings.credit == "reward_to_go" else values[..., :1]
    known = np.isfinite(credit)
    others = known.sum(axis=1, keepdims=True) - 1
    total = np.where(known, credit, 0).sum(axis=1, keepdims=True)
    return (total - credit) / np.maximum(others, 1)


def elite_mean(
    problem: GradientProblem, distribution: ActionDistribution, streams: Streams, rows: slice, purpose: str
) -> Gradients:
    """One step of the cross-entropy method as a gradient: a population of sequences is imagined for each."""
    settings, count = problem.settings, len(streams)
    samples, population = settings.samples, settings.population
    sampled = distribution.sample(streams, purpose, (samples, population), rows, problem.latents)
    place = repeat_rows(rows, samples * population)
    rewards = problem.imagine_in_chunks(place, merge_axes(sampled.actions, 2)).rewards
    returns = rewards.sum(1).reshape(count * samples, population)
    order = order_by_cost(-returns)[:, : settings.elites]
    weights = _weights(pick(returns, order), settings)
    points = pick(sampled.points.reshape(count * samples, population, -1), order)
    means = to_numpy((weights[..., None] * points).sum(1)).astype(np.float64).reshape(count, samples, -1)
    means[~np.isfinite(to_numpy(returns)).all(axis=1).reshape(count, samples)] = (
        np.nan
    )  # elites whose return is unknown
    if not settings.raw_elite_mean:
        centre = distribution.centre if len(distribution.centre) == 1 else distribution.centre[rows]
        means = means - centre.reshape(len(centre), 1, -1)
    effective = to_numpy(1 / (weights**2).sum(1))
    return Gradients(
        means,
        is_flat(returns.reshape(count, samples, population)),
        count * samples * population * settings.plan_horizon,
        distribution.out_of_range(sampled.points),
        population,
        float(np.nanmean(effective)) if np.isfinite(effective).any() else None,
        isinstance(distribution, CategoricalActions),
    )


def _weights(returns: Array, settings: EsnrSettings) -> Array:
    """The weight of each elite, from returns [n,E] in descending order: [n,E]"""
    xp = namespace_of(returns)
    gaps = returns - returns[:, :1]
    if settings.normalize_returns:
        spread = returns.std(1)[:, None] if xp is np else returns.std(1, correction=0)[:, None]
        gaps = gaps / xp.where(spread > 0, spread, as_like(np.float32(1), returns))
    weights = xp.exp(settings.temperature * gaps)
    return weights / weights.sum(1)[:, None]


@dataclass(frozen=True, eq=False)
class Differences:
    """Gradients by the small step, and mean gradients by the large step; where both agree the gradient is resolved."""

    gradients: Gradients
    coarse_means: np.ndarray  # [b,D]


def central_differences(
    problem: GradientProblem, distribution: ActionDistribution, streams: Streams, rows: slice, purpose: str
) -> Differences:
    """Gradients from moving each coordinate of each sampled sequence up and down."""
    if isinstance(distribution, CategoricalActions):
        raise BadInput(f"actions are {distribution.space.count} levels and have no derivative: use zog or cem")
    if namespace_of(problem.latents) is not np:
        raise BadInput(
            f"{problem.model.spec.name} computes in float32, too coarse for differences: use fog, zog or cem"
        )
    settings, count, samples = problem.settings, len(streams), problem.settings.samples
    noise = distribution.sample_noise(streams, purpose, (samples,), np.zeros(0, np.float32))
    points = distribution.add_mean(noise, rows).astype(np.float64).reshape(count * samples, -1)
    place = repeat_rows(rows, samples)
    (fine, returns), (coarse, _) = (_slopes(problem, distribution, place, points, step) for step in (SMALL, LARGE))
    coordinates = points.shape[1]
    gradients = Gradients(
        fine.reshape(count, samples, coordinates),
        is_flat(returns.reshape(count, -1)),
        4 * coordinates * count * samples * settings.plan_horizon,
        distribution.out_of_range(points),
        2 * coordinates,
    )
    return Differences(gradients, coarse.reshape(count, samples, coordinates).mean(axis=1))


def _slopes(
    problem: GradientProblem, distribution: GaussianActions, place: np.ndarray, points: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes [M,D] of the return at sampled points [M,D], and the returns around them [M,2D]."""
    coordinates, shape = points.shape[1], (problem.settings.plan_horizon, distribution.centre.shape[2])
    each = max(1, problem.settings.rows // (2 * coordinates))
    moves = step * np.concatenate([np.eye(coordinates), -np.eye(coordinates)])
    found = []
    for start in range(0, len(points), each):
        moved = (points[start : start + each, None] + moves).reshape(-1, *shape)
        origins = np.repeat(place[start : start + each], 2 * coordinates)
        returns = to_numpy(problem.imagine_returns(origins, distribution.to_actions(moved)).rewards).sum(axis=1)
        found.append(returns.reshape(-1, 2 * coordinates))
    around = np.concatenate(found)
    up, down = np.split(around, 2, axis=1)
    return (up - down) / (2 * step), around
