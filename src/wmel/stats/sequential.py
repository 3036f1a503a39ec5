"""Anytime-valid decisions on pairs: a confidence sequence, when it decides, and when to stop for futility."""

from functools import lru_cache
from math import ceil
from typing import Literal, NamedTuple

import numpy as np

from wmel.errors import BadInput, require, require_share, require_whole
from wmel.stats.estimate import Bounds
from wmel.stats.numerics import count_leading, find_crossing, log_factorials, log_half_factorials, log_mean_exp
from wmel.stats.power import Design

FIRST_LOOK, EVERY = 30, 10  # pairs at which a run considers stopping for futility
FUTILE = 0.05  # a probability of deciding below this is not worth more pairs
PRIOR = 0.5  # Jeffreys: as if half a pair of each kind had been observed before the first
Decision = Literal["gap", "equivalence", "futility"]


def confidence_sequence(oracle_only: int, learned_only: int, pairs: int, *, alpha: float = 0.05) -> Bounds:
    """Bounds of p_o - p_l valid at any stopping time: the gaps against which no bet has won 1/alpha times its stake."""
    require_share(alpha, "alpha")
    check_discordant(oracle_only, learned_only, pairs)
    gap = np.array((oracle_only - learned_only) / pairs)

    def affordable(hypothesis: np.ndarray) -> np.ndarray:
        return np.asarray(-np.log(alpha) - log_wealth(oracle_only, learned_only, pairs, float(hypothesis)))

    edge = 1 - 1e-9
    return Bounds(
        np.where(
            affordable(np.array(-edge)) >= 0, -1.0, find_crossing(affordable, gap.clip(-edge, edge), np.array(-edge))
        ),
        np.where(
            affordable(np.array(edge)) >= 0, 1.0, find_crossing(affordable, gap.clip(-edge, edge), np.array(edge))
        ),
    )


def check_discordant(oracle_only: int, learned_only: int, pairs: int) -> None:
    """Raises BadInput for counts that are not whole, are negative, or exceed the number of pairs."""
    for count, what in ((oracle_only, "oracle-only pairs"), (learned_only, "learned-only pairs"), (pairs, "pairs")):
        require_whole(count, f"the number of {what}", at_least=0)
    if oracle_only + learned_only > pairs or pairs < 1:
        raise BadInput(f"discordant pairs must fit into {pairs} pairs, got {oracle_only} and {learned_only}")


def log_wealth(oracle_only: object, learned_only: object, pairs: int, hypothesis: float) -> np.ndarray:
    """Log of the wealth of a mixture of bets against the gap `hypothesis`.

    The stakes have an arcsine prior over those that cannot lose everything. The mixture is a polynomial of degree
    `pairs` in the stake, so Gauss-Chebyshev quadrature with pairs//2 + 1 nodes is exact.
    """
    b, c = np.asarray(oracle_only), np.asarray(learned_only)
    nodes = pairs // 2 + 1
    angle = (2 * np.arange(1, nodes + 1) - 1) * np.pi / (4 * nodes)
    towards_highest, towards_lowest = np.cos(angle) ** 2, np.sin(angle) ** 2  # how far a stake is from either bound
    up, down = 1 + hypothesis, 1 - hypothesis
    growth = np.log([2 * towards_highest / up, 2 * towards_lowest / down, towards_highest / up + towards_lowest / down])
    counts = np.stack(np.broadcast_arrays(b, c, pairs - b - c), axis=-1).astype(float)
    return log_mean_exp(counts @ growth)


def log_wealth_at_zero(oracle_only: object, learned_only: object) -> np.ndarray:
    """The same against a gap of 0, in closed form; it does not depend on the concordant pairs."""
    b, c = np.asarray(oracle_only), np.asarray(learned_only)
    largest = int(np.max(b)) + int(np.max(c))
    halves, factorials = log_half_factorials(largest), log_factorials(largest)
    return (b + c) * np.log(2) + halves[b] + halves[c] - factorials[b + c]


def anytime_p_value(oracle_only: int, learned_only: int) -> float:
    """A p-value of a gap of 0 that is valid at any stopping time: 1 over the wealth of the bets against it."""
    return float(np.exp(min(0.0, -float(log_wealth_at_zero(oracle_only, learned_only)))))


def rules_out_margin(
    oracle_only: object, learned_only: object, pairs: int, *, delta: float, alpha: float
) -> np.ndarray:
    """Whether the confidence sequence lies inside (-delta, delta): bets against both margins have won."""
    observed = (np.asarray(oracle_only) - np.asarray(learned_only)) / pairs
    won = [log_wealth(oracle_only, learned_only, pairs, margin) > -np.log(alpha) for margin in (-delta, delta)]
    return (np.abs(observed) < delta) & won[0] & won[1]


@lru_cache(maxsize=1024)
def equivalent_counts(pairs: int, delta: float, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Every oracle-only and learned-only count [K], [K] that puts the confidence sequence inside (-delta, delta).

    Two pairs that differ in opposite ways bring every bet less than two that agree. So for each lead of one arm there
    is a largest count of the other that still decides.
    """
    lead = np.arange(ceil(delta * pairs))
    allowed = count_leading(
        lambda rarer: rules_out_margin(rarer + lead, rarer, pairs, delta=delta, alpha=alpha), (pairs - lead) // 2 + 1
    )
    rarer = np.concatenate([np.arange(count) for count in allowed])
    commoner = rarer + np.repeat(lead, allowed)
    mirrored = commoner > rarer
    return np.append(commoner, rarer[mirrored]), np.append(rarer, commoner[mirrored])


def is_look(pairs: int) -> bool:
    """Whether a run considers stopping for futility after this many pairs."""
    return pairs >= FIRST_LOOK and pairs % EVERY == 0


def probability_of_deciding(
    oracle_only: int, learned_only: int, pairs: int, *, cap: int, delta: float = 0.10, alpha: float = 0.05
) -> float:
    """Predictive probability that the confidence sequence decides by pair `cap`, after a look at these counts."""
    require_whole(cap, "the cap")
    require_share(delta, "delta")
    require_share(alpha, "alpha")
    check_discordant(oracle_only, learned_only, pairs)
    require(
        is_look(pairs) and pairs < cap,
        f"futility is considered every tenth pair from 30 to below the cap {cap}",
        pairs,
    )
    return float(deciding_probabilities(cap, delta, alpha)[pairs][oracle_only, learned_only])


@lru_cache(maxsize=4)
def deciding_probabilities(cap: int, delta: float, alpha: float) -> dict[int, np.ndarray]:
    """For every look below `cap`, that probability [oracle-only, learned-only], by recursion back from the last pair.

    The kind of the next pair has its posterior mean as probability, so the recursion is exact.
    """
    b, c = np.ogrid[: cap + 1, : cap + 1]
    gap = log_wealth_at_zero(b, c) > -np.log(alpha)
    probability, looks = np.zeros((cap + 1, cap + 1)), {}
    for pairs in range(cap, FIRST_LOOK - 1, -1):
        if pairs < cap:
            more_b = np.pad(probability[1:], ((0, 1), (0, 0)))
            more_c = np.pad(probability[:, 1:], ((0, 0), (0, 1)))
            of_b, of_c = (b + PRIOR) / (pairs + 3 * PRIOR), (c + PRIOR) / (pairs + 3 * PRIOR)
            probability = of_b * more_b + of_c * more_c + np.maximum(1 - of_b - of_c, 0) * probability
            probability[b + c > pairs] = 0.0  # such counts do not occur
        probability[gap] = 1.0
        probability[equivalent_counts(pairs, delta, alpha)] = 1.0
        if is_look(pairs) and pairs < cap:
            looks[pairs] = probability.copy()
    return looks


def anytime_decision(
    oracle_only: int,
    learned_only: int,
    pairs: int,
    *,
    delta: float = 0.10,
    alpha: float = 0.05,
    cap: int | None = None,
) -> Decision | None:
    """What these counts decide, at any number of pairs; the order in which pairs finished does not matter.

    With a cap, the most pairs the run may take, futility is considered at every tenth pair from the thirtieth. Stopping
    for futility claims nothing, and ignoring it costs no validity.
    """
    require_share(delta, "delta")
    require_share(alpha, "alpha")
    if cap is not None:
        require_whole(cap, "the cap")
    check_discordant(oracle_only, learned_only, pairs)
    if log_wealth_at_zero(oracle_only, learned_only) > -np.log(alpha):
        return "gap"
    if rules_out_margin(oracle_only, learned_only, pairs, delta=delta, alpha=alpha):
        return "equivalence"
    if cap is None or not is_look(pairs) or pairs >= cap:
        return None
    probability = probability_of_deciding(oracle_only, learned_only, pairs, cap=cap, delta=delta, alpha=alpha)
    return "futility" if probability < FUTILE else None


class ExpectedStop(NamedTuple):
    """Mean number of pairs of an anytime run, and how often it decides for a gap, for equivalence, or is futile."""

    mean_pairs: float
    gap: float
    equivalence: float
    futility: float


def expected_stop(design: Design, cap: int = 150, *, alpha: float = 0.05, futility: bool = False) -> ExpectedStop:
    """When `anytime_decision` stops, at `cap` pairs at the latest: exact. The margin is the design's, or .10."""
    require_whole(cap, "the cap")
    require_share(alpha, "alpha")
    delta = 0.10 if design.equivalence is None else design.equivalence
    of_b, of_c = design.discordant
    b, c = np.ogrid[: cap + 1, : cap + 1]
    shows_gap = log_wealth_at_zero(b, c) > -np.log(alpha)
    looks = deciding_probabilities(cap, delta, alpha) if futility else {}
    alive = np.zeros((cap + 1, cap + 1))
    alive[0, 0], mean, stopped = 1.0, 0.0, {"gap": 0.0, "equivalence": 0.0, "futility": 0.0}
    for pairs in range(1, cap + 1):
        mean += alive.sum()
        after = (1 - of_b - of_c) * alive
        after[1:] += of_b * alive[:-1]
        after[:, 1:] += of_c * alive[:, :-1]
        ends = {"gap": shows_gap, "equivalence": equivalent_counts(pairs, delta, alpha)}
        if pairs in looks:
            ends["futility"] = looks[pairs] < FUTILE
        for reason, where in ends.items():
            stopped[reason] += after[where].sum()
            after[where] = 0.0
        alive = after
    return ExpectedStop(float(mean), **{reason: float(share) for reason, share in stopped.items()})
