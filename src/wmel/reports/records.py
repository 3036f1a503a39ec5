"""Records: every kind and its file, made from finished runs, written atomically, checked when read or written."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from wmel.analysis.horizon import HorizonSweep
from wmel.analysis.scorecard import Scorecard, evaluate_metric, stored_scorecard
from wmel.catalog import METRICS
from wmel.contract.criterion import Stop
from wmel.errors import BadInput, BadRecord, shorten
from wmel.files import read_file, write_atomically
from wmel.reports.analysis_record_types import (
    CheckRecord,
    ComparisonRecord,
    EsnrRecord,
    OverTrainingRecord,
    PowerRecord,
    StudyRecord,
    ToyRecord,
)
from wmel.reports.record_entries import (
    coverage_entry,
    coverage_from,
    episode_entries,
    episode_table,
    estimate_entry,
    estimate_from,
    follows,
    scorecard_entry,
)
from wmel.reports.record_types import (
    READABLE,
    CoverageEntry,
    CPGRecord,
    RunMetadata,
    RunRecord,
    ScorecardEntry,
    SweepMetadata,
    SweepPointEntry,
    SweepRecord,
    stamp,
)
from wmel.schema import Run, SweepPoint

Episodes = RunRecord | SweepRecord | CPGRecord | StudyRecord | ComparisonRecord
AnyRecord = Episodes | EsnrRecord | OverTrainingRecord | ToyRecord | PowerRecord | CheckRecord
RECORD: TypeAdapter[AnyRecord] = TypeAdapter(Annotated[AnyRecord, Field(discriminator="kind")])
FILES = {  # kind -> file; of a folder with several the first is loaded
    "run": "run.json",
    "sweep": "sweep.json",
    "esnr": "esnr.json",
    "cpg": "cpg.json",
    "over-training": "over-training.json",
    "toy": "toy.json",
    "study": "results.json",
    "comparison": "compare.json",
    "power": "power.json",
    "check": "check.json",
}
_ABSENT = object()
MOST_RECORD_BYTES = 1 << 31
SETTINGS = ("model", "weights", "planner", "objective", "evaluations", "execute")
NULLABLE = (*SETTINGS, "layout", "perturbation", "init", "success")


def run_record(
    run: Run, *, metrics: Sequence[str] = (), rewards: bool = False, card: ScorecardEntry | None = None
) -> RunRecord:
    """The record of a run, with metrics requested beside the usual ones.

    `rewards` keeps those of every step; they are most of a record of whole episodes. `card` is its scorecard, where
    that is known.
    """
    return RunRecord(
        **stamp(),
        kind="run",
        metadata=run_metadata(run, metrics),
        scorecard=card or scorecard_entry(stored_scorecard(run.policy_name, run.table, metrics)),
        coverage=coverage_entry(run.coverage),
        results=episode_entries(run.table, rewards=rewards),
    )


def run_metadata(run: Run, metrics: Sequence[str] = ()) -> RunMetadata:
    """What a reader needs to make a run again."""
    return RunMetadata(
        **_metadata(run, metrics),
        plan_horizon=run.policy_settings.get("plan_horizon"),
        episodes=len(run.table),
        horizon=run.horizon,
    )


def sweep_record(
    points: Sequence[SweepPoint],
    *,
    epsilon: float,
    metrics: Sequence[str] = (),
    environment: str | None = None,
    rewards: bool = False,
) -> SweepRecord:
    """The record of a sweep; `environment` is the name of one whose points have names of their own."""
    run = points[0].run
    shared = _shared_metadata([point.run for point in points], metrics)
    if environment is not None and len({point.run.environment_name for point in points}) > 1:
        shared["env"] = environment
    metadata = SweepMetadata(
        **shared,
        plan_horizon=None,
        episodes_per_point=len(run.table),
        episode_horizon=max(point.run.horizon for point in points),
        epsilon=epsilon,
    )
    cards = tuple(stored_scorecard(point.run.policy_name, point.run.table, metrics) for point in points)
    outcomes = tuple(point.run.table["success"] for point in points)
    horizons = tuple(point.plan_horizon or 0 for point in points)
    others = tuple(name for name in points[0].swept if name != "plan_horizon")
    sweep = HorizonSweep(run.policy_name, horizons, cards, epsilon, outcomes, others)
    return SweepRecord(
        **stamp(),
        kind="sweep",
        metadata=metadata,
        policy_name=run.policy_name,
        points=[
            _point(point, card, coverage_entry(point.run.coverage), episode_entries(point.run.table, rewards=rewards))
            for point, card in zip(points, cards, strict=True)
        ],
        effective_horizon=estimate_entry(sweep.effective_horizon),
    )


def write_record(path: Path | str, record: AnyRecord) -> None:
    """Write a record as JSON, after checking it as a reader would."""
    text, path = record.model_dump_json(by_alias=True, indent=1) + "\n", Path(path)
    _parse_record(text.encode(), path)
    write_atomically(path, text)


def read_record(path: Path | str) -> AnyRecord:
    """Read a record; anything else than a whole record of this schema version is refused with the reason."""
    path = Path(path)
    try:
        return _parse_record(read_file(path, MOST_RECORD_BYTES), path)
    except BadRecord:
        raise
    except BadInput as error:
        raise BadRecord(str(error)) from error


def run_scorecard(record: RunRecord) -> Scorecard:
    """The scorecard of a record, computed from its rows."""
    return _recompute_card(record.scorecard, record.results)


def recorded_run(record: RunRecord) -> Run:
    """The run a record was made from."""
    return _recorded_run(record.metadata, record)


def _recorded_run(metadata: RunMetadata, stored: RunRecord | SweepPointEntry) -> Run:
    named = {name: getattr(metadata, name) for name in ("plan_horizon", *SETTINGS)}
    return Run(
        environment_name=metadata.env,
        policy_name=metadata.policy,
        policy_reads=metadata.policy_reads,
        policy_settings={name: value for name, value in named.items() if value is not None or name == "execute"},
        seeds=tuple(metadata.seeds),
        horizon=metadata.horizon,
        perturb_prob=metadata.perturb_prob,
        perturbation=metadata.perturbation,
        layout=metadata.layout,
        init=metadata.init,
        success=metadata.success,
        stop=Stop(metadata.stop),
        latency_threads=metadata.latency_threads,
        versions=metadata.versions,
        parts=metadata.parts,
        table=episode_table(stored.results),
        coverage=coverage_from(stored.coverage),
    )


def recorded_points(record: SweepRecord) -> list[SweepPoint]:
    """The points of a sweep, each with the run it was made from."""
    fields = {name: value for name, value in dict(record.metadata).items() if name in RunMetadata.model_fields}
    length = {"horizon": record.metadata.episode_horizon, "episodes": record.metadata.episodes_per_point}
    return [
        SweepPoint(
            dict(point.swept) or {"plan_horizon": point.plan_horizon},
            _recorded_run(RunMetadata(**{**fields, **length, "plan_horizon": point.plan_horizon}), point),
        )
        for point in record.points
    ]


def recorded_sweep(record: SweepRecord) -> HorizonSweep:
    """The sweep of a record, computed from its rows."""
    return HorizonSweep(
        record.policy_name,
        tuple(point.plan_horizon or 0 for point in record.points),
        tuple(_recompute_card(point.scorecard, point.results) for point in record.points),
        record.metadata.epsilon,
        tuple(episode_table(point.results)["success"] for point in record.points),
        tuple(name for name in record.points[0].swept if name != "plan_horizon"),
    )


def _recompute_card(card: ScorecardEntry, results: list[Any]) -> Scorecard:
    """The metrics a record holds, computed from its rows; those of a plugin that is not here are as stored."""
    table = episode_table(results)
    estimates = {
        name: evaluate_metric(name, table) if name.partition("@")[0] in _known_metrics() else estimate_from(entry)
        for name, entry in card.estimates.items()
    }
    return Scorecard(card.policy_name, len(table), estimates)


def _known_metrics() -> set[str]:
    return {name.partition("@")[0] for name in METRICS.parts}


def _parse_record(text: bytes, path: Path) -> AnyRecord:
    try:
        content = from_json(text)
    except ValueError as error:
        raise BadRecord(f"{path} is not JSON: {error}") from error
    found = content.get("schema_version") if isinstance(content, dict) else None
    if found not in READABLE:
        raise BadRecord(f"{path} has schema version {shorten(found)}, and this wmel reads {' and '.join(READABLE)}")
    try:
        record = RECORD.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(key) for key in first["loc"])
        raise BadRecord(f"{path} is not a wmel record: {place}: {first['msg']}") from error
    if isinstance(record, RunRecord | SweepRecord):
        _check_follows(record, path)
    return record


def _with_own_intervals(derived: SweepPointEntry, stored: SweepPointEntry) -> SweepPointEntry:
    """The intervals beside a scorecard are those of the stored scorecard, whose methods may be earlier ones."""
    own = stored.scorecard.estimates
    intervals = {"success_ci": own["success_rate"], "latency_ci_ms": own["average_planning_latency_ms"]}
    return derived.model_copy(update={name: (one.low, one.high) for name, one in intervals.items()})


def _check_follows(record: RunRecord | SweepRecord, path: Path) -> None:
    """What its rows do not give was edited by hand, or written by something else."""
    if isinstance(record, RunRecord):
        stored, derived = [record.scorecard], [scorecard_entry(run_scorecard(record))]
    else:
        sweep = recorded_sweep(record)
        stored = [record.effective_horizon, *record.points]
        derived = [
            estimate_entry(sweep.effective_horizon),
            *(
                _with_own_intervals(_point(point, card, point.coverage, point.results), point)
                for point, card in zip(record.points, sweep.scorecards, strict=True)
            ),
        ]
    for entry, expected in zip(stored, derived, strict=True):
        if not follows(entry.model_dump(), expected.model_dump()):
            raise BadRecord(f"{path} is not a wmel record: its summary does not follow from its rows")


def _point(
    point: SweepPoint | SweepPointEntry, card: Scorecard, coverage: CoverageEntry | None, results: list[Any]
) -> SweepPointEntry:
    success, latency = card["success_rate"], card["average_planning_latency_ms"]
    return SweepPointEntry(
        plan_horizon=point.plan_horizon,
        swept=dict(point.swept),
        scorecard=scorecard_entry(card),
        success_ci=(success.low, success.high),
        latency_ci_ms=(latency.low, latency.high),
        coverage=coverage,
        results=results,
    )


def _metadata(run: Run, metrics: Sequence[str]) -> dict[str, Any]:
    return {
        "env": run.environment_name,
        "layout": run.layout,
        "policy": run.policy_name,
        "policy_reads": run.policy_reads,
        **{name: run.policy_settings.get(name) for name in SETTINGS},
        "seed": run.seeds[0],
        "seeds": list(run.seeds),
        "perturb_prob": run.perturb_prob,
        "perturbation": run.perturbation,
        "metrics": list(metrics),
        "init": run.init,
        "success": run.success,
        "stop": run.stop.value,
        "latency_threads": run.latency_threads,
        "versions": dict(run.versions),
        "parts": dict(run.parts),
    }


def _shared_metadata(runs: Sequence[Run], metrics: Sequence[str]) -> dict[str, Any]:
    """What the points of a sweep share: a field, or a setting of a part, that moves with what is swept is left out."""
    first, *others = [_metadata(run, metrics) for run in runs]

    def common_value(name: str, value: Any) -> Any:
        values = [other[name] for other in others]
        if all(one == value for one in values):
            return value
        if isinstance(value, dict) and all(isinstance(one, dict) for one in values):
            same = {key: one for key, one in value.items() if all(other.get(key, _ABSENT) == one for other in values)}
            if name == "parts":
                same |= {kind: one for kind, one in _shared_parts([value, *values]).items() if kind not in same}
            return same if "name" in same or name not in NULLABLE else None
        return None if name in NULLABLE else value

    return {name: common_value(name, value) for name, value in first.items()}


def _shared_parts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """By kind, the settings in which all parts of that kind agree."""
    first, *others = parts
    return {
        kind: {key: one for key, one in part.items() if all(other[kind].get(key, _ABSENT) == one for other in others)}
        for kind, part in first.items()
        if isinstance(part, dict) and all(isinstance(other.get(kind), dict) for other in others)
    }


def schema_text() -> str:
    """The schema as a file holds it."""
    return json.dumps(RECORD.json_schema(by_alias=True), indent=1) + "\n"
