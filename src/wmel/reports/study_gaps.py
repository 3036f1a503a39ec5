"""The gaps of a study, one after the other, each with the verdict that decides it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wmel.contract.labels import label_text
from wmel.reports.answers import JudgedGap, place_of
from wmel.reports.json_envelope import VerdictEntry
from wmel.reports.study_envelope import ComparedEntry, ComparisonEntry, StudyRecord
from wmel.reports.words import part_name, setting_facts

BARE = ("environment", "planner")  # facts that need no key


@dataclass(frozen=True)
class StudyGap:
    """One model in one setting; `differs` is what tells the setting from the others of the study."""

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
        """The model, and that it acts by itself where it does: the gap is then of model and planner together."""
        return self.model if self.acts_by is None else f"{self.model} (model and planner: {self.acts_by})"

    @property
    def place(self) -> str:
        """What tells the setting from the others, or the environment where there is one setting."""
        return self.differs or self.comparison.setting.env

    @property
    def name(self) -> str:
        """The model, and what tells its setting from the others."""
        return f"{self.model} {self.differs}" if self.differs else self.model

    @property
    def judged(self) -> JudgedGap:
        """The gap with all that its sentence needs."""
        where = place_of(self.comparison.setting, self.acts_by)
        named = f"{where} ({self.differs})" if self.differs else where
        return JudgedGap(self.model, named, self.entry, self.entry.mid_p_holm, self.comparisons, self.acts_by)

    @property
    def verdict(self) -> VerdictEntry:
        """The one behind the label of the entry."""
        return self.judged.verdict

    @property
    def is_open(self) -> bool:
        """Whether the verdict claims nothing."""
        return self.entry.verdict.startswith("INCONCLUSIVE")


def study_gaps(record: StudyRecord) -> list[StudyGap]:
    """In the order of the record."""
    labels = distinct_labels(record.comparisons)
    entries = [entry for one in record.comparisons for entry in one.gaps.values()]
    count = sum(entry.mid_p_holm is not None for entry in entries) or len(entries)
    return [
        StudyGap(comparison, model, entry, label, count)
        for comparison, label in zip(record.comparisons, labels, strict=True)
        for model, entry in comparison.gaps.items()
    ]


def places_without_gaps(record: StudyRecord) -> list[tuple[str, ComparisonEntry]]:
    """The settings that have no gap, each with what tells it from the other settings of the study."""
    settings = [*record.comparisons, *record.uncompared]
    labels = distinct_labels(settings)
    named = [(label or one.setting.env, one) for label, one in zip(labels, settings, strict=True)]
    return [(place, one) for place, one in named if not one.gaps]


def distinct_labels(comparisons: Sequence[ComparisonEntry]) -> list[str]:
    """What tells settings apart, with keys: `plan_horizon=10 candidates=16`; nothing where there is one.

    What was swept is always named; another fact only if those named before it leave two settings alike.
    """
    facts = [_facts(one) for one in comparisons]
    swept = {name for one in comparisons for name in one.labels}
    named: list[str] = []
    for name in dict.fromkeys(name for one in facts for name in one):
        if _distinguished(facts, [*named, name]) > _distinguished(facts, [] if name in swept else named):
            named.append(name)
    return [" ".join(_worded(name, one[name]) for name in named if one.get(name)) for one in facts]


def shared_facts(settings: Sequence[ComparisonEntry]) -> dict[str, str]:
    """The facts that all settings of a study share."""
    first, *others = map(facts_of, settings)
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in others)}


def facts_of(comparison: ComparisonEntry) -> dict[str, str]:
    """The settings that all arms share, without those that the study sweeps."""
    setting = comparison.setting
    episodes = f"{setting.episodes} of at most {setting.horizon} steps"
    return setting_facts(setting, episodes, ("model", *comparison.labels))


def _distinguished(facts: Sequence[Mapping[str, str]], names: Sequence[str]) -> int:
    """How many settings these facts tell apart."""
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
    return {} if isinstance(part, str) else {name: value for name, value in part.items() if name != "name"}


def _worded(name: str, value: str) -> str:
    return value if name in BARE else f"{name}={value}"
