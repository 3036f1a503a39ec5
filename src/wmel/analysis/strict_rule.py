"""The default verdict, which refuses to over-claim: every branch rests on an interval."""

import numpy as np

from wmel.analysis.cpg import CPGResult
from wmel.analysis.enough_episodes import with_enough_episodes
from wmel.analysis.labels import Label, Verdict, shown
from wmel.stats.bounds import Bounds
from wmel.stats.clopper_pearson import clopper_pearson
from wmel.stats.estimate import Estimate
from wmel.stats.power import Design

DELTA = 0.10  # gaps smaller than this count as none
RHO = 0.10  # rates that are surely this close to 0 or 1 count as there
STRICT_LABELS = (
    Label.MODEL_BOTTLENECK,
    Label.LEARNED_OUTPERFORMS,
    Label.PLANNER_BOTTLENECK,
    Label.AS_GOOD,
    Label.EQUIVALENT,
    Label.INCONCLUSIVE,
)


def strict_verdict(result: CPGResult) -> Verdict:
    """A gap at 95%, rates by exact one-sided 95% bounds, equivalence at 90%."""
    gap, near = result.gap, result.gap_at(0.90)
    oracle = clopper_pearson(result.oracle_successes, result.n_episodes_oracle, confidence=0.90)
    learned = clopper_pearson(result.learned_successes, result.n_episodes_learned, confidence=0.90)
    label = STRICT_LABELS[int(strict_branches(_bounds(gap), _bounds(near), oracle, learned))]
    equal = f"the 90% interval {shown(near)} is within {DELTA:g} of 0"
    solved = f"to solve {1 - RHO:g} of episodes (at least {float(oracle.low):.3f})"
    reasons = {
        Label.MODEL_BOTTLENECK: f"the 95% interval {shown(gap)} lies above 0",
        Label.LEARNED_OUTPERFORMS: f"the 95% interval {shown(gap)} lies below 0",
        Label.PLANNER_BOTTLENECK: f"both rates are surely at most {RHO:g}",
        Label.AS_GOOD: f"{equal}; the oracle is shown {solved}",
        Label.EQUIVALENT: f"{equal}; the oracle is not shown {solved}",
        Label.INCONCLUSIVE: f"the 95% interval {shown(gap)} holds 0, too wide for equivalence",
    }
    interval = near if label in (Label.AS_GOOD, Label.EQUIVALENT) else gap
    verdict = Verdict(label, "strict", {"delta": DELTA, "rho": RHO, "alpha": 0.05}, interval, reasons[label])
    return with_enough_episodes(verdict, _designs_as_seen(result), "widen delta, or accept it")


def strict_branches(gap: Bounds, near: Bounds, oracle: Bounds, learned: Bounds) -> np.ndarray:
    """Which of STRICT_LABELS the 95% and 90% intervals of a gap and the exact bounds of both rates lead to."""
    equivalent = (near.low > -DELTA) & (near.high < DELTA)
    branches = [
        gap.low > 0,
        gap.high < 0,
        np.maximum(oracle.high, learned.high) <= RHO,
        equivalent & (oracle.low >= 1 - RHO),
        equivalent,
    ]
    return np.select(branches, range(len(branches)), default=len(branches))


def _bounds(interval: Estimate) -> Bounds:
    return Bounds(np.array(interval.low), np.array(interval.high))


def _designs_as_seen(result: CPGResult) -> list[Design]:
    """What the observed rates could lead to: a gap, equivalence, or either."""
    rates = result.oracle_success_rate, result.learned_success_rate
    pairs = result.pairs
    arms = (*rates, pairs is not None, 0.0 if pairs is None else float(pairs.phi))
    designs = [Design(*arms)] if rates[0] != rates[1] else []
    return [*designs, Design(*arms, equivalence=DELTA)] if abs(result.raw_gap) < DELTA else designs
