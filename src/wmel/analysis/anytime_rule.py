"""The verdict of a run of pairs that was looked at as it grew: on its confidence sequence alone."""

from wmel.analysis.cpg import CPGResult
from wmel.analysis.labels import Label, Verdict, shown
from wmel.analysis.strict_rule import DELTA
from wmel.errors import BadInput
from wmel.stats.confidence_sequence import confidence_sequence
from wmel.stats.estimate import Estimate
from wmel.stats.stopping import anytime_decision

ALPHA = 0.05


def anytime_verdict(result: CPGResult, cap: int | None = None) -> Verdict:
    """The label whenever one looks; with a cap, the most pairs the run may take, also whether it was worth going on."""
    if result.pairs is None:
        raise BadInput("the anytime rule needs pairs: run both arms on the same episode seeds, and give their tables")
    b, c, n = int(result.pairs.oracle_only), int(result.pairs.learned_only), int(result.pairs.n)
    low, high = confidence_sequence(b, c, n, alpha=ALPHA)
    interval = Estimate(result.raw_gap, float(low), float(high), n, "confidence sequence")
    decision = anytime_decision(b, c, n, delta=DELTA, alpha=ALPHA, cap=cap)
    where = f"after {n} pairs the confidence sequence {shown(interval)}"
    if decision == "gap":
        label, side = (Label.MODEL_BOTTLENECK, "above") if b > c else (Label.LEARNED_OUTPERFORMS, "below")
        reason = f"{where} lies {side} 0"
    elif decision == "equivalence":
        label, reason = Label.EQUIVALENT_ONLY, f"{where} is within {DELTA:g} of 0"
    elif decision == "futility":
        label = Label.INCONCLUSIVE_FUTILE
        reason = f"{where} holds 0, and would decide by pair {cap} with less than 5% probability"
    else:
        label, reason = Label.INCONCLUSIVE, f"{where} holds 0, too wide for equivalence; more pairs may be added"
    return Verdict(label, "anytime", {"delta": DELTA, "alpha": ALPHA}, interval, reason)
