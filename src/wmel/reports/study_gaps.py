"""The gaps of a study, one after the other, each with the verdict that decides it."""

from collections import Counter
from dataclasses import dataclass

from wmel.reports.json_envelope import VerdictEntry
from wmel.reports.study_envelope import ComparedEntry, ComparisonEntry, StudyRecord

PAPER = "paper"


@dataclass(frozen=True)
class StudyGap:
    """One model in one setting."""

    comparison: ComparisonEntry
    model: str
    entry: ComparedEntry

    @property
    def acts_by(self) -> str | None:
        """The policy of its own that the model acts by; None: it is planned with as the oracle is."""
        return self.comparison.arm_labels.get(self.model, {}).get("policy")

    @property
    def title(self) -> str:
        """The model, and that it acts by itself where it does: the gap is then of model and planner together."""
        return self.model if self.acts_by is None else f"{self.model} (model and planner: {self.acts_by})"

    @property
    def verdict(self) -> VerdictEntry:
        """The one behind the label of the entry: the strict one, or that of a run which may stop early."""
        shown = [one for one in self.entry.verdicts.values() if one.label == self.entry.verdict]
        return next((one for one in shown if one.rule != PAPER), shown[0])

    @property
    def is_open(self) -> bool:
        """Whether the verdict claims nothing."""
        return self.entry.verdict.startswith("INCONCLUSIVE")


def study_gaps(record: StudyRecord) -> list[StudyGap]:
    """In the order of the record."""
    return [gap for comparison in record.comparisons for gap in gaps_of(comparison)]


def gaps_of(comparison: ComparisonEntry) -> list[StudyGap]:
    """Those of one setting."""
    return [StudyGap(comparison, model, entry) for model, entry in comparison.gaps.items()]


def equivalence_margin(record: StudyRecord) -> float | None:
    """Gaps smaller than this count as none; None where the verdicts do not share one."""
    margins = {gap.verdict.margins.get("delta") for gap in study_gaps(record)}
    return margins.pop() if len(margins) == 1 else None


def tally(record: StudyRecord) -> str:
    """How often each verdict was reached, the most frequent first."""
    counted = Counter(gap.entry.verdict for gap in study_gaps(record)).most_common()
    total = sum(times for _, times in counted)
    if not total:
        return "No gap was measured."
    named = ", ".join(f"{times} {label}" for label, times in counted)
    return f"{total} {'gap' if total == 1 else 'gaps'}: {named}."
