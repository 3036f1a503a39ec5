"""Checks every bound on what intervals and verdicts claim, and writes docs/calibration.md (`make calibration`).

Fails if a bound is missed, and names it.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement, product
from multiprocessing import get_context
from typing import Any

from threadpoolctl import threadpool_limits

import calibration
import esnr_coverage
import false_alarms
import false_claims
import interval_coverage
import repeated_claims
import sampled_coverage
from calibration import Finding, Kind
from wmel.analysis.verdict import Label

WORKERS = 2
NS = range(5, 301)
MOST_FALSE: dict[str, float] = {  # greatest probabilities of a false claim
    Label.MODEL_BOTTLENECK: 0.040,
    Label.LEARNED_OUTPERFORMS: 0.040,
    Label.PLANNER_BOTTLENECK: 0.050,
    Label.AS_GOOD: 0.052,
    Label.EQUIVALENT: 0.052,
    "a gap, arms of unequal size": 0.050,
    "equivalence, arms of unequal size": 0.052,
    "a gap in either direction, pairs added: guaranteed": 0.070,
    "a gap in either direction, pairs added: measured": 0.070,
    "a gap in one direction, pairs added: guaranteed": 0.035,
    "a gap in one direction, pairs added: measured": 0.035,
    "equivalence, pairs added: guaranteed": 0.090,
    "a gap, looking after every pair": 0.050,
    "equivalence, looking after every pair": 0.050,
    "a gap among several, after Holm's correction": 0.050,
    "alignment of a model without signal": 0.070,
    "a U-shape of ESNR that never falls": 0.050,
}
COMPARED = {  # intervals that verdicts do not use: the least coverage at the n of the page, rounded outward
    "wilson": 0.904,
    "agresti-caffo": 0.905,
    "newcombe": 0.879,
    "miettinen-nurminen": 0.904,
    "tango": 0.929,
    "newcombe 10": 0.869,
    "bonett-price": 0.890,
}
LEAST_COVERAGE: dict[str, float] = {  # of 95% intervals
    **COMPARED,
    "clopper-pearson": 0.950,
    interval_coverage.EXACT: 0.950,
    interval_coverage.EXACT_PAIRED: 0.950,
    "recipe": 0.900,
    "mean": 0.900,
    "interquartile mean": 0.900,
    "percentile": 0.900,
    "ratio": 0.900,
    "ESNR": 0.900,
    "difference of ESNR": 0.900,
    "pooled ratio": 0.900,
    "probability of improvement": 0.900,
}
MOST_LEFT = {"ESNR less its printed bias": 0.150}  # a share of the ratio of infinitely many samples
LEAST_REFUSED = {"an interval of ESNR below the least numbers of states and samples": 1.000}
BOUNDS: dict[Kind, dict[str, float]] = {
    Kind.FALSE_CLAIM: MOST_FALSE,
    Kind.INTERVAL: LEAST_COVERAGE,
    Kind.BIAS: MOST_LEFT,
    Kind.REFUSAL: LEAST_REFUSED,
}
Calls = Sequence[tuple[Any, ...]]
Measured = dict[str, dict[tuple[Any, ...], Any]]  # group -> arguments -> result


def all_groups() -> dict[str, tuple[Callable[..., Any], Calls]]:
    """What is measured: by group, a function and the arguments of its calls."""
    return {
        "branches": (false_claims.false_claims, [(n,) for n in NS]),
        "unequal": (
            false_claims.unequal_false_claims,
            list(combinations_with_replacement(false_claims.SIZES, 2)),
        ),
        "follow-up": (repeated_claims.follow_ups, [(n,) for n in repeated_claims.FIRST_LOOKS]),
        "follow-up, guaranteed": (repeated_claims.guaranteed_false_gap, [(n,) for n in NS]),
        "follow-up equivalence, guaranteed": (
            repeated_claims.guaranteed_false_equivalence,
            [(n,) for n in repeated_claims.FIRST_EQUIVALENCES],
        ),
        "anytime gap": (repeated_claims.anytime_false_gap, [(share,) for share in repeated_claims.DISCORDANT]),
        "anytime equivalence": (
            repeated_claims.anytime_false_equivalence,
            [(rate,) for rate in repeated_claims.ORACLES],
        ),
        "independent family": (
            repeated_claims.family_of_independent,
            list(product(repeated_claims.FAMILIES, repeated_claims.SIZES)),
        ),
        "family of one oracle": (
            repeated_claims.family_of_one_oracle,
            list(product(repeated_claims.FAMILIES, repeated_claims.SIMULATED, repeated_claims.WORSE)),
        ),
        "recipe": (
            sampled_coverage.recipe_coverage,
            list(product(sampled_coverage.RECIPES, sampled_coverage.EPISODES, sampled_coverage.TRAININGS)),
        ),
        "mean": (
            sampled_coverage.mean_coverage,
            list(product(sampled_coverage.VALUES, sampled_coverage.DECISIONS, sampled_coverage.COUNTS)),
        ),
        "middle": (
            sampled_coverage.middle_coverage,
            list(product(sampled_coverage.MIDDLES, sampled_coverage.MIDDLE_COUNTS)),
        ),
        "percentile": (
            sampled_coverage.percentile_coverage,
            list(product(sampled_coverage.LATENCIES, sampled_coverage.PERCENTILES, sampled_coverage.TIMED)),
        ),
        "ratio": (
            sampled_coverage.ratio_coverage,
            list(product(sampled_coverage.RATIOS, sampled_coverage.CLUSTERS)),
        ),
        "esnr": (
            esnr_coverage.esnr_coverage,
            list(product(esnr_coverage.PROBLEMS, esnr_coverage.SETTINGS, esnr_coverage.SAMPLES)),
        ),
        "esnr refused": (esnr_coverage.refused_share, esnr_coverage.REFUSED),
        "esnr difference": (
            esnr_coverage.difference_coverage,
            list(product(esnr_coverage.COMPARED, esnr_coverage.SAMPLES)),
        ),
        "pooled": (
            esnr_coverage.pooled_coverage,
            list(product(esnr_coverage.PROBLEMS, esnr_coverage.COMPARED, esnr_coverage.POOLED_SAMPLES)),
        ),
        "alignment": (
            esnr_coverage.false_alignment,
            list(product(esnr_coverage.COMPARED, esnr_coverage.ALIGNED_SAMPLES)),
        ),
        "false alarms": (
            false_alarms.false_alarms,
            list(product(esnr_coverage.PROBLEMS, esnr_coverage.COMPARED, false_alarms.DESIGNS)),
        ),
        "improvement": (
            sampled_coverage.improvement_coverage,
            list(product(sampled_coverage.IMPROVEMENTS, sampled_coverage.TASKS, sampled_coverage.PAIRS)),
        ),
        "interval": (
            interval_coverage.coverage,
            [
                (name, n)
                for name, n in product(interval_coverage.NAMES, interval_coverage.SIZES)
                if interval_coverage.is_enumerated(name, n)
            ],
        ),
        "paper": (interval_coverage.paper_false_claims, [(n,) for n in interval_coverage.SIZES]),
    }


def measure() -> Measured:
    """Every number of the page; some minutes on two cores."""
    found: Measured = {}
    with get_context("spawn").Pool(WORKERS, initializer=threadpool_limits, initargs=(1,)) as pool:
        for group, (function, calls) in all_groups().items():
            found[group] = dict(zip(calls, pool.starmap(function, calls, chunksize=1), strict=True))
            print(f"measured: {group}", flush=True)
    return found


def finding(bound: str, value: float, where: str) -> Finding:
    """A number beside its bound."""
    kind = next(kind for kind, bounds in BOUNDS.items() if bound in bounds)
    return Finding(bound, value, where, BOUNDS[kind][bound], kind)


def findings(measured: Measured) -> Iterator[Finding]:
    """Everything that has a bound."""
    for (n,), labels in measured["branches"].items():
        for label, designs in labels.items():
            yield from (finding(label, value, f"{design}, n = {n}") for design, value in designs.items())
    for (one, other), (gap, equivalence) in measured["unequal"].items():
        yield finding("a gap, arms of unequal size", gap, f"{one} v {other}")
        yield finding("equivalence, arms of unequal size", equivalence, f"{one} v {other}")
    for (n,), rates in measured["follow-up"].items():
        for (rate, phi), found in rates.items():
            where = f"first look at {n}, rates {rate:g}, phi {phi:g}"
            looks = {where: found.advised, f"{where}, looking after every pair": found.whenever}
            for words, value in looks.items():
                yield finding("a gap in either direction, pairs added: measured", value, words)
                yield finding("a gap in one direction, pairs added: measured", value / 2, words)
    for (n,), value in measured["follow-up, guaranteed"].items():
        where = _any_look_after(n)
        yield finding("a gap in either direction, pairs added: guaranteed", value, where)
        yield finding("a gap in one direction, pairs added: guaranteed", value / 2, where)
    for (n,), value in measured["follow-up equivalence, guaranteed"].items():
        yield finding("equivalence, pairs added: guaranteed", value, _any_look_after(n))
    for (share,), value in measured["anytime gap"].items():
        yield finding("a gap, looking after every pair", value, f"each arm alone solves {share:g}")
    for (rate,), value in measured["anytime equivalence"].items():
        yield finding("equivalence, looking after every pair", value, f"oracle {rate:g}, model .1 below")
    holm = "a gap among several, after Holm's correction"
    for (k, n), value in measured["independent family"].items():
        yield finding(holm, value, f"{k} independent comparisons of {n} pairs")
    for (k, (n, rate), worse), value in measured["family of one oracle"].items():
        yield finding(holm, value, f"{k} models, one oracle of rate {rate:g}, {n} pairs, {worse:.0%} worse")
    yield from _coverage_findings(measured)
    yield from _esnr_findings(measured)


def _any_look_after(n: int) -> str:
    return f"first look at {n}, any pairs and looks after it"


def _coverage_findings(measured: Measured) -> Iterator[Finding]:
    for (recipe, episodes, trainings), value in measured["recipe"].items():
        yield finding("recipe", value, f"{recipe}, {trainings} trainings, episodes {episodes}")
    for (kind, decisions, count), value in measured["mean"].items():
        if kind not in sampled_coverage.SKEWED:
            yield finding("mean", value, f"{kind}, {count} episodes of {decisions}")
    for (kind, count), value in measured["middle"].items():
        yield finding("interquartile mean", value, f"{kind}, {count} values")
    for (kind, (percent, episodes), timed), value in measured["percentile"].items():
        yield finding("percentile", value, f"p{percent}, {kind}, {episodes} episodes of {timed}")
    for (kind, clusters), value in measured["ratio"].items():
        if kind not in sampled_coverage.SKEWED:
            yield finding("ratio", value, f"{kind}, {clusters} clusters")
    for (kind, tasks, pairs), value in measured["improvement"].items():
        yield finding("probability of improvement", value, f"{kind}, {tasks} tasks of {pairs} pairs")
    for (name, n), value in measured["interval"].items():
        yield finding(name, value, f"n = {n}")


def _esnr_findings(measured: Measured) -> Iterator[Finding]:
    for (problem, estimator, samples), found in measured["esnr"].items():
        where = f"{estimator}, {problem}, {samples} samples"
        for states, value in found.covered.items():
            yield finding("ESNR", value, f"{where}, {states} states")
        yield finding("ESNR less its printed bias", found.left, where)
    for (states, samples), value in measured["esnr refused"].items():
        (bound,) = LEAST_REFUSED
        yield finding(bound, value, f"{states} states, {samples} samples")
    for group, bound in (("esnr difference", "difference of ESNR"), ("pooled", "pooled ratio")):
        for key, found in measured[group].items():
            where = f"{', '.join(map(str, key))} samples"
            yield from (finding(bound, value, f"{where}, {states} states") for states, value in found.items())
    for (estimator, samples), found in measured["alignment"].items():
        for states, value in found.claimed.items():
            where = f"{estimator}, {samples} samples, {states} states"
            yield finding("alignment of a model without signal", value, where)
    for (problem, estimator, design), runs in measured["false alarms"].items():
        for count, found in runs.items():
            where = f"{estimator}, {problem}, {design}, {count} checkpoints"
            yield finding("a U-shape of ESNR that never falls", found.constant, f"{where}, no change")
            yield finding("a U-shape of ESNR that never falls", found.rising, f"{where}, a rise from a plateau")


def worst(found: Sequence[Finding]) -> list[Finding]:
    """The worst finding of every bound."""
    names = dict.fromkeys(one.bound for one in found)
    return [min((one for one in found if one.bound == name), key=lambda one: one.margin) for name in names]


def main() -> int:
    """Measures, writes the page, and names every bound that is missed."""
    measured = measure()
    found = list(findings(measured))
    calibration.write(measured, worst(found))
    missed = [one for one in found if not one.holds]
    for one in missed:
        print(f"MISSED {one.bound}: {one.value:.4f}, bound {one.limit:g} ({one.where})")
    print(f"{len(missed)} of {len(found)} numbers miss their bound")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
