"""Verdicts on a gap, by the strict rule, the rule of the CPG paper or the anytime rule; and the pairs they require."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from wmel.analysis.gap import CPGResult
from wmel.errors import BadInput
from wmel.stats.estimate import Bounds, Estimate
from wmel.stats.exact import GAP_LEVEL, IndependentArms, PairedArms, method_of
from wmel.stats.power import (
    MAX_FOR_WIDTH,
    MAX_SEARCHED,
    Design,
    detectable_gap,
    episodes_for_half_width,
    required_episodes,
)
from wmel.stats.proportions import clopper_pearson
from wmel.stats.sequential import anytime_decision, confidence_sequence, expected_stop

IF_AS_SEEN = "with 80% probability if the rates are as seen"
IF_ADDED = "episodes that are added to these are judged by the anytime rule"
NOTHING_SOLVED = "this comparison cannot see the model; a stronger planner or an easier criterion may show it"
DELTA = 0.10  # the margin of equivalence
RHO = 0.10  # the margin of a rate to 0 or 1, for the bounds of the strict rule
TAU = 0.05  # the margin of an observed rate to 0 or 1, for the rule of the CPG paper, unless another is given
ALPHA = 0.05
MOST_ERRORS = 0.01  # the share of episodes with an error above which the verdict is inconclusive


class Label(StrEnum):
    """The label of a verdict."""

    MODEL_BOTTLENECK = "MODEL BOTTLENECK"
    LEARNED_OUTPERFORMS = "LEARNED OUTPERFORMS ORACLE"
    PLANNER_BOTTLENECK = "PLANNER BOTTLENECK"
    AS_GOOD = "MODEL AS GOOD AS ORACLE"
    EQUIVALENT = "EQUIVALENT, PLANNER-LIMITED"
    EQUIVALENT_ONLY = "EQUIVALENT"  # without a claim about the success rate of the oracle
    INCONCLUSIVE = "INCONCLUSIVE"
    INCONCLUSIVE_FUTILE = "INCONCLUSIVE (stopped for futility)"
    INCONCLUSIVE_ERRORS = "INCONCLUSIVE (errors)"


DECIDED = (  # labels after which an anytime run adds no pairs
    Label.MODEL_BOTTLENECK,
    Label.LEARNED_OUTPERFORMS,
    Label.EQUIVALENT_ONLY,
    Label.INCONCLUSIVE_FUTILE,
)


@dataclass(frozen=True)
class Correction:
    """The p-value of a gap after Holm's correction for all gaps that are reported together."""

    p_value: float
    comparisons: int = 1

    @property
    def shows_gap(self) -> bool:
        return self.p_value <= ALPHA

    @property
    def words(self) -> str:
        return f"does not hold after correction for {self.comparisons} comparisons (p = {self.p_value:.2g})"


@dataclass(frozen=True)
class Verdict:
    """A label, with its rule, margins, interval of the gap and reason, and the n per arm that would decide."""

    label: Label
    rule: str
    margins: dict[str, float]
    interval: Estimate
    reason: str
    n_that_decides: int | None = None  # with 80% probability if the rates are as seen; None: decided, or no n does

    def __str__(self) -> str:
        return f"{self.label} ({self.rule}): {self.reason}"


def format_interval(interval: Estimate) -> str:
    """An interval as text. It is clipped to [-1, 1], which the text states."""
    assert interval.low is not None and interval.high is not None
    clipped = " (clipped)" if interval.low < -1 or interval.high > 1 else ""
    return f"[{max(interval.low, -1):+.3f}, {min(interval.high, 1):+.3f}]{clipped}"


def add_required_episodes(verdict: Verdict, designs: list[Design], otherwise: str) -> Verdict:
    """Adds to an inconclusive verdict the n per arm at which one of the designs decides, or other advice."""
    if verdict.label is not Label.INCONCLUSIVE:
        return verdict
    n = required_episodes(*designs) if designs else None
    advice = f"about {n} fresh episodes per arm would decide {IF_AS_SEEN}; {IF_ADDED}"
    if n is None:
        advice = f"no n decides: none up to {MAX_SEARCHED} does {IF_AS_SEEN}; {otherwise}"
    return replace(verdict, reason=f"{verdict.reason}; {advice}", n_that_decides=n)


FEWEST_ALONE = math.ceil(-math.log2(GAP_LEVEL)) - 1  # pairs on one side whose mid-p, .5 ** (pairs + 1), shows a gap
NO_GAP = Bounds(np.array(-1.0), np.array(1.0))  # in place of an interval that excludes nothing
STRICT_LABELS = (
    Label.MODEL_BOTTLENECK,
    Label.LEARNED_OUTPERFORMS,
    Label.PLANNER_BOTTLENECK,
    Label.AS_GOOD,
    Label.EQUIVALENT,
    Label.INCONCLUSIVE,
)


def strict_verdict(result: CPGResult, correction: Correction | None = None) -> Verdict:
    """The verdict by a 95% interval of the gap, exact one-sided 95% bounds of the rates, and equivalence at 90%.

    With a correction, a gap is claimed only if it holds after it.
    """
    gap, equivalence_interval = result.gap, result.gap_at(0.90)
    oracle = clopper_pearson(result.oracle_successes, result.n_episodes_oracle, confidence=0.90)
    learned = clopper_pearson(result.learned_successes, result.n_episodes_learned, confidence=0.90)
    claimed = NO_GAP if correction is not None and not correction.shows_gap else _bounds(gap)
    label = STRICT_LABELS[int(strict_branches(claimed, _bounds(equivalence_interval), oracle, learned))]
    equal = f"the 90% interval {format_interval(equivalence_interval)} is within {DELTA:g} of 0"
    solved = f"to solve {1 - RHO:g} of episodes (at least {float(oracle.low):.3f})"
    reasons = {
        Label.MODEL_BOTTLENECK: f"the 95% interval {format_interval(gap)} lies above 0",
        Label.LEARNED_OUTPERFORMS: f"the 95% interval {format_interval(gap)} lies below 0",
        Label.PLANNER_BOTTLENECK: f"both rates are surely at most {RHO:g}",
        Label.AS_GOOD: f"{equal}; the oracle is shown {solved}",
        Label.EQUIVALENT: f"{equal}; the oracle is not shown {solved}",
        Label.INCONCLUSIVE: _reason_without_gap(result, gap, correction),
    }
    interval = equivalence_interval if label in (Label.AS_GOOD, Label.EQUIVALENT) else gap
    verdict = Verdict(label, "strict", {"delta": DELTA, "rho": RHO, "alpha": ALPHA}, interval, reasons[label])
    if label is Label.INCONCLUSIVE and not result.oracle_successes + result.learned_successes:
        return replace(verdict, reason=f"neither arm ever succeeds: {NOTHING_SOLVED}; {verdict.reason}")
    comparisons = 1 if correction is None else correction.comparisons
    return add_required_episodes(verdict, _designs_as_seen(result, comparisons), "widen delta, or accept it")


def _reason_without_gap(result: CPGResult, gap: Estimate, correction: Correction | None) -> str:
    """Why the interval claims neither a gap nor equivalence."""
    assert gap.low is not None and gap.high is not None
    interval = f"the 95% interval {format_interval(gap)}"
    if correction is None or gap.low <= 0 <= gap.high:
        alone = 0 if result.pairs is None else sum(result.outcome)
        too_few = f"; a gap needs at least {FEWEST_ALONE} pairs that one arm alone solves, here {alone}"
        return f"{interval} holds 0, too wide for equivalence{too_few if 0 < alone < FEWEST_ALONE else ''}"
    return f"{interval} lies {'above' if gap.low > 0 else 'below'} 0, but the gap {correction.words}"


def strict_branches(gap: Bounds, equivalence_interval: Bounds, oracle: Bounds, learned: Bounds) -> np.ndarray:
    """The index in STRICT_LABELS, from the 95% and 90% intervals of a gap and the exact bounds of both rates."""
    equivalent = (equivalence_interval.low > -DELTA) & (equivalence_interval.high < DELTA)
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


def _designs_as_seen(result: CPGResult, comparisons: int) -> list[Design]:
    """The designs that could decide at the observed rates: a gap, equivalence, or both.

    Of several comparisons a gap is tested at the strictest step of Holm's correction.
    """
    rates = result.oracle_success_rate, result.learned_success_rate
    pairs = result.pairs
    arms = (*rates, pairs is not None, 0.0 if pairs is None else float(pairs.phi))
    gap = Design(*arms, gap_level=GAP_LEVEL / comparisons)
    designs = [gap] if rates[0] != rates[1] else []
    near = abs(result.raw_gap) < DELTA - 1e-9  # the margin itself, whichever way its rates are rounded, is not
    return [*designs, replace(gap, equivalence=DELTA)] if near else designs


def paper_verdict(result: CPGResult, tau: float = TAU) -> Verdict:
    """The label by the rule of the CPG paper."""
    if not 0 <= tau <= 0.5:
        raise BadInput(f"tau is the distance of a rate from 0 or 1, a number from 0 to 0.5; got {tau!r}")
    interval, rates = result.agresti_caffo, (result.oracle_success_rate, result.learned_success_rate)
    assert interval.low is not None and interval.high is not None
    label, reason = Label.INCONCLUSIVE, f"the interval {format_interval(interval)} holds 0"
    if interval.low > 0:
        label, reason = Label.MODEL_BOTTLENECK, f"the interval {format_interval(interval)} lies above 0"
    elif interval.high < 0:
        label, reason = Label.LEARNED_OUTPERFORMS, f"the interval {format_interval(interval)} lies below 0"
    elif max(rates) <= tau:
        label, reason = Label.PLANNER_BOTTLENECK, f"both observed rates are at most {tau:g}"
    elif min(rates) >= 1 - tau:
        label, reason = Label.AS_GOOD, f"both observed rates are at least {1 - tau:g}"
    designs = [Design(*rates, agresti_caffo=True)] if rates[0] != rates[1] else []
    verdict = Verdict(label, "paper", {"tau": tau}, interval, reason)
    return add_required_episodes(verdict, designs, "this rule cannot call such rates equal, the strict rule can")


def paper_rule(stored: Mapping[str, Any]) -> dict[str, Any]:
    """What a stored result keeps about the rule of the CPG paper, as the arguments of a record."""
    return {"paper_first": bool(stored.get("paper")), "tau": stored.get("tau", TAU)}


def anytime_verdict(result: CPGResult, cap: int | None = None, correction: Correction | None = None) -> Verdict:
    """The verdict after any number of pairs. With a cap, the maximum number of pairs, it can also be futility."""
    if result.pairs is None:
        raise BadInput("the anytime rule needs pairs: run both arms on the same episode seeds, and give their tables")
    (b, c), n = result.outcome, int(result.pairs.n)
    low, high = confidence_sequence(b, c, n, alpha=ALPHA)
    interval = Estimate(result.raw_gap, float(low), float(high), n, "confidence sequence")
    decision = anytime_decision(b, c, n, delta=DELTA, alpha=ALPHA, cap=cap)
    where = f"after {n} pairs the confidence sequence {format_interval(interval)}"
    side = "above" if b > c else "below"
    if decision == "gap" and correction is not None and not correction.shows_gap:
        label, reason = Label.INCONCLUSIVE, f"{where} lies {side} 0, but the gap {correction.words}"
    elif decision == "gap":
        label = Label.MODEL_BOTTLENECK if b > c else Label.LEARNED_OUTPERFORMS
        reason = f"{where} lies {side} 0"
    elif decision == "equivalence":
        label, reason = Label.EQUIVALENT_ONLY, f"{where} is within {DELTA:g} of 0"
    elif decision == "futility":
        label = Label.INCONCLUSIVE_FUTILE
        reason = f"{where} holds 0, and would decide by pair {cap} with less than 5% probability"
    else:
        label, reason = Label.INCONCLUSIVE, f"{where} holds 0, too wide for equivalence; more pairs may be added"
    return Verdict(label, "anytime", {"delta": DELTA, "alpha": ALPHA}, interval, reason)


def cpg_verdict(
    result: CPGResult,
    rule: str = "strict",
    *,
    cap: int | None = None,
    correction: Correction | None = None,
    tau: float = TAU,
) -> Verdict:
    """The verdict by the rule `strict`, `paper`, or `anytime`, which allows for a run that may stop early.

    Only `anytime` has a cap, the maximum number of pairs of the run. Near the cap a run can stop for futility. The rule
    of the CPG paper has no correction, and is the only one with a tau.
    """
    rules: dict[str, Callable[[CPGResult], Verdict]] = {
        "strict": lambda arms: strict_verdict(arms, correction),
        "paper": lambda arms: paper_verdict(arms, tau),
        "anytime": lambda arms: anytime_verdict(arms, cap, correction),
    }
    if rule not in rules:
        raise BadInput(f"no verdict rule named {rule!r}; known: {', '.join(rules)}")
    if tau != TAU and rule != "paper":
        raise BadInput(f"only the rule of the CPG paper has a tau, got tau = {tau!r} for the rule {rule}")
    if cap is not None and rule != "anytime":
        raise BadInput(f"only the anytime rule has a cap, got cap = {cap!r} for the rule {rule}")
    verdict = rules[rule](result)
    if not result.errors:
        return verdict
    share = result.errors / (result.n_episodes_oracle + result.n_episodes_learned)
    other = None if result.without_errors is None else rules[rule](result.without_errors)
    if share > MOST_ERRORS or other is None or other.label is not verdict.label:
        without = "nothing is left" if other is None else f"without them it is {other.label}"
        reason = f"{result.errors} episodes broke ({share:.1%}); counted as failures it is {verdict.label}, {without}"
        return replace(verdict, label=Label.INCONCLUSIVE_ERRORS, reason=reason, n_that_decides=None)
    return verdict


def answer_questions(
    design: Design,
    *,
    n: int | None = None,
    half_width: float | None = None,
    power: float = 0.8,
    paper: bool = False,
) -> list[dict[str, Any]]:
    """Questions about a design, with answers and notes. An answer of None has its reason in the note."""
    rows = _required_episodes_rows(design, power, paper)
    if n is not None:
        gap = detectable_gap(design.oracle, n, power, paired=design.paired, phi=design.phi)
        note = f"{power:.0%} sure, below the oracle's {design.oracle:g}"
        rows.append(_row(f"probability that {n} per arm decide", design.power(n), _method_name(design, n)))
        rows.append(_row(f"smallest gap {n} per arm find", gap, note, "no gap is large enough"))
    if half_width is not None:
        needed = episodes_for_half_width(design.oracle, design.learned, half_width)
        note = "at exactly these rates, agresti-caffo"
        rows.append(_row(f"episodes per arm for +-{half_width:g}", needed, note, f"none up to {MAX_FOR_WIDTH}"))
    anytime = {"pairs until an anytime run stops": False, "the same, given up when futile": True}
    for question, futility in anytime.items():
        run = expected_stop(replace(design, paired=True), futility=futility)
        shares = f"a gap in {run.gap:.0%}, equivalence in {run.equivalence:.0%}"
        rows.append(_row(question, run.mean_pairs, f"mean, stopping at 150; decides for {shares}"))
    return rows


def _required_episodes_rows(design: Design, power: float, paper: bool) -> list[dict[str, Any]]:
    """The n per arm, and the n by the interval of the CPG paper if it applies or is requested."""
    aim = "a gap" if design.equivalence is None else f"equivalence within {design.equivalence:g}"
    designs = {f"episodes per arm for {aim}": design}
    if paper or (design.equivalence is None and not design.paired):
        designs["the same by the CPG paper's interval"] = replace(design, agresti_caffo=True)
    rows = []
    for question, one in designs.items():
        needed = required_episodes(one, power=power)
        note = f"{power:.0%} sure, {_method_name(one, needed or MAX_SEARCHED)}"
        rows.append(_row(question, needed, note, f"none up to {MAX_SEARCHED}"))
    return rows


def _method_name(design: Design, n: int) -> str:
    """The test that decides with n episodes per arm."""
    if design.agresti_caffo:
        return "agresti-caffo"
    return method_of(PairedArms(n) if design.paired else IndependentArms(n, n))


def _row(question: str, answer: float | None, note: str, missing: str = "") -> dict[str, Any]:
    return {"question": question, "answer": answer, "note": note if answer is not None else f"{missing}; {note}"}
