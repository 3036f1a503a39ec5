"""The documents' verdict: five branches on the Agresti-Caffo interval, two of which rest on point estimates."""

from wmel.analysis.cpg import CPGResult
from wmel.analysis.enough_episodes import with_enough_episodes
from wmel.analysis.labels import Label, Verdict, shown
from wmel.stats.power import Design

TAU = 0.05  # rates this close to 0 or 1 count as there


def paper_verdict(result: CPGResult) -> Verdict:
    """The label by the documents' rule."""
    interval, rates = result.agresti_caffo, (result.oracle_success_rate, result.learned_success_rate)
    assert interval.low is not None and interval.high is not None
    label, reason = Label.INCONCLUSIVE, f"the interval {shown(interval)} holds 0"
    if interval.low > 0:
        label, reason = Label.MODEL_BOTTLENECK, f"the interval {shown(interval)} lies above 0"
    elif interval.high < 0:
        label, reason = Label.LEARNED_OUTPERFORMS, f"the interval {shown(interval)} lies below 0"
    elif max(rates) <= TAU:
        label, reason = Label.PLANNER_BOTTLENECK, f"both observed rates are at most {TAU:g}"
    elif min(rates) >= 1 - TAU:
        label, reason = Label.AS_GOOD, f"both observed rates are at least {1 - TAU:g}"
    designs = [Design(*rates, documents=True)] if rates[0] != rates[1] else []
    verdict = Verdict(label, "paper", {"tau": TAU}, interval, reason)
    return with_enough_episodes(verdict, designs, "this rule cannot call such rates equal, the strict rule can")
