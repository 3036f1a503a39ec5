"""The gaps of a study, one after the other, and the answer of the study in one sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wmel.contract.cell import FLOOR, label_text
from wmel.reports.analysis_record_types import ComparedEntry, ComparisonEntry, StudyRecord
from wmel.reports.answers import Count, JudgedGap, name_with_policy, place_of
from wmel.reports.cells import bounds, listed_words, number, part_data, part_name, setting_facts
from wmel.reports.record_types import VerdictEntry
from wmel.reports.small_svg import Intervals
from wmel.reports.study_answers import (
    LISTED,
    answer_of_gaps,
    defined_estimates,
    diagnostic_names,
    paper_sentence,
    reading_answers,
    reading_intervals,
)
from wmel.stats.estimate import Estimate

BARE = ("environment", "planner")  # facts that need no key


@dataclass(frozen=True)
class StudyGap:
    """One model in one setting; `differs` is what distinguishes the setting from the others of the study."""

    comparison: ComparisonEntry
    model: str
    entry: ComparedEntry
    differs: str = ""
    comparisons: int = 1  # gaps of the study that were corrected together

    @property
    def acts_by(self) -> str | None:
        """The policy of its own that the model acts by; None: it is planned with as the oracle is."""
        return self.comparison.arm_labels.get(self.model, {}).get("policy")

    @property
    def title(self) -> str:
        """The model, and its own policy where it acts by that: the gap is then of model and planner together."""
        return name_with_policy(self.model, self.acts_by)

    @property
    def place(self) -> str:
        """What distinguishes the setting from the others, or the environment where there is one setting."""
        return self.differs or self.comparison.setting.env

    @property
    def name(self) -> str:
        """The model, and what distinguishes its setting from the others."""
        return f"{self.title} {self.differs}" if self.differs else self.title

    @property
    def judged(self) -> JudgedGap:
        """The gap with all that its sentence needs."""
        where = place_of(self.comparison.setting, self.acts_by)
        named = f"{where} ({self.differs})" if self.differs else where
        return JudgedGap(
            self.model,
            named,
            self.entry,
            self.adjusted,
            self.comparisons,
            self.acts_by,
            _floor(self.comparison),
        )

    @property
    def adjusted(self) -> float | None:
        """The p-value after Holm's correction; records of earlier versions have a mid-p instead."""
        entry = self.entry
        return entry.mid_p_holm if entry.p_value is None else entry.p_value_holm

    @property
    def verdict(self) -> VerdictEntry:
        """The one behind the label of the entry."""
        return self.judged.verdict

    @property
    def is_open(self) -> bool:
        """Whether the verdict claims nothing."""
        return self.entry.verdict.startswith("INCONCLUSIVE")


def _floor(comparison: ComparisonEntry) -> Count | None:
    """The successes of random actions; None where they were not run or not judged."""
    card = comparison.scorecards.get(FLOOR)
    if card is None or card.success_rate is None:
        return None
    return Count(round(card.success_rate * card.episodes), card.episodes)


def study_gaps(record: StudyRecord) -> list[StudyGap]:
    """In the order of the record."""
    labels = distinct_labels(record.comparisons)
    entries = [entry for one in record.comparisons for entry in one.gaps.values()]
    count = sum((entry.p_value or entry.mid_p).value is not None for entry in entries) or len(entries)
    return [
        StudyGap(comparison, model, entry, label, count)
        for comparison, label in zip(record.comparisons, labels, strict=True)
        for model, entry in comparison.gaps.items()
    ]


def places_without_gaps(record: StudyRecord) -> list[tuple[str, ComparisonEntry]]:
    """The settings that have no gap, each with what distinguishes it from the other settings of the study."""
    settings = [*record.comparisons, *record.uncompared]
    labels = distinct_labels(settings)
    named = [(label or one.setting.env, one) for label, one in zip(labels, settings, strict=True)]
    return [(place, one) for place, one in named if not one.gaps]


def distinct_labels(comparisons: Sequence[ComparisonEntry]) -> list[str]:
    """What distinguishes settings, with keys: `plan_horizon=10 candidates=16`; nothing where there is one.

    What was swept is always named; another fact only if those named before it leave two settings alike. A setting that
    has none of these facts, as one without the perturbation of the others, is named by what it lacks.
    """
    facts = [_facts(one) for one in comparisons]
    swept = {name for one in comparisons for name in one.labels}
    named: list[str] = []
    for name in dict.fromkeys(name for one in facts for name in one):
        if _count_distinct(facts, [*named, name]) > _count_distinct(facts, [] if name in swept else named):
            named.append(name)
    lacking = f"no {named[0]}" if named else ""
    return [" ".join(_label(name, one[name]) for name in named if one.get(name)) or lacking for one in facts]


def shared_facts(settings: Sequence[ComparisonEntry]) -> dict[str, str]:
    """The facts that all settings of a study share."""
    first, *others = map(facts_of, settings)
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in others)}


def facts_of(comparison: ComparisonEntry) -> dict[str, str]:
    """The settings that all arms share, without those that the study sweeps."""
    setting = comparison.setting
    episodes = f"{setting.episodes} of at most {setting.horizon} steps"
    swept_by_arms = {name for labels in comparison.arm_labels.values() for name in labels}
    return setting_facts(setting, episodes, ("model", *comparison.labels, *swept_by_arms))


def _count_distinct(facts: Sequence[Mapping[str, str]], names: Sequence[str]) -> int:
    """How many settings these facts distinguish."""
    return len({tuple(one.get(name) for name in names) for one in facts})


def equivalence_margin(record: StudyRecord) -> float | None:
    """Gaps smaller than this count as none; None where the verdicts do not share one."""
    margins = {gap.verdict.margins.get("delta") for gap in study_gaps(record)}
    return margins.pop() if len(margins) == 1 else None


def _facts(comparison: ComparisonEntry) -> dict[str, str]:
    """All that may differ between settings, as words: what users look for first, what was swept, and the rest."""
    setting = comparison.setting
    parts = {"planner": setting.planner, "objective": setting.objective}
    found: dict[str, Any] = {"environment": setting.env}
    found |= {"planner": None if setting.planner is None else part_name(setting.planner), **comparison.labels}
    found |= {"init": setting.init, "success": setting.success}
    for kind, part in parts.items():
        if part is not None:
            found.setdefault(kind, part_name(part))
            found |= {name: value for name, value in _settings(part).items() if name not in found}
    found |= {"execute": setting.execute, "stop": setting.stop, "horizon": setting.horizon}
    if setting.perturbation is not None:
        found |= {"perturbation": setting.perturbation, "probability": setting.perturb_prob}
    return {name: label_text(value) for name, value in found.items() if value is not None}


def _settings(part: Mapping[str, Any] | str) -> dict[str, Any]:
    return {name: value for name, value in part_data(part).items() if name != "name"}


def _label(name: str, value: str) -> str:
    return value if name in BARE else f"{name}={value}"


MEASURES = {"success_rate": "success", "average_return": "return"}  # the first that some arm has is shown


def study_answer(record: StudyRecord) -> str:
    """May the models be planned with; without a gap, what the arms reached and what was read of the models."""
    gaps = study_gaps(record)
    if gaps:
        answer = answer_of_gaps([gap.judged for gap in gaps], _shared_place(gaps))
        paper = {gap.name: gap.entry.verdict_paper for gap in gaps if gap.entry.verdict_paper is not None}
        return " ".join([answer, paper_sentence(paper)]) if record.paper_first and paper else answer
    found = [_describe_best_arms(one) for one in _arms(record)[:1]] + reading_answers(record)
    return " ".join(found) or answer_of_gaps([])


def _shared_place(gaps: Sequence[StudyGap]) -> str:
    """The environment and the planner where all gaps share them."""
    places = {place_of(gap.comparison.setting, gap.acts_by) for gap in gaps}
    if len(places) == 1:
        return places.pop()
    environments = {gap.comparison.setting.env for gap in gaps}
    return f"on {environments.pop()}" if len(environments) == 1 else ""


def study_intervals(record: StudyRecord) -> Intervals | None:
    """Of the arms where episodes were run, else of the first diagnostic; None where there is nothing to draw."""
    if study_gaps(record):
        return None
    found = [*_arms(record), *(reading_intervals(record, one) for one in diagnostic_names(record))]
    return next((one for one in found if one.rows), None)


def _arms(record: StudyRecord) -> list[Intervals]:
    """The arms of settings without a gap, by each measure that some of them have."""
    settings = places_without_gaps(record)
    found = []
    for metric, word in MEASURES.items():
        cards = {f"{place} {arm}": card for place, one in settings for arm, card in one.scorecards.items()}
        rows = defined_estimates(
            {name: card.estimates[metric] for name, card in cards.items() if metric in card.estimates}
        )
        found += [Intervals(rows, f"{word}, with 95% interval")] if rows else []
    return found


def _describe_best_arms(arms: Intervals) -> str:
    """Which arms reached most; their interval where it is the same."""
    best = max(one.value or 0 for one in arms.rows.values())
    highest = {name: one for name, one in arms.rows.items() if one.value == best}
    measure, count = arms.title.partition(",")[0], len(arms.rows)
    found, *others = {_value_words(one, measure) for one in highest.values()}
    value = found.partition(" ")[0] if others else found
    if count == 1:
        return f"{measure.capitalize()} of {listed_words(list(highest))} is {value}."
    if len(highest) == count:
        return f"{measure.capitalize()} of all {count} arms is {value}."
    return f"Of {count} arms {measure} is highest in {listed_words(list(highest), LISTED)}: {value}."


def _value_words(estimate: Estimate, measure: str) -> str:
    """A value with its interval; a rate has two digits."""
    if measure != MEASURES["success_rate"]:
        return estimate.words
    return f"{number(estimate, 2)} {bounds(estimate, 2)}"
