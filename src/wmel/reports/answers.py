"""The answer of one gap in a sentence: may the model be planned with, by which rates, shown how well."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from wmel.analysis.verdict import IF_ADDED, RHO, Label
from wmel.reports.cells import count_words, part_name
from wmel.reports.record_types import CPGEntry, Metadata, VerdictEntry
from wmel.stats.exact import GAP_LEVEL, IndependentArms, p_value
from wmel.stats.proportions import clopper_pearson

ALPHA = 0.05
PAPER = "paper"
ANYTIME = "anytime"


class Advice(StrEnum):
    """What a reader may do."""

    YES = "Yes"
    WEAK = "Yes, but the reference is weak"
    NO = "No"
    UNKNOWN = "Cannot tell"
    BLIND = "This comparison cannot see the model"


class Unseen(StrEnum):
    """Why nothing is seen of the model."""

    CEILING = "random actions succeed as well"
    FLOOR = "the oracle is not shown to beat random actions"
    FAILURE = "the oracle itself fails"


DIRECTIONS = (Label.MODEL_BOTTLENECK, Label.LEARNED_OUTPERFORMS)
EQUALITIES = (Label.AS_GOOD, Label.EQUIVALENT, Label.EQUIVALENT_ONLY)
OPEN_REASONS: dict[str, str] = {  # of labels that claim nothing whatever the interval is
    Label.INCONCLUSIVE_ERRORS: "too many episodes broke",
    Label.INCONCLUSIVE_FUTILE: "more pairs would hardly decide",
}
REMARKS: dict[Label, str] = {  # what an equality leaves open
    Label.EQUIVALENT: "the planner is not shown to solve the task, which limits what this shows",
    Label.EQUIVALENT_ONLY: "whether the planner solves the task was not judged",
}


@dataclass(frozen=True)
class Count:
    """Successes of an arm."""

    successes: int
    episodes: int

    @property
    def rate(self) -> float:
        return self.successes / self.episodes


@dataclass(frozen=True)
class JudgedGap:
    """The gap of one model in one setting, and among how many comparisons it was made."""

    model: str
    where: str  # such as: on dmc_cartpole, planned with cem
    entry: CPGEntry
    adjusted: float | None = None  # p-value after Holm's correction; None: it was not corrected
    comparisons: int = 1
    acts_by: str | None = None  # policy of the model's own; None: it is planned with as the oracle is
    floor: Count | None = None  # random actions; None: they were not run

    @property
    def verdict(self) -> VerdictEntry:
        """The one behind the label: the strict one, or that of a run which may stop early."""
        agreeing = [one for one in self.entry.verdicts.values() if one.label == self.entry.verdict]
        return next((one for one in agreeing if one.rule != PAPER), agreeing[0])

    @property
    def advice(self) -> Advice:
        """It follows from the label, which allows for the correction, unless nothing is seen of the model."""
        label = self.entry.verdict
        if self.unseen is not None:
            return Advice.BLIND
        if label == Label.MODEL_BOTTLENECK:
            return Advice.NO
        if label not in (*DIRECTIONS, *EQUALITIES):
            return Advice.UNKNOWN
        return Advice.WEAK if self.entry.oracle_success_rate < 1 - RHO else Advice.YES

    @cached_property
    def unseen(self) -> Unseen | None:
        """Why nothing is seen of the model, whatever the label; a model that beats the oracle is seen."""
        label, oracle = self.entry.verdict, self.oracle
        if label == Label.LEARNED_OUTPERFORMS:
            return None
        if self.floor is not None:
            if label != Label.MODEL_BOTTLENECK and _bounds(self.floor)[0] >= 1 - RHO:
                return Unseen.CEILING
            arms = IndependentArms(oracle.episodes, self.floor.episodes)
            if p_value(arms, oracle.successes, self.floor.successes) > GAP_LEVEL:
                return Unseen.FLOOR
        if label in (Label.MODEL_BOTTLENECK, Label.INCONCLUSIVE_ERRORS):
            return None
        fails = label in EQUALITIES and oracle.rate <= RHO  # the margin of equality holds any such rate
        fails |= label == Label.PLANNER_BOTTLENECK or _bounds(oracle)[1] <= RHO
        fails |= oracle.successes == 0  # no rate of random actions is lower
        return Unseen.FAILURE if fails else None

    @property
    def oracle(self) -> Count:
        """Of the oracle's arm."""
        entry = self.entry
        return Count(round(entry.oracle_success_rate * entry.n_episodes_oracle), entry.n_episodes_oracle)

    @property
    def name(self) -> str:
        """The model, and its own policy where it acts by that: the gap is then of model and planner together."""
        return name_with_policy(self.model, self.acts_by)

    @property
    def sentence(self) -> str:
        """The advice with its numbers, and where it was measured."""
        entry, where = self.entry, f"{self.where}, " if self.where else ""
        if self.unseen is not None:
            found = f"{self._blindness}; {self.name} succeeds in {entry.learned_success_rate:.2f}"
        else:
            same = self.advice is Advice.WEAK and self.acts_by is None
            reference = "the same planner on the true dynamics gives" if same else "the true dynamics give"
            rates = f"succeeds in {entry.learned_success_rate:.2f} of episodes where {reference}"
            found = f"{self.name} {rates} {entry.oracle_success_rate:.2f}"
        corrected = f", which {self.correction}" if self.correction else ""
        return f"{self.advice}: {'; '.join([f'{where}{found} ({self._measured}{corrected})', *self.remarks])}."

    @property
    def short_sentence(self) -> str:
        """The same in a list of gaps, which names the model and where the gap was measured; without the remarks."""
        found = success_words([self])
        if self.unseen is not None:
            found = f"{self._blindness}; the model succeeds in {self.entry.learned_success_rate:.2f}"
        return f"{self.advice}: {found} ({self._measured})."

    @property
    def remarks(self) -> list[str]:
        """What the verdict leaves open, as clauses; of one that decides nothing, why, and what would decide."""
        if self.unseen is not None:
            return self._what_would_show_it
        if self.advice is Advice.UNKNOWN:
            return [self._why_unknown, *self._what_would_decide]
        if self.entry.verdict == Label.LEARNED_OUTPERFORMS:
            if self.acts_by is not None:
                return ["its own policy does better than this planner on the true dynamics"]
            if self.advice is Advice.WEAK:
                return ["a stronger planner would show what the model costs"]
            return ["this planner does better on the model than on the true dynamics"]
        remark = REMARKS.get(Label(self.entry.verdict))
        return [remark] if remark else []

    @property
    def open_reason(self) -> str:
        """In a few words what keeps the verdict from claiming anything; nothing where it claims something."""
        if self.advice is not Advice.UNKNOWN:
            return ""
        if self.entry.verdict != Label.INCONCLUSIVE:
            return OPEN_REASONS.get(self.entry.verdict, "the verdict is not known")
        if self.entry.gap_ci_low <= 0 <= self.entry.gap_ci_high:
            return "the interval holds 0"
        is_rejected = self.adjusted is not None and self.adjusted > ALPHA
        return f"the difference {'does not hold after correction' if is_rejected else 'is not shown'}"

    @property
    def episodes_to_decide(self) -> int | None:
        """Fresh pairs, or episodes per arm, that would decide; None: it is decided, or no number is known."""
        return self.verdict.n_that_decides if self.advice is Advice.UNKNOWN else None

    @property
    def unit(self) -> str:
        """What episodes of both arms are counted in."""
        return "pairs" if self.entry.oracle_only is not None else "episodes per arm"

    @property
    def correction(self) -> str:
        """Whether a difference survives the correction for all comparisons; nothing where that is no question."""
        if self.entry.verdict not in DIRECTIONS or self.comparisons == 1:
            return ""
        if self.adjusted is None:
            return f"is not corrected for {self.comparisons} comparisons"
        holds = "does not hold" if self.is_lost_to_correction else "holds"
        return f"{holds} after correction for {self.comparisons} comparisons"

    @property
    def is_lost_to_correction(self) -> bool:
        """Whether a difference is claimed that the correction does not leave, as records of earlier versions do."""
        if self.comparisons == 1 or self.adjusted is None:
            return False
        return self.entry.verdict in DIRECTIONS and self.adjusted > ALPHA

    @property
    def notes(self) -> list[str]:
        """The remarks and the correction, as sentences of their own."""
        notes = [f"{one[:1].upper()}{one[1:]}." for one in self.remarks]
        return [*notes, f"The difference {self.correction}."] if self.correction else notes

    @property
    def _blindness(self) -> str:
        """Why nothing is seen, with the rates of the oracle and of random actions."""
        oracle = f"{self.oracle.rate:.2f} of {count_words(self.oracle.episodes, 'episode')}"
        floor = "" if self.floor is None else f" against {self.floor.rate:.2f} of {self.floor.episodes:,}"
        if self.unseen is Unseen.FAILURE:
            return f"{self.unseen} ({oracle})"
        if self.unseen is Unseen.FLOOR:
            return f"{self.unseen} ({oracle}{floor})"
        return f"{self.unseen} (the oracle {oracle}{floor})"

    @property
    def _what_would_show_it(self) -> list[str]:
        broke = f"{count_words(self.entry.errors, 'episode')} broke"
        broken = [broke] if self.entry.verdict == Label.INCONCLUSIVE_ERRORS else []
        criterion = "an easier" if self.oracle.rate <= 0.5 else "a harder"
        changes = {
            Unseen.CEILING: "a harder criterion",
            Unseen.FLOOR: f"more episodes, a stronger planner or {criterion} criterion",
            Unseen.FAILURE: "a stronger planner or an easier criterion",
        }
        return [*broken, *(f"{change} may show it" for why, change in changes.items() if why is self.unseen)]

    @property
    def _measured(self) -> str:
        """How many episodes, and the gap."""
        gap, low, high = map(_format_signed, (self.entry.gap, self.entry.gap_ci_low, self.entry.gap_ci_high))
        return f"{self._episodes}; gap {gap} [{low}, {high}]"

    @property
    def _episodes(self) -> str:
        entry = self.entry
        if entry.n_episodes_oracle != entry.n_episodes_learned:
            return f"{entry.n_episodes_oracle:,} and {entry.n_episodes_learned:,} episodes"
        if entry.oracle_only is not None:
            return count_words(entry.n_episodes_learned, "pair")
        return f"{count_words(entry.n_episodes_learned, 'episode')} per arm"

    @property
    def _why_unknown(self) -> str:
        """What keeps the verdict from claiming anything."""
        entry, label = self.entry, self.entry.verdict
        if label == Label.INCONCLUSIVE_ERRORS:
            return f"too much depends on {count_words(entry.errors, 'episode')} that broke"
        if label == Label.INCONCLUSIVE_FUTILE:
            return "the run stopped because more pairs would hardly decide"
        if label != Label.INCONCLUSIVE:
            return f"this version does not know the verdict {label}"
        if entry.gap_ci_low <= 0 <= entry.gap_ci_high:
            return "the interval holds 0 and is too wide to call the two equal"
        if self.adjusted is not None and self.adjusted > ALPHA:
            corrected = f"after correction for {count_words(self.comparisons, 'comparison')}"
            return f"the difference does not hold {corrected} (Holm p {self.adjusted:.2g})"
        return self.verdict.reason.partition(";")[0] or "the rule gives no reason"

    @property
    def _what_would_decide(self) -> list[str]:
        """The number of episodes that would decide an open verdict, or that none is known."""
        if self.entry.verdict != Label.INCONCLUSIVE:
            return []
        if self.episodes_to_decide is not None:
            return [f"about {self.episodes_to_decide:,} fresh {self.unit} would decide", IF_ADDED]
        if self.verdict.rule == ANYTIME:
            return ["more pairs may decide"]
        return [f"no number of {self.unit} is known to decide"]


def name_with_policy(model: str, acts_by: str | None) -> str:
    """The model, and that it acts by a policy of its own where it does."""
    if acts_by is None:
        return model
    own = f"policy={acts_by}"  # a name that holds it says it already
    bare = model.replace(f"[{own}]", "").replace(f",{own}", "").replace(f"{own},", "")
    return f"{bare} by its own policy ({acts_by})"


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


def _bounds(count: Count) -> tuple[float, float]:
    """Exact one-sided 95% bounds of a rate."""
    low, high = clopper_pearson(count.successes, count.episodes, confidence=0.90)
    return float(low), float(high)


def _range(values: Sequence[float]) -> str:
    low, high = (f"{end(values):.2f}" for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _format_signed(value: float) -> str:
    """Two digits, or the first where a number that is not 0 would read as 0."""
    return f"{value:+.1g}" if 1e-9 < abs(value) < 0.005 else f"{value:+.2f}"
