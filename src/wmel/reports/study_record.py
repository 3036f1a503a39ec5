"""The records of gaps: of one comparison of models, and of a study, computed from the rows of its cells."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from wmel.analysis.pooling import Arms, StudyComparison, StudyComparisons, StudySetting, UncomparedArms
from wmel.analysis.scorecard import stored_scorecard
from wmel.analysis.verdict import TAU, Verdict, cpg_verdict
from wmel.contract.cell import CellResult
from wmel.errors import BadInput, BadRecord
from wmel.reports.analysis_record_types import (
    ClaimsEntry,
    ComparedEntry,
    ComparisonEntry,
    MissingEntry,
    ReadingEntry,
    StudyRecord,
)
from wmel.reports.record_entries import coverage_entries, coverage_from, estimate_entry, follows, scorecard_entry
from wmel.reports.record_types import (
    CPGEntry,
    CPGRecord,
    Envelope,
    IntervalEntry,
    RunRecord,
    ScorecardEntry,
    VerdictEntry,
    stamp,
)
from wmel.reports.records import FILES, read_record, recorded_run, run_metadata, run_record, write_record
from wmel.schema import Run
from wmel.stats.estimate import Estimate
from wmel.stats.paired import holm

FILE = FILES["cpg"]
EARLY = "the run could stop early, which this does not allow for"
ADDED = "pairs were added after a verdict, which this does not allow for"


def cpg_record(
    arms: Arms,
    metrics: Sequence[str] = (),
    *,
    models: Mapping[str, str | None] | None = None,
    paper_first: bool = False,
    tau: float = TAU,
) -> CPGRecord:
    """The record of a comparison; its rows stay in the records of its arms."""
    runs = arms.by_name
    return CPGRecord(
        **stamp(),
        kind="cpg",
        environment=arms.oracle.environment_name,
        metric="counterfactual_planning_gap",
        setting=run_metadata(arms.oracle, metrics),
        arms={name: f"{name}.json" for name in runs},
        scorecards={
            name: scorecard_entry(stored_scorecard(run.policy_name, run.table, metrics)) for name, run in runs.items()
        },
        coverage=dict(coverage_entries(arms.coverage)),
        max_episodes=arms.cap,
        cpgs={name: cpg_entry(arms, name, tau) for name in arms.learned},
        models=dict(models or {}),
        looked=dict(arms.looked),
        trained=trained_arms(arms.learned),
        paper_first=paper_first,
        tau=tau,
    )


def trained_arms(runs: Mapping[str, Run]) -> list[str]:
    """The arms whose model has learned weights."""
    return [name for name, run in runs.items() if run.policy_settings.get("weights") is not None]


def cpg_entry(arms: Arms, model: str, tau: float = TAU) -> CPGEntry:
    """The gap of one model."""
    result, verdict = arms.gap(model), arms.verdict(model)
    early, paper, pairs = arms.is_anytime(model), result.agresti_caffo, result.pairs
    verdicts = {verdict.rule: verdict}
    if not early:
        verdicts["paper"] = cpg_verdict(result, "paper", tau=tau)
    gap = arms.gap_estimate(model)
    mid_p, loss, back = result.mid_p, result.relative_loss, arms.return_gap(model)
    correction = arms.correction(model)
    if early:
        mid_p, loss, back = (Estimate.undefined(EARLY if arms.cap is not None else ADDED) for _ in range(3))
    assert gap.low is not None and gap.high is not None and paper.low is not None and paper.high is not None
    return CPGEntry(
        oracle_success_rate=result.oracle_success_rate,
        learned_success_rate=result.learned_success_rate,
        gap=result.raw_gap,
        gap_ci_low=gap.low,
        gap_ci_high=gap.high,
        gap_method=gap.method,
        n_episodes_oracle=result.n_episodes_oracle,
        n_episodes_learned=result.n_episodes_learned,
        verdict=verdict.label,
        verdict_paper=None if early else verdicts["paper"].label,
        verdicts={rule: _verdict_entry(verdict) for rule, verdict in verdicts.items()},
        agresti_caffo=None if early else IntervalEntry(low=paper.low, high=paper.high),
        mid_p=estimate_entry(mid_p),
        oracle_only=None if pairs is None else int(pairs.oracle_only),
        learned_only=None if pairs is None else int(pairs.learned_only),
        relative_loss=estimate_entry(loss),
        failure_split=result.failure_split,
        return_gap=estimate_entry(back),
        errors=result.errors,
        p_value=estimate_entry(arms.p_value(model)),
        p_value_holm=None if correction is None else correction.p_value,
        comparisons=None if correction is None else correction.comparisons,
    )


def write_comparison(folder: Path, arms: Arms, record: CPGRecord, *, rewards: bool = False) -> None:
    """The records of all arms, with the rewards of every step where they are wanted; then the one that names them.

    Records of arms that only the earlier record of the folder names are removed.
    """
    before = _arm_files(folder / FILE)
    metrics, cards = record.setting.metrics, record.scorecards
    for name, run in arms.by_name.items():
        arm_record = run_record(run, metrics=metrics, rewards=rewards, card=cards[name])
        write_record(folder / f"{name}.json", arm_record)
    write_record(folder / FILE, record)
    for file in before - set(record.arms.values()):
        (folder / file).unlink(missing_ok=True)


def _arm_files(path: Path) -> set[str]:
    """The files of the arms that the record of a comparison names; none if there is no such record."""
    try:
        record = read_record(path)
    except BadRecord:
        return set()
    return (
        {file for file in record.arms.values() if Path(file).name == file} if isinstance(record, CPGRecord) else set()
    )


def _verdict_entry(verdict: Verdict) -> VerdictEntry:
    return VerdictEntry(
        label=verdict.label,
        rule=verdict.rule,
        margins=verdict.margins,
        interval=estimate_entry(verdict.interval),
        reason=verdict.reason,
        n_that_decides=verdict.n_that_decides,
    )


def recorded_arms(path: Path, record: CPGRecord) -> Arms:
    """The arms of a comparison, from their records beside it; one that does not follow from them is refused."""
    runs: dict[str, Run] = {}
    cards: dict[str, ScorecardEntry] = {}
    for name, file in record.arms.items():
        if Path(file).name != file:
            raise BadRecord(f"{path} is not a wmel record: arms.{name}: {file!r} does not lie beside it")
        arm = read_record(path.parent / file)
        if not isinstance(arm, RunRecord):
            raise BadRecord(f"{path.parent / file} is no record of a run, as an arm of {path} must be")
        cards[name] = arm.scorecard
        runs[name] = replace(recorded_run(arm), coverage=coverage_from(record.coverage.get(name)))
    if not {"oracle", "random", *record.cpgs} <= set(runs):
        raise BadRecord(f"{path} is not a wmel record: it names no file for some of its arms")
    models = {name: runs[name] for name in record.cpgs}
    others = {name: coverage_from(one) for name, one in record.coverage.items() if name not in runs}
    covered = {name: one for name, one in others.items() if one is not None}
    arms = Arms(
        runs["oracle"], models, runs["random"], record.max_episodes, data_coverage=covered, looked=record.looked
    )
    recomputed = cpg_record(arms, record.setting.metrics, tau=record.tau).model_copy(update={"scorecards": cards})
    for field in ("environment", "setting", "scorecards", "cpgs"):
        stored, derived = (one.model_dump()[field] for one in (record, recomputed))
        if not follows(stored, derived):
            raise BadRecord(f"{path} does not follow from the records of its arms: {field} differs")
    return arms


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
    tau: float = TAU,
    verb: Literal["study", "diagnose"] = "study",
) -> StudyRecord:
    """The record of a study; its rows stay in its store."""
    refused = list(compared.refused)
    entries = [_comparison(one, refused, metrics, tau) for one in compared.comparisons]
    uncompared = [_uncompared_entry(one, metrics) for one in compared.uncompared]
    return StudyRecord(
        **stamp(),
        kind="study",
        verb=verb,
        name=name,
        about=about,
        cells=len(results),
        episodes=sum(len(one.run.table) for one in results if one.run is not None),
        paper_first=paper_first,
        tau=tau,
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
        tau=record.tau,
        rescored=None,
        comparisons=_with_holm([comparison]),
        missing=list(missing),
        refused=[],
    )


def _comparison(compared: StudyComparison, refused: list[str], metrics: Sequence[str], tau: float) -> ComparisonEntry:
    arms, gaps = compared.arms, {}
    for model in arms.learned:
        try:
            claims = compared.claims(model)
            gaps[model] = ComparedEntry(
                **cpg_entry(arms, model, tau).model_dump(),
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


def _uncompared_entry(one: UncomparedArms, metrics: Sequence[str]) -> ComparisonEntry:
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
