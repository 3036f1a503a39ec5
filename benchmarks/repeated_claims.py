"""How often a gap is claimed that is not there, after several looks or over several comparisons."""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from false_claims import SHARES, binomial_masses, compare_counts, gap_claims, paired_probability, rates_apart
from wmel.analysis.gap import CPGResult
from wmel.analysis.verdict import ALPHA, DELTA, Label, cpg_verdict
from wmel.stats.exact import GAP_LEVEL, PairedArms, critical_score, difference_p
from wmel.stats.paired import PairedCounts, holm
from wmel.stats.power import Design, discordant_outcomes
from wmel.stats.sequential import expected_stop, log_wealth, log_wealth_at_zero

FIRST_LOOKS, MOST_ADDED = (10, 12, 20, 30, 50), 300
FIRST_EQUIVALENCES = (10, 20, 29, 30, 50, 89, 150, 286)  # 29: the first n that can show it; 89, 286: the worst at once
RATES, PHIS = (0.1, 0.3, 0.5, 0.7, 0.9), (0.0, 0.5)  # of both arms, and how their outcomes correlate
NEGLIGIBLE = 1e-9  # first looks less likely than this are left out
CAP = 150  # the maximum number of pairs of an anytime run
DISCORDANT = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)  # how often each arm alone solves a pair
ORACLES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
FAMILIES, SIZES = (2, 5, 20), (10, 20, 30, 50, 100, 150)  # comparisons, pairs of each
SIMULATED, WORSE = ((30, 0.5), (30, 0.9), (50, 0.5), (50, 0.9)), (0.0, 0.5)  # pairs and rate; share of worse models
WORSE_BY = 0.3
STUDIES, SEED = 10_000, 20


@dataclass(frozen=True)
class FollowUp:
    """Probabilities of a false gap, either way, after a first look at n pairs of arms with equal rates."""

    once: float  # the first look alone
    advised: float  # the advised pairs are added where it is inconclusive, and the anytime rule judges
    again: float  # the same, judged again by the strict rule, as if there had been no first look
    whenever: float  # up to 300 pairs are added, and the anytime rule judges after each of them


def follow_ups(n: int) -> dict[tuple[float, float], FollowUp]:
    """The false gaps after a first look at n pairs, by the rate of both arms and their correlation."""
    shares = {(rate, phi): round(discordant_share(rate, phi), 12) for rate in RATES for phi in PHIS}
    found = {share: follow_up(n, share) for share in dict.fromkeys(shares.values())}
    return {rates: found[share] for rates, share in shares.items()}


def discordant_share(rate: float, phi: float) -> float:
    """The probability that only one given arm of a pair succeeds, if both have this rate."""
    return Design(rate, rate, paired=True, phi=phi).discordant[0]


def follow_up(n: int, share: float) -> FollowUp:
    """The false gaps if each arm alone solves a pair with this probability; exact but for negligible outcomes.

    A first look that says PLANNER BOTTLENECK ends the study too. That depends on more than the pairs that differ; here
    it counts as inconclusive, which can only add false gaps.
    """
    looks = discordant_outcomes(n, share, share)
    once = advised = again = 0.0
    waiting = np.zeros((n + 1, n + 1))
    for (row, column), mass in np.ndenumerate(looks.mass):
        if mass < NEGLIGIBLE:
            continue
        b, c = int(looks.first[row]), int(looks.second[column])
        found = first_look(n, max(b, c), min(b, c))
        once += mass * found.is_gap
        if found.is_gap or not found.added:
            continue
        waiting[b, c] = mass
        added = _discordant_masses(found.added, share)
        place = np.s_[b : b + found.added + 1, c : c + found.added + 1]
        advised += mass * float(added[_anytime_gaps()[place]].sum())
        again += mass * float(added[_strict_gaps(n + found.added)[place]].sum())
    later = _gap_whenever(waiting, share)
    return FollowUp(*(float(value) for value in (once, once + advised, once + again, once + later)))


def guaranteed_false_gap(n: int) -> float:
    """The most that a false gap, either way, can be likely after a first look at n pairs, whatever comes after it.

    If the first look shows no gap, the bets against a gap of 0 have some wealth, and by Ville's inequality it ever
    exceeds 1 / ALPHA with a probability of at most ALPHA times that wealth: for any number of added pairs and of looks.
    In one direction it is half of this: with equal rates both are alike, and the more one arm is ahead, the less
    likely are claims for the other.
    """
    counts = np.arange(n + 1)
    wealth = np.exp(np.minimum(log_wealth_at_zero(counts[:, None], counts[None, :]), -np.log(ALPHA)))
    claimed = np.where(_strict_gaps(n), 1.0, ALPHA * wealth)
    by_discordant = [
        float(binomial_masses(count, np.array([0.5]))[0] @ claimed[counts[: count + 1], count - counts[: count + 1]])
        for count in range(n + 1)
    ]
    return float((binomial_masses(n, SHARES) @ np.array(by_discordant)).max())


def guaranteed_false_equivalence(n: int) -> float:
    """The same of equivalence, where the rates are the margin apart or farther.

    What wins against the true gap must be large before the margin is ruled out.
    """
    _, _, near = compare_counts(PairedArms(n), critical_score)
    first, room = PairedArms(n).counts
    b, c = (one.astype(int) for one in np.nonzero(np.arange(n + 1)[None, :] < room[first][:, None]))
    most = 0.0
    for higher, lower in rates_apart(0.5):
        gap = float(higher[0] - lower[0])
        if gap < 0:
            continue  # the same by symmetry
        wealth = np.exp(np.minimum(log_wealth(b, c, n, gap), -np.log(ALPHA)))
        claimed = np.zeros((n + 1, n + 1))
        claimed[b, c] = np.where(near[b, c], 1.0, ALPHA * wealth)
        masses = binomial_masses(n, higher)
        for rates, mass in zip(np.stack([higher, lower], axis=1), masses, strict=True):
            share = np.clip(rates[1] / max(1 - rates[0], NEGLIGIBLE), 0, 1)
            likely = np.flatnonzero(mass > NEGLIGIBLE).tolist()
            rows = [
                float(binomial_masses(n - count, np.array([share]))[0] @ claimed[count, : n - count + 1])
                for count in likely
            ]
            most = max(most, float(mass[likely] @ np.array(rows)))
    return most


@dataclass(frozen=True)
class FirstLook:
    """Whether a first look shows a gap, and how many pairs are added; 0 if it decides."""

    is_gap: bool
    added: int


@cache
def first_look(n: int, b: int, c: int) -> FirstLook:
    """What the strict rule says of n pairs of which the arms solve b and c alone, and the pairs that it advises.

    The advice depends on these counts alone: they are the most likely probabilities.
    """
    both = (n - b - c + 1) // 2
    pairs = PairedCounts(*np.array([both, b, c, n - b - c - both]))
    verdict = cpg_verdict(CPGResult(both + b, n, both + c, n, pairs))
    is_gap = verdict.label in (Label.MODEL_BOTTLENECK, Label.LEARNED_OUTPERFORMS)
    added = min(verdict.n_that_decides or MOST_ADDED, MOST_ADDED)
    return FirstLook(is_gap, added if verdict.label is Label.INCONCLUSIVE else 0)


@lru_cache(maxsize=MOST_ADDED)
def _discordant_masses(n: int, share: float) -> np.ndarray:
    """Probabilities of how many of n pairs either arm alone solves [n+1, n+1]."""
    likely, mass = discordant_outcomes(n, share, share), np.zeros((n + 1, n + 1))
    mass[np.ix_(likely.first, likely.second)] = likely.mass
    return mass


@lru_cache(maxsize=1)
def _anytime_gaps() -> np.ndarray:
    """Which counts show a gap, either way, by the anytime rule, however many pairs agree."""
    counts = np.arange(max(FIRST_LOOKS) + MOST_ADDED + 1)
    return log_wealth_at_zero(counts[:, None], counts[None, :]) > -np.log(ALPHA)


@lru_cache(maxsize=512)
def _strict_gaps(n: int) -> np.ndarray:
    """Which counts [n+1, n+1] show a gap, either way, by the strict rule."""
    oracle_wins, learned_wins, _ = compare_counts(PairedArms(n), critical_score)
    return oracle_wins | learned_wins


def _gap_whenever(waiting: np.ndarray, share: float) -> float:
    """The probability that the anytime rule shows a gap after an added pair, from masses [n+1, n+1] of first looks."""
    alive, total = np.pad(waiting, (0, MOST_ADDED)), 0.0
    gaps = _anytime_gaps()[: len(alive), : len(alive)]
    for _ in range(MOST_ADDED):
        after = (1 - 2 * share) * alive
        after[1:] += share * alive[:-1]
        after[:, 1:] += share * alive[:, :-1]
        total += float(after[gaps].sum())
        after[gaps] = 0.0
        alive = after
    return total


def anytime_false_gap(share: float) -> float:
    """The probability of a false gap, either way, looking after every pair up to the cap.

    Both rates are .5, and each arm alone solves a pair with the probability `share`.
    """
    return expected_stop(Design(0.5, 0.5, paired=True, phi=1 - 4 * share), CAP).gap


def anytime_false_equivalence(rate: float) -> float:
    """The probability of false equivalence in the same run, if the margin lies between this rate and the model's."""
    return expected_stop(Design(rate, rate - DELTA, paired=True), CAP).equivalence


def family_of_independent(comparisons: int, n: int) -> float:
    """The greatest probability of any false gap among independent comparisons of n pairs after Holm's correction.

    If all rates are equal, a gap is shown exactly if a p-value is at most .05 over the number of comparisons.
    """
    wins = gap_claims(PairedArms(n), critical_score, GAP_LEVEL / comparisons)
    return 1 - (1 - 2 * paired_probability(wins, SHARES / 2, SHARES / 2)) ** comparisons


def family_of_one_oracle(comparisons: int, arms: tuple[int, float], share_worse: float) -> float:
    """The share of simulated studies with a false gap after Holm's correction.

    Models are compared with one oracle on the same seeds; `arms` are the number of pairs and the oracle's rate. Some
    models are truly worse, the others have the oracle's rate.
    """
    (n, rate), worse = arms, round(share_worse * comparisons)
    rng, p_values = np.random.default_rng(SEED), _p_values(n)
    rates = np.where(np.arange(comparisons) < worse, rate - WORSE_BY, rate)
    false = 0
    for _ in range(STUDIES):
        oracle, models = rng.random(n) < rate, rng.random((comparisons, n)) < rates[:, None]
        b, c = (oracle & ~models).sum(axis=1), (~oracle & models).sum(axis=1)
        false += bool((holm(p_values[b, c])[worse:] <= ALPHA).any())
    return false / STUDIES


@lru_cache(maxsize=2)
def _p_values(n: int) -> np.ndarray:
    """The two-sided p-value of every outcome of n pairs [n+1, n+1]."""
    found = np.ones((n + 1, n + 1))
    for b in range(n + 1):
        for c in range(min(b, n - b) + 1):
            found[b, c] = found[c, b] = difference_p(PairedArms(n), b, c)
    return found
