"""The verdict of a gap by one of three rules, and what broken episodes do to it."""

from collections.abc import Callable
from dataclasses import replace

from wmel.analysis.anytime_rule import anytime_verdict
from wmel.analysis.cpg import CPGResult
from wmel.analysis.labels import Label, Verdict
from wmel.analysis.paper_rule import paper_verdict
from wmel.analysis.strict_rule import strict_verdict
from wmel.errors import BadInput

MOST_ERRORS = 0.01  # share of broken episodes beyond which nothing is claimed


def cpg_verdict(result: CPGResult, rule: str = "strict", *, cap: int | None = None) -> Verdict:
    """The verdict by the rule `strict` (default), `paper`, or `anytime` for pairs that may have been stopped early.

    Only `anytime` takes a cap, the most pairs the run may take: near it a run may be given up as futile.
    """
    rules: dict[str, Callable[[CPGResult], Verdict]] = {
        "strict": strict_verdict,
        "paper": paper_verdict,
        "anytime": lambda arms: anytime_verdict(arms, cap),
    }
    if rule not in rules:
        raise BadInput(f"no verdict rule named {rule!r}; known: {', '.join(rules)}")
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
