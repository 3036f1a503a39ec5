"""The answer of a comparison in one sentence: may the model be planned with, by which rates, shown how well."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from wmel.analysis.verdict import RHO, Label
from wmel.reports.json_envelope import CPGEntry, Metadata, VerdictEntry
from wmel.reports.words import count_words, listed_words, part_name

ALPHA = 0.05
LISTED = 4  # more models than this are counted, not named
PAPER = "paper"


class Advice(StrEnum):
    """What a reader may do."""

    YES = "Yes"
    WEAK = "Yes, but the reference is weak"
    NO = "No"
    UNKNOWN = "Cannot tell"
    BLIND = "This comparison cannot see the model"


PHRASES = {  # of models over several settings, and what is behind the number of settings
    Advice.YES: ("may be planned with", ""),
    Advice.WEAK: ("may be planned with", ", where the reference is weak"),
    Advice.NO: ("may not be planned with", ""),
    Advice.UNKNOWN: ("cannot be judged yet", ""),
    Advice.BLIND: ("cannot be judged", " because the oracle itself fails"),
}
MIXED = "It depends"
NEGATIVE = (Advice.NO, Advice.UNKNOWN, Advice.BLIND)
REMARKS: dict[Label | None, str] = {  # what a verdict leaves open
    Label.LEARNED_OUTPERFORMS: "a stronger planner would show what the model costs",
    Label.EQUIVALENT: "the planner is not shown to solve the task, which limits what this shows",
    Label.EQUIVALENT_ONLY: "whether the planner solves the task was not judged",
}
DIRECTIONS = (Label.MODEL_BOTTLENECK, Label.LEARNED_OUTPERFORMS)
EQUALITIES = (Label.AS_GOOD, Label.EQUIVALENT, Label.EQUIVALENT_ONLY)


@dataclass(frozen=True)
class JudgedGap:
    """The gap of one model in one setting, and among how many comparisons it was made."""

    model: str
    where: str  # such as: on dmc_cartpole, planned with cem
    entry: CPGEntry
    adjusted: float | None = None  # Holm's mid-p; None: it was not adjusted
    comparisons: int = 1
    acts_by: str | None = None  # policy of the model's own; None: it is planned with as the oracle is

    @property
    def verdict(self) -> VerdictEntry:
        """The one behind the label: the strict one, or that of a run which may stop early."""
        shown = [one for one in self.entry.verdicts.values() if one.label == self.entry.verdict]
        return next((one for one in shown if one.rule != PAPER), shown[0])

    @property
    def may_be_chance(self) -> bool:
        """Whether a difference does not hold after the correction for all comparisons."""
        return self.entry.verdict in DIRECTIONS and self.adjusted is not None and self.adjusted > ALPHA

    @property
    def advice(self) -> Advice:
        label, oracle = self.entry.verdict, self.entry.oracle_success_rate
        if self._oracle_fails:
            return Advice.BLIND
        if label not in (*DIRECTIONS, *EQUALITIES) or self.may_be_chance:
            return Advice.UNKNOWN
        if label == Label.MODEL_BOTTLENECK:
            return Advice.NO
        return Advice.WEAK if label == Label.LEARNED_OUTPERFORMS or oracle < 1 - RHO else Advice.YES

    @property
    def name(self) -> str:
        """The model, and its own policy where it acts by that: the gap is then of model and planner together."""
        return self.model if self.acts_by is None else f"{self.model} (acting by its own policy, {self.acts_by})"

    @property
    def sentence(self) -> str:
        """The advice with its numbers, and where it was measured."""
        entry, where = self.entry, f"{self.where}, " if self.where else ""
        if self.advice is Advice.BLIND:
            found = self._failing
        else:
            same = self.advice is Advice.WEAK and self.acts_by is None
            reference = "the same planner on the true dynamics gives" if same else "the true dynamics give"
            rates = f"succeeds in {entry.learned_success_rate:.2f} of episodes where {reference}"
            corrected = f", which {self.correction}" if self.correction else ""
            found = f"{self.name} {rates} {entry.oracle_success_rate:.2f} ({self._measured}{corrected})"
        return f"{self.advice}: {'; '.join([where + found, *self.remarks])}."

    @property
    def short_sentence(self) -> str:
        """The same in a list of gaps, which names the model and where the gap was measured; without the remarks."""
        if self.advice is Advice.BLIND:
            return f"{self.advice}: {self._failing}."
        return f"{self.advice}: {success_words([self])} ({self._measured})."

    @property
    def remarks(self) -> list[str]:
        """What the verdict leaves open, as clauses."""
        advice = self.advice
        if advice is Advice.BLIND:
            return ["a stronger planner or an easier criterion would show it"]
        known = self.entry.verdict in set(Label)
        open_point = REMARKS.get(Label(self.entry.verdict), "") if known else ""
        remark = self._why_unknown if advice is Advice.UNKNOWN else open_point
        return [remark] if remark else []

    @property
    def correction(self) -> str:
        """Whether a difference survives the correction for all comparisons; nothing where that is no question."""
        if self.entry.verdict not in DIRECTIONS or self.comparisons == 1:
            return ""
        if self.adjusted is None:
            return f"is not corrected for {self.comparisons} comparisons"
        holds = "does not hold" if self.may_be_chance else "holds"
        return f"{holds} after correction for {self.comparisons} comparisons"

    @property
    def notes(self) -> list[str]:
        """The remarks and the correction, as sentences of their own."""
        notes = [f"{one[:1].upper()}{one[1:]}." for one in self.remarks]
        if not self.correction:
            return notes
        adjusted = f" (mid-p {self.adjusted:.2g})" if self.may_be_chance else ""
        return [*notes, f"The difference {self.correction}{adjusted}."]

    @property
    def _oracle_fails(self) -> bool:
        """Whether the planner fails on the true dynamics, so that nothing is seen of the model."""
        label, rate = self.entry.verdict, self.entry.oracle_success_rate
        if label in (Label.INCONCLUSIVE, Label.INCONCLUSIVE_FUTILE):
            return rate == 0
        return label == Label.PLANNER_BOTTLENECK or (label in EQUALITIES and rate <= RHO)

    @property
    def _failing(self) -> str:
        entry = self.entry
        rate = f"{entry.oracle_success_rate:.2f} of {count_words(entry.n_episodes_oracle, 'episode')}"
        return f"planning succeeds in {rate} even on the true dynamics"

    @property
    def _measured(self) -> str:
        """How many episodes, and the gap."""
        gap, low, high = map(_signed, (self.entry.gap, self.entry.gap_ci_low, self.entry.gap_ci_high))
        return f"{self._episodes}; gap {gap} [{low}, {high}]"

    @property
    def _episodes(self) -> str:
        entry = self.entry
        if entry.n_episodes_oracle != entry.n_episodes_learned:
            return f"{entry.n_episodes_oracle} and {entry.n_episodes_learned} episodes"
        if entry.oracle_only is not None:
            return count_words(entry.n_episodes_learned, "pair")
        return f"{count_words(entry.n_episodes_learned, 'episode')} per arm"

    @property
    def _why_unknown(self) -> str:
        label, wanted = self.entry.verdict, self.verdict.n_that_decides
        if label == Label.INCONCLUSIVE_ERRORS:
            return f"too much depends on {count_words(self.entry.errors, 'episode')} that broke"
        if label == Label.INCONCLUSIVE_FUTILE:
            return "the run stopped because more pairs would hardly decide"
        if label in DIRECTIONS or wanted is None:
            return ""
        unit = "pairs" if self.entry.oracle_only is not None else "episodes per arm"
        return f"about {wanted} fresh {unit} would decide"


def answer_of_gaps(gaps: Sequence[JudgedGap], shared: str = "") -> str:
    """One sentence that reconciles all gaps, with their rates; `shared` is where all of them were measured."""
    if not gaps:
        return "No gap was measured."
    if len(gaps) == 1:
        return gaps[0].sentence
    by_model: dict[str, list[JudgedGap]] = {}
    for gap in gaps:
        by_model.setdefault(gap.name, []).append(gap)
    if len(by_model) > LISTED:
        text = f"the {len(by_model)} models {_counted(gaps, 'comparison')}"
    elif len({gap.advice for gap in gaps}) == 1 and len({len(own) for own in by_model.values()}) == 1:
        settings = len(gaps) // len(by_model)
        text = f"{listed_words(list(by_model))} {_clause(gaps, settings, settings, 'setting')}"
    else:
        text = "; ".join(f"{model} {_counted(own, 'setting')}" for model, own in by_model.items())
    return f"{_reconciled(gaps)}: {f'{shared}, ' if shared else ''}{text}."


def place_of(setting: Metadata, acts_by: str | None = None) -> str:
    """Where a gap was measured, as part of a sentence; a model that acts by a policy of its own is not planned with."""
    if setting.planner is None or acts_by is not None:
        return f"on {setting.env}"
    return f"on {setting.env}, planned with {part_name(setting.planner)}"


def success_words(gaps: Sequence[JudgedGap]) -> str:
    """Success of both arms, from the lowest to the highest."""
    learned = _range([gap.entry.learned_success_rate for gap in gaps])
    oracle = _range([gap.entry.oracle_success_rate for gap in gaps])
    return f"success {learned} where the true dynamics give {oracle}"


def _reconciled(gaps: Sequence[JudgedGap]) -> str:
    """The advice of all gaps, where they agree."""
    found = {gap.advice for gap in gaps}
    if found == {Advice.YES, Advice.WEAK}:
        return Advice.YES
    return found.pop() if len(found) == 1 else MIXED


def _counted(gaps: Sequence[JudgedGap], noun: str) -> str:
    """What may be done in how many settings, the most frequent first, each with its rates."""
    by_advice: dict[Advice, list[JudgedGap]] = {}
    for gap in gaps:
        by_advice.setdefault(gap.advice, []).append(gap)
    groups = sorted(by_advice.items(), key=lambda one: -len(one[1]))
    return listed_words([_clause(found, len(found), len(gaps), noun) for _, found in groups])


def _clause(gaps: Sequence[JudgedGap], count: int, total: int, noun: str) -> str:
    """What may be done in `count` of `total` settings, with the rates of these gaps; all have one advice."""
    phrase, reason = PHRASES[gaps[0].advice]
    return f"{phrase}{_share(gaps[0].advice, count, total, noun)}{reason} ({success_words(gaps)})"


def _share(advice: Advice, count: int, total: int, noun: str) -> str:
    """In how many of several settings."""
    if total == 1:
        return ""
    if count < total:
        return f" in {count} of {total} {noun}s"
    alike = ("either of", "any of") if advice in NEGATIVE else ("both of", "all of")
    return f" in {alike[total > 2]} {total} {noun}s"


def _range(values: Sequence[float]) -> str:
    low, high = (f"{end(values):.2f}" for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _signed(value: float) -> str:
    """Two digits, or the first where a number that is not 0 would read as 0."""
    return f"{value:+.1g}" if 1e-9 < abs(value) < 0.005 else f"{value:+.2f}"
