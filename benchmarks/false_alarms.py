"""How often ESNR over training is said to fall and rise where it does not, and how often the online rule fires.

A checkpoint is a reading of the problems of `esnr_coverage.py`. Every reading has noise of its own, as in `wmel esnr
over-training`. Its expectation stays the same, or it is multiplied by a factor that never falls.
"""

from dataclasses import dataclass

import numpy as np

import esnr_coverage
from wmel.diagnostics.esnr.over_training import CurveShape, TrainingCurve, left_biased_region, u_shape
from wmel.diagnostics.esnr.result import mean_over_states
from wmel.stats.estimate import Estimate

CHECKPOINTS = (8, 12, 20)
STATES, EPISODES, SAMPLES = 32, 16, 32  # of a reading, as in findings 18
POOL = {"cem": 1000}  # states of which those of a reading are sampled
POOL_ELSE = 3000
RISE = 10.0  # from the plateau of the first half of the checkpoints to the last
KEPT, MOVED = "each state keeps its ratio", "ratios move between states"
DESIGNS = (KEPT, MOVED)
RUNS = 1000


@dataclass(frozen=True)
class FalseAlarms:
    """Shares of runs."""

    constant: float  # that have a U-shape although ESNR does not change
    rising: float  # although it only rises from a plateau
    online: float  # in which the online rule fires although ESNR does not change


def false_alarms(problem: str, estimator: str, design: str) -> dict[int, FalseAlarms]:
    """By the number of checkpoints; a run of fewer is the beginning of a longer one."""
    ratios, rng = ratios_of(problem, estimator), np.random.default_rng(6)
    runs = [_readings(ratios, design, rng) for _ in range(RUNS)]
    return {
        count: FalseAlarms(
            _share([u_shape(_curve(run[:count])).shape is CurveShape.U for run in runs]),
            _share([u_shape(_curve(run[:count] * _rising(count)[:, None])).shape is CurveShape.U for run in runs]),
            _share([left_biased_region(_curve(run[:count])) is not None for run in runs]),
        )
        for count in CHECKPOINTS
    }


def ratios_of(problem: str, estimator: str) -> np.ndarray:
    """ESNR of the same states, with noise of its own at every checkpoint [checkpoints, states]."""
    states = esnr_coverage._states(problem, estimator)[: POOL.get(estimator, POOL_ELSE)]
    return np.stack(
        [
            esnr_coverage._read(problem, states, estimator, SAMPLES, noise_seed=seed).per_observation
            for seed in range(max(CHECKPOINTS))
        ]
    )


def _readings(ratios: np.ndarray, design: str, rng: np.random.Generator) -> np.ndarray:
    """Value and interval at every checkpoint [checkpoints, 3] of one run."""
    checkpoints, pool = ratios.shape
    shape = (1, STATES) if design == KEPT else (checkpoints, STATES)
    sampled = np.take_along_axis(ratios, np.broadcast_to(rng.integers(0, pool, shape), (checkpoints, STATES)), axis=1)
    episodes = np.arange(STATES) * EPISODES // STATES
    return np.array([_numbers(mean_over_states(one, episodes, SAMPLES)) for one in sampled])


def _numbers(found: Estimate) -> tuple[float, float, float]:
    """NaN where there is no interval."""
    return tuple(np.nan if one is None else one for one in (found.value, found.low, found.high))  # pyright: ignore


def _rising(checkpoints: int) -> np.ndarray:
    """Factors [checkpoints]: 1 up to the middle, then an even rise of the logarithm."""
    half = checkpoints // 2
    return np.concatenate([np.ones(half), RISE ** np.linspace(0, 1, checkpoints - half + 1)[1:]])


def _curve(readings: np.ndarray) -> TrainingCurve:
    return TrainingCurve(np.arange(1, len(readings) + 1), *readings.T)


def _share(found: list[bool]) -> float:
    return sum(found) / len(found)
