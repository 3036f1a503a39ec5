"""cem: how far the mean of the best drawn sequences lies from where they were drawn around."""

import numpy as np

from wmel.arrays import Array, as_like, best_first, namespace_of, pick, to_numpy
from wmel.diagnostics.esnr.draws import CategoricalActions, GaussianActions
from wmel.diagnostics.esnr.gradients import Gradients, is_flat
from wmel.diagnostics.esnr.question import Question, flat, rows_of
from wmel.diagnostics.esnr.settings import EsnrSettings
from wmel.randomness import Streams


def elite_mean(
    asked: Question, draw: GaussianActions | CategoricalActions, streams: Streams, rows: slice, purpose: str
) -> Gradients:
    """One step of the cross-entropy method as a gradient: a whole population is imagined for each."""
    settings, count = asked.settings, len(streams)
    samples, population = settings.samples, settings.population
    drawn = draw.draw(streams, purpose, (samples, population), rows, asked.latents)
    place = rows_of(rows.start, rows.stop, samples * population)
    returns = asked.in_parts(place, flat(drawn.actions, 2)).rewards.sum(1).reshape(count * samples, population)
    order = best_first(-returns)[:, : settings.elites]
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
