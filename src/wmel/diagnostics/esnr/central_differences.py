"""fog(fd): gradients of a model that can only be stepped, by central differences in float64 at two step sizes."""

from dataclasses import dataclass

import numpy as np

from wmel.arrays import namespace_of, to_numpy
from wmel.diagnostics.esnr.draws import CategoricalActions, GaussianActions
from wmel.diagnostics.esnr.gradients import Gradients, is_flat
from wmel.diagnostics.esnr.question import Question, rows_of
from wmel.errors import BadInput
from wmel.randomness import Streams

SMALL, LARGE = 1e-4, 1e-3  # in halves of the action range


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
