"""What several gaps come to, in one sentence that has their rates."""

from collections.abc import Mapping, Sequence

from wmel.reports.answers import Advice, JudgedGap, success_words
from wmel.reports.words import listed_words

LISTED = 4  # more models or labels than this are counted, not named
MIXED = "It depends"
NEGATIVE = (Advice.NO, Advice.UNKNOWN, Advice.BLIND)
PLANNED = {  # of models that are planned with
    Advice.YES: "may be planned with",
    Advice.WEAK: "may be planned with",
    Advice.NO: "may not be planned with",
    Advice.UNKNOWN: "cannot be judged yet",
    Advice.BLIND: "cannot be judged",
}
ACTING = {  # of models that act by policies of their own
    Advice.YES: "at least as well",
    Advice.WEAK: "at least as well",
    Advice.NO: "worse",
}
Group = tuple[Advice, bool]  # and whether the model acts by a policy of its own


def answer_of_gaps(gaps: Sequence[JudgedGap], shared: str = "") -> str:
    """One sentence that reconciles all gaps, with their rates; `shared` is where all of them were measured."""
    if not gaps:
        return "No gap was measured."
    if len(gaps) == 1:
        return gaps[0].sentence
    by_model = _by_model(gaps)
    if len(by_model) > LISTED:
        text = f"the {len(by_model)} models {_counted(gaps, 'comparison', 'do', ' by their own policies')}"
    elif len(_groups(gaps)) == 1 and len({len(own) for own in by_model.values()}) == 1:
        settings = len(gaps) // len(by_model)
        verb = "does" if len(by_model) == 1 else "do"
        text = f"{listed_words(list(by_model))} {_clause(gaps, settings, settings, 'setting', verb)}"
    else:
        text = "; ".join(f"{model} {_counted(own, 'setting')}" for model, own in by_model.items())
    return f"{_reconciled(gaps)}: {f'{shared}, ' if shared else ''}{text}."


def paper_sentence(labels: Mapping[str, str]) -> str:
    """The verdicts by the rule of the CPG paper, by gap; many are counted."""
    named = [f"{name} {label}" for name, label in labels.items()]
    if len(labels) > LISTED:
        found = list(labels.values())
        named = [f"{label} in {found.count(label)} of {len(found)} comparisons" for label in dict.fromkeys(found)]
    return f"By the rule of the CPG paper: {listed_words(named)}." if labels else ""


def _by_model(gaps: Sequence[JudgedGap]) -> dict[str, list[JudgedGap]]:
    found: dict[str, list[JudgedGap]] = {}
    for gap in gaps:
        found.setdefault(gap.name, []).append(gap)
    return found


def _groups(gaps: Sequence[JudgedGap]) -> dict[Group, list[JudgedGap]]:
    """Gaps of one advice, those of models that act by their own policy apart."""
    found: dict[Group, list[JudgedGap]] = {}
    for gap in gaps:
        found.setdefault((gap.advice, gap.acts_by is not None), []).append(gap)
    return found


def _reconciled(gaps: Sequence[JudgedGap]) -> str:
    """The advice of all gaps, where they agree."""
    found = {gap.advice for gap in gaps}
    if found == {Advice.YES, Advice.WEAK}:
        return Advice.YES
    return found.pop() if len(found) == 1 else MIXED


def _counted(gaps: Sequence[JudgedGap], noun: str, verb: str = "does", own: str = "") -> str:
    """What may be done in how many settings, the most frequent first, each with its rates."""
    groups = sorted(_groups(gaps).values(), key=lambda one: -len(one))
    return listed_words([_clause(found, len(found), len(gaps), noun, verb, own) for found in groups])


def _clause(gaps: Sequence[JudgedGap], count: int, total: int, noun: str, verb: str, own: str = "") -> str:
    """What may be done in `count` of `total` settings, with the rates of these gaps; all have one advice.

    `verb` agrees with the models; `own` is added where they act by policies of their own that nothing else names.
    """
    advice, phrase = gaps[0].advice, PLANNED[gaps[0].advice]
    if gaps[0].acts_by is not None:
        phrase = f"{verb} {ACTING[advice]}{own}" if advice in ACTING else f"{phrase}{own}"
    return f"{phrase}{_share(advice, count, total, noun)}{_reason(gaps)} ({success_words(gaps)}{_wanted(gaps)})"


def _reason(gaps: Sequence[JudgedGap]) -> str:
    if gaps[0].advice is Advice.WEAK:
        return ", where the reference is weak"
    reasons = list(dict.fromkeys(str(gap.unseen or gap.open_reason) for gap in gaps if gap.unseen or gap.open_reason))
    return f" because {' or '.join(reasons)}" if reasons else ""


def _wanted(gaps: Sequence[JudgedGap]) -> str:
    """How many episodes would decide these gaps, where the number is known for each."""
    counts, units = [gap.wanted for gap in gaps if gap.wanted is not None], {gap.unit for gap in gaps}
    if len(counts) < len(gaps):
        return ""
    few, many = min(counts), max(counts)
    unit = units.pop() if len(units) == 1 else "episodes per arm"
    return f", about {few if few == many else f'{few} to {many}'} fresh {unit} would decide"


def _share(advice: Advice, count: int, total: int, noun: str) -> str:
    """In how many of several settings."""
    if total == 1:
        return ""
    if count < total:
        return f" in {count} of {total} {noun}s"
    alike = ("either of", "any of") if advice in NEGATIVE else ("both of", "all of")
    return f" in {alike[total > 2]} {total} {noun}s"
