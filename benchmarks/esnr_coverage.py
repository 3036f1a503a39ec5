"""How often intervals of ESNR cover, how exact its printed bias is, and how often alignment is claimed without signal.

The problems are a linear-quadratic regulator and a quadratic, whose ratios for infinitely many samples are exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch

from wmel.diagnostics.esnr.measure import esnr, true_gradient
from wmel.diagnostics.esnr.result import Esnr, alignment, mean_over_states
from wmel.models.callable_model import PairModel
from wmel.stats.estimate import Estimate
from wmel.stats.means import cluster_bootstrap, skewed_ratio

SIGMA, ACTION_COST, STEPS = 0.5, 0.1, 3
TURN, PUSH = np.array([[1.0, 0.3], [0.0, 0.9]]), np.array([[0.0], [0.5]])
PROBLEMS = ("regulator", "quadratic, states differ", "quadratic, states alike")
SETTINGS: dict[str, dict[str, Any]] = {  # estimator -> settings
    "fog": {}, "fog(fd)": {}, "zog": {}, "zog, no baseline": {"baseline": "none"}, "cem": {},
}  # fmt: skip
SAMPLES = (32, 48, 63, 64, 128)
STATES = (10, 16, 32, 64, 128, 1000)
COMPARED = ("fog", "zog", "cem")  # estimators of the smaller tables
REFUSED = ((4, 32), (9, 128), (16, 16), (1000, 31))  # states and samples that have no interval
READ = {"cem": 1500, "fog(fd)": 3000}  # states of which the others are sampled
READ_ELSE, ALIGNED = 20_000, 6000
NEAR = 0.2  # distance of states from the goal, relative to the others: shared noise would give a cosine of .36
REFERENCE = 512  # samples of the ratio that stands for infinitely many
GROUPS, RESAMPLED_GROUPS = 1000, 400
POOLED_SAMPLES, POOLED_STATES = (32, 64, 128), (16, 32, 64)
ALIGNED_SAMPLES, ALIGNED_STATES = (4, 8, 16, 32, 64), (10, 16, 64)
ROWS = 1 << 16


@dataclass(frozen=True)
class EsnrCoverage:
    """One estimator on one problem: its expectation, the ratio for infinitely many samples, and the printed bias."""

    expected: float
    infinite: float
    bias: float
    covered: dict[int, float]  # by states, of the intervals there are
    without: dict[int, float]  # share of groups of states that have no interval

    @property
    def left(self) -> float:
        """What the printed bias leaves of the distance to infinitely many samples, as a share of that ratio."""
        return abs(self.expected - self.bias - self.infinite) / self.infinite


def esnr_coverage(problem: str, estimator: str, samples: int) -> EsnrCoverage:
    """By groups of states that are sampled from many, whose mean is the expectation to cover."""
    found = _measure(problem, estimator, samples)
    values, rng = found.per_observation, np.random.default_rng(1)
    counts = {states: _cover(values, states, samples, rng) for states in STATES}
    return EsnrCoverage(
        float(values.mean()),
        infinite_ratio(problem, estimator),
        float((values - found.signal.extrapolated).mean()),
        {states: covered for states, (covered, _) in counts.items()},
        {states: without for states, (_, without) in counts.items()},
    )


def _cover(values: np.ndarray, states: int, samples: int, rng: np.random.Generator) -> tuple[float, float]:
    """The share of intervals that hold the mean of all values, and the share of groups without one."""
    groups, episodes = rng.choice(values, (GROUPS, states)), np.arange(states)
    return _share_held([mean_over_states(group, episodes, samples) for group in groups], float(values.mean()))


def _share_held(found: list[Estimate], truth: float) -> tuple[float, float]:
    held = [one.low <= truth <= one.high for one in found if one.low is not None and one.high is not None]
    return sum(held) / max(len(held), 1), 1 - len(held) / len(found)


def refused_share(states: int, samples: int) -> float:
    """The share of groups of so many states and samples that have no interval, by the worst estimator."""
    rng = np.random.default_rng(2)
    values = {estimator: _measure("regulator", estimator, samples).per_observation for estimator in ("fog", "zog")}
    return min(_cover(one, states, samples, rng)[1] for one in values.values())


def difference_coverage(estimator: str, samples: int) -> dict[int, float]:
    """Coverage of the difference between two quadratics, at the same states and noise; by states."""
    centres, rng = _states("quadratic, states differ", estimator), np.random.default_rng(3)
    near, far = (_read("quadratic, states differ", centres + move, estimator, samples) for move in (0.0, 0.2))
    values = far.per_observation - near.per_observation
    return {states: _cover(values, states, samples, rng)[0] for states in STATES}


def pooled_coverage(problem: str, estimator: str, samples: int) -> dict[int, float]:
    """Coverage of the pooled ratio, by states."""
    signal, rng = _measure(problem, estimator, samples).signal, np.random.default_rng(4)
    truth, covered = float(signal.power.sum() / signal.noise.sum()), {}
    for states in POOLED_STATES:
        groups = rng.integers(0, len(signal.power), (RESAMPLED_GROUPS, states))
        ratios = [skewed_ratio(signal.power[group], signal.noise[group], np.arange(states)) for group in groups]
        covered[states] = _share_held(ratios, truth)[0]
    return covered


@dataclass(frozen=True)
class FalseAlignment:
    """How often a model without signal is called aligned, and the mean cosines of it and of the true model."""

    without_signal: float
    of_the_truth: float
    far_away: float  # of the truth where its signal is strong
    claimed: dict[int, float]  # by states


def false_alignment(estimator: str, samples: int) -> FalseAlignment:
    """Of a model whose expected gradient is exactly 0, near the regulator's goal, where noise outweighs the signal."""
    still, states = (lambda z, a: z, lambda z, a: -(a**2).sum(1)), _states("regulator", estimator)[:ALIGNED]
    none, near = (_cosines(pair, NEAR * states, estimator, samples) for pair in (still, _pair("regulator")))
    claimed, rng = {}, np.random.default_rng(5)
    for count in ALIGNED_STATES:
        groups = rng.choice(none, (RESAMPLED_GROUPS, count))
        lows = [cluster_bootstrap(one, np.ones(count), np.arange(count), scale="bounded").low for one in groups]
        claimed[count] = sum(low is not None and low > 0 for low in lows) / len(lows)
    far = _cosines(_pair("regulator"), states, estimator, samples)
    return FalseAlignment(float(none.mean()), float(near.mean()), float(far.mean()), claimed)


def _cosines(pair: Any, states: np.ndarray, estimator: str, samples: int) -> np.ndarray:
    """The cosine at each state at which the true gradient of the regulator is resolved."""
    how = {"mean": np.zeros((STEPS, 1)), "samples": samples, "sigma": SIGMA, "rows": ROWS}
    truth = true_gradient(PairModel(*_pair("regulator", np.asarray), library="numpy"), states, **how)
    found = alignment(esnr(pair, states, estimator, **how), truth).cosines
    return found[np.isfinite(found)]


@cache
def infinite_ratio(problem: str, estimator: str) -> float:
    """ESNR of infinitely many samples: exact for gradients, by simulation for elite means and without a baseline."""
    states = _states(problem, estimator)
    if estimator in ("fog", "fog(fd)", "zog"):
        forms, linear = _forms(problem, states)
        return float(_exact_ratios(forms, linear, score=estimator == "zog").mean())
    return float(_read(problem, states, estimator, REFERENCE).per_observation.mean())


def _exact_ratios(forms: np.ndarray, linear: np.ndarray, *, score: bool) -> np.ndarray:
    """Ratios [B,D] where the return that action i is credited with is -(U'P_i U + 2 q_i'U), U normal around 0.

    By Isserlis' theorem, `forms` are P_i [D,D,D] and `linear` q_i [B,D,D]; the score's baseline is the mean return.
    """
    place, variance = np.arange(len(forms)), SIGMA**2
    own = linear[:, place, place]
    if not score:
        return own**2 / (variance * (forms[place, place] ** 2).sum(axis=1))
    square = np.einsum("ijk,ikl->ijl", forms, forms) * variance**2
    slopes = 4 * variance * linear**2
    noise = 2 * np.trace(square, axis1=1, axis2=2) + 8 * square[place, place, place]
    return 4 * own**2 * variance / (noise + slopes.sum(axis=2) + slopes[:, place, place])


def _forms(problem: str, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P_i and q_i of `_exact_ratios`: of the rewards from the step of each action on."""
    if problem != "regulator":
        return np.ones((1, 1, 1)), -states[:, :, None]
    forms, linear, place = np.zeros((STEPS, STEPS, STEPS)), np.zeros((len(states), STEPS, STEPS)), states
    reached = np.zeros((2, STEPS))  # of the state on the actions
    for step in range(STEPS):
        form = reached.T @ reached
        form[step, step] += ACTION_COST
        forms[: step + 1] += form
        linear[:, : step + 1] += (place @ reached)[:, None]
        reached, place = TURN @ reached, place @ TURN.T
        reached[:, step] += PUSH[:, 0]
    return forms, linear


@lru_cache(2)
def _measure(problem: str, estimator: str, samples: int) -> Esnr:
    return _read(problem, _states(problem, estimator), estimator, samples)


def _read(problem: str, states: np.ndarray, estimator: str, samples: int, noise_seed: int = 0) -> Esnr:
    method, steps = estimator.split(",")[0], STEPS if problem == "regulator" else 1
    how = {"mean": np.zeros((steps, 1)), "samples": samples, "sigma": SIGMA, "rows": ROWS, "noise_seed": noise_seed}
    how |= SETTINGS[estimator]
    model = PairModel(*_pair(problem, np.asarray), library="numpy") if method == "fog(fd)" else _pair(problem)
    return esnr(model, states, method, **how)


def _states(problem: str, estimator: str) -> np.ndarray:
    count, rng = READ.get(estimator, READ_ELSE), np.random.default_rng(0)
    if problem == "regulator":
        return rng.normal(size=(count, 2))
    return np.full((count, 1), 0.5) if problem.endswith("alike") else rng.normal(size=(count, 1))


def _pair(problem: str, to_array: Callable[[Any], Any] = torch.tensor) -> tuple[Any, Any]:
    """Dynamics and reward; in the quadratic the state is the best action."""
    if problem != "regulator":
        return lambda z, a: z, lambda z, a: -((a - z) ** 2).sum(1)
    turn, push = (to_array(one.T.astype(np.float32)) for one in (TURN, PUSH))
    return lambda z, a: z @ turn + a @ push, lambda z, a: -(z**2).sum(1) - ACTION_COST * (a**2).sum(1)
