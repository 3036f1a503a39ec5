"""The record of a study, computed from the rows of its cells."""

from collections.abc import Mapping, Sequence

from wmel.analysis.pooling import StudyComparison, StudyComparisons, StudySetting, UncomparedArms
from wmel.analysis.scorecard import stored_scorecard
from wmel.contract.cell import CellResult
from wmel.errors import BadInput
from wmel.reports.cpg_record import cpg_entry, trained_arms
from wmel.reports.entries import coverage_entries, estimate_entry, scorecard_entry
from wmel.reports.envelopes import (
    ClaimsEntry,
    ComparedEntry,
    ComparisonEntry,
    MissingEntry,
    ReadingEntry,
    StudyRecord,
)
from wmel.reports.json_envelope import CPGRecord, Envelope
from wmel.reports.records import run_metadata, stamp
from wmel.schema import Run
from wmel.stats.paired import holm


def study_record(
    name: str,
    about: str,
    results: Sequence[CellResult],
    compared: StudyComparisons,
    *,
    rescored: str | None = None,
    metrics: Sequence[str] = (),
    readings: Sequence[ReadingEntry] = (),
    unread: Mapping[str, str] | None = None,
    paper_first: bool = False,
) -> StudyRecord:
    """The record of a study; its rows stay in its store."""
    refused = list(compared.refused)
    entries = [_comparison(one, refused, metrics) for one in compared.comparisons]
    uncompared = [_uncompared(one, metrics) for one in compared.uncompared]
    return StudyRecord(
        **stamp(),
        kind="study",
        name=name,
        about=about,
        cells=len(results),
        episodes=sum(len(one.run.table) for one in results if one.run is not None),
        paper_first=paper_first,
        rescored=rescored,
        comparisons=_with_holm(entries),
        uncompared=uncompared,
        readings=list(readings),
        missing=missing_entries(results)
        + [MissingEntry(cell=name, episodes=0, reason=reason) for name, reason in (unread or {}).items()],
        refused=refused,
    )


def missing_entries(results: Sequence[CellResult]) -> list[MissingEntry]:
    """The cells whose episodes are incomplete, and why."""
    return [
        MissingEntry(cell=one.cell.name, episodes=one.missing, reason=one.failure or "not run yet")
        for one in results
        if one.missing
    ]


def gap_title(environment: str) -> str:
    """The title of a comparison of models."""
    return f"Counterfactual planning gap in {environment}"


def study_of_gaps(record: CPGRecord, missing: Sequence[MissingEntry] = ()) -> StudyRecord:
    """A comparison as a study of one setting, so that both have one report; its gaps are corrected together.

    `missing` are the incomplete cells, which the record does not hold.
    """
    pairs = f"Pairs were added until each gap was decided, at most {record.max_episodes}."
    comparison = ComparisonEntry(
        name=record.environment,
        labels={},
        arm_labels={},
        setting=record.setting,
        scorecards=record.scorecards,
        gaps={
            model: ComparedEntry(**dict(entry), mid_p_holm=None, claims=None) for model, entry in record.cpgs.items()
        },
        trained=record.trained,
        coverage={name: one for name, one in record.coverage.items() if one is not None},
    )
    return StudyRecord(
        **{name: getattr(record, name) for name in Envelope.model_fields},
        kind="study",
        name=gap_title(record.environment),
        about="" if record.max_episodes is None else pairs,
        cells=len(record.scorecards),
        episodes=sum(card.episodes for card in record.scorecards.values()),
        paper_first=record.paper_first,
        rescored=None,
        comparisons=_with_holm([comparison]),
        missing=list(missing),
        refused=[],
    )


def _comparison(compared: StudyComparison, refused: list[str], metrics: Sequence[str]) -> ComparisonEntry:
    arms, gaps = compared.arms, {}
    for model in arms.learned:
        try:
            claims = compared.claims(model)
            gaps[model] = ComparedEntry(
                **cpg_entry(arms, model).model_dump(),
                mid_p_holm=None,
                claims=None
                if claims is None
                else ClaimsEntry(
                    these_checkpoints=estimate_entry(claims.these_checkpoints),
                    this_training_recipe=estimate_entry(claims.this_training_recipe),
                ),
            )
        except BadInput as error:
            refused.append(f"{compared.setting.name}: {model}: {error}")
    return _entry(compared.setting, arms.by_name, gaps, metrics)


def _uncompared(one: UncomparedArms, metrics: Sequence[str]) -> ComparisonEntry:
    return _entry(one.setting, one.runs, {}, metrics)


def _entry(
    setting: StudySetting, runs: Mapping[str, Run], gaps: dict[str, ComparedEntry], metrics: Sequence[str]
) -> ComparisonEntry:
    return ComparisonEntry(
        name=setting.name,
        labels=dict(setting.labels),
        arm_labels={arm: dict(labels) for arm, labels in setting.arm_labels.items()},
        bases=dict(setting.bases),
        sweeps=dict(setting.sweeps),
        parts=dict(setting.parts),
        setting=run_metadata(next(iter(runs.values())), metrics),
        scorecards={
            name: scorecard_entry(stored_scorecard(run.policy_name, run.table, metrics)) for name, run in runs.items()
        },
        gaps=gaps,
        trained=trained_arms(runs),
        coverage=coverage_entries({name: run.coverage for name, run in runs.items()}),
    )


def _with_holm(entries: list[ComparisonEntry]) -> list[ComparisonEntry]:
    """Every gap that has a mid-p with the adjusted one beside it, over all gaps of the study."""
    found = [
        (place, model, gap.mid_p.value)
        for place, entry in enumerate(entries)
        for model, gap in entry.gaps.items()
        if gap.mid_p.value is not None
    ]
    adjusted = holm([p_value for *_, p_value in found]) if found else []
    by_gap = {(place, model): float(value) for (place, model, _), value in zip(found, adjusted, strict=True)}
    return [
        entry.model_copy(
            update={
                "gaps": {
                    model: gap.model_copy(update={"mid_p_holm": by_gap.get((place, model))})
                    for model, gap in entry.gaps.items()
                }
            }
        )
        for place, entry in enumerate(entries)
    ]
