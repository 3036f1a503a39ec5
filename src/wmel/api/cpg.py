"""wmel.cpg: what a planner loses when a model replaces the true dynamics."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from wmel.analysis.pooling import Arms, study_comparisons
from wmel.analysis.scorecard import Coverage, joined_coverage
from wmel.api import options as o
from wmel.api.episodes import (
    build_executor,
    check_outputs,
    common_failure,
    folder_of,
    metric_names,
    run_and_load,
    store_for,
    task_data,
    verb,
    when_changed,
    whole_results,
)
from wmel.api.given import Given
from wmel.contract.cell import FLOOR, ORACLE
from wmel.errors import BadInput, needing
from wmel.experiments.load import LoadedStudy
from wmel.experiments.run import RunOptions
from wmel.experiments.store import Store
from wmel.reports.cpg_record import FILE, cpg_record, recorded_arms, write_comparison
from wmel.reports.json_envelope import CPGEntry, CPGRecord
from wmel.reports.terminal import gap_lines
from wmel.reports.words import answer_of_gap
from wmel.results import Result

MOST_PAIRS, ROUND = 150, 10  # of an anytime run, and between two looks


@verb
def cpg(
    environment: o.Environment,
    models: o.Models,
    *,
    planner: o.Planner = "random-shooting",
    objective: o.Objective = None,
    execute: o.Execute = None,
    episodes: o.Episodes = None,
    seeds: o.Seeds = 0,
    horizon: o.Horizon = None,
    criterion: o.Criterion = None,
    stop: o.Stop = None,
    perturbation: o.Perturbation = None,
    perturb_prob: o.PerturbProb = None,
    perturb_step: o.PerturbStep = None,
    anytime: o.Anytime = False,
    max_episodes: Annotated[
        int | None, o.Option(f"The most pairs of an --anytime run.  [default: {MOST_PAIRS}]", "whole")
    ] = None,
    metrics: o.Metrics = (),
    settings: o.Settings = None,
    preset: o.Preset = None,
    paper: o.Paper = False,
    device: o.Device = None,
    rollout: o.Rollout = None,
    executor: o.Executor = "serial",
    workers: o.Workers = None,
    output: o.Output = None,
    rerun: o.Rerun = None,
    keep: o.Keep = False,
    quiet: o.Quiet = False,
) -> Result:
    """Run a planner on the true dynamics and on models, on the same seeds, and return the gap and its verdict."""
    given = Given.of(settings, preset, model={"rollout": rollout, "device": device}, planner={"execute": execute})
    folder = None if output is None else Path(output)
    check_outputs(None if folder is None else folder / FILE)
    if anytime and episodes is not None:
        raise BadInput("an --anytime run finds its own number of episodes: give --max-episodes instead of --episodes")
    if not anytime and max_episodes is not None:
        raise BadInput("--max-episodes is the most an --anytime run may take: add --anytime, or give --episodes")
    entries = given.models(models)
    if not entries:
        raise BadInput("a gap needs at least one model")
    task = task_data(
        given,
        environment,
        episodes=(max_episodes or MOST_PAIRS) if anytime else episodes,
        seeds=seeds,
        horizon=horizon,
        criterion=criterion,
        stop=stop,
        perturbation=perturbation,
        perturb_prob=perturb_prob,
        perturb_step=perturb_step,
    )
    if anytime and len(task["seeds"]) > 1:
        raise BadInput(f"a run that may stop early takes its episodes from one seed, got {task['seeds']!r}")
    data = {
        "name": "cpg",
        "block": ROUND if anytime else 50 if folder is not None else 512,
        "metrics": metric_names(given, metrics, None),
        **task,
        "planners": [given.part("planner", planner)],
        "objectives": [] if objective is None else [given.part("objective", objective)],
        "models": entries,
    }
    verb = {
        "name": "cpg",
        "paper": paper or bool(given.preset.get("verdict")),
        "models": {entry["name"]: entry.get("checkpoint") or entry.get("object") for entry in entries},
        "coverage": {name: asdict(one) for name, one in data_coverage(entries).items()},
    }
    study = replace(given.study(data), verb=verb)
    name = data["environments"][0]["name"]
    how = RunOptions(
        executor=build_executor(given, executor, workers),
        device=given.settings["model"].get("device") or "cpu",
        anytime=anytime,
        when_changed=when_changed(rerun, keep) or "rerun",
    )
    title = f"{data['planners'][0]['name']} in {name}"
    with store_for(folder) as store:
        loaded, summary = run_and_load(study, store, how, title=title, quiet=quiet)
        whole_results(loaded, summary)
        result = stored_gap(loaded, store, objects=given.objects)
        if folder is not None:
            write_comparison(folder, result.arms, result.record)
            result.files = {"records": folder}
    result.failures = [*result.failures, *summary.failures]
    result.exit_code = 1 if result.failures else 0
    return result


def stored_gap(loaded: LoadedStudy, store: Store, objects: Mapping[str, Any] | None = None) -> Result:
    """The result of a comparison from its stored rows; `objects` are its live models."""
    verb = loaded.verb
    arms = arms_of(loaded, {name: Coverage(**one) for name, one in verb["coverage"].items()})
    sources = dict(verb["models"])
    record = cache(lambda: cpg_record(arms, loaded.metrics, models=sources, paper_first=verb["paper"]))
    models = {name: (objects or {}).get(name, source) for name, source in sources.items()}
    return _result(arms, record, models, store)


def recorded_result(record: CPGRecord, folder: Path) -> Result:
    """The result of a comparison from its record and those of its arms; without these there are no rows to check."""
    has_arms = any((folder / file).exists() for file in record.arms.values())
    arms = recorded_arms(folder / FILE, record) if has_arms else None
    return _result(arms, lambda: record, dict(record.models), None)


def _result(arms: Arms | None, record: Any, models: dict[str, Any], store: Store | None) -> Result:
    runs = [] if arms is None else [arms.oracle, *arms.learned.values()]
    reasons = [reason for reason in (common_failure(run.table) for run in runs) if reason]
    own: dict[str, Any] = {"models": models}
    if arms is not None:
        own["arms"] = arms
        own["gaps"] = {model: arms.gap(model) for model in arms.learned}
        own["verdicts"] = {model: arms.verdict(model) for model in arms.learned}
    return Result(
        lambda: answer_of_gap(record()),
        lambda: [_row(model, entry) for model, entry in record().cpgs.items()],
        record,
        lambda: gap_lines(record(), paper_first=record().paper_first),
        1 if reasons else 0,
        "cpg",
        folder_of(store),
        store,
        failures=reasons,
        draw=lambda: _figure(record()),
        write=None if arms is None else lambda folder: write_comparison(folder, arms, record()),
        more=own,
    )


def _row(model: str, entry: CPGEntry) -> dict[str, Any]:
    """The gap of one model, as a line of the summary."""
    return {
        "model": model,
        "oracle_success": entry.oracle_success_rate,
        "model_success": entry.learned_success_rate,
        "gap": entry.gap,
        "low": entry.gap_ci_low,
        "high": entry.gap_ci_high,
        "verdict": entry.verdict,
        "pairs": entry.n_episodes_learned,
    }


def arms_of(loaded: LoadedStudy, data_coverage: Mapping[str, Coverage]) -> Arms:
    """The arms of a study of one setting, with where each arm and each model's data went."""
    compared = study_comparisons(loaded.results, anytime=loaded.anytime)
    if not compared.comparisons or compared.refused:
        reasons = [*compared.refused, *(one.failure for one in loaded.results if one.failure)]
        raise BadInput(reasons[0] if reasons else "no arm was run")
    visited: dict[str, list[Coverage]] = {}
    for one in loaded.results:
        if one.cell.key in loaded.coverage:
            visited.setdefault(one.cell.arm.name, []).append(loaded.coverage[one.cell.key])
    arms = compared.comparisons[0].arms
    names = [ORACLE, *arms.learned, FLOOR]
    seen = {name: joined_coverage(visited[name]) for name in names if name in visited}
    return replace(arms, coverage={**data_coverage, **seen})


def data_coverage(entries: list[dict[str, Any]]) -> dict[str, Coverage]:
    """Where the training data of each checkpoint went, by its card."""
    found = {}
    for entry in entries:
        if "checkpoint" not in entry:
            continue
        with needing("torch", "checkpoints need torch: install wmel[learned]"):
            from wmel.training.checkpoints import read_card

        card = read_card(Path(entry["checkpoint"]))
        try:
            if card.get("coverage"):
                found[f"{entry['name']}'s data"] = Coverage(**card["coverage"])
        except TypeError as error:
            raise BadInput(f"the coverage on a card cannot be read: {error}") from error
    return found


def _figure(record: Any) -> Any:
    from wmel.reports.document import plotly_needed

    with plotly_needed():
        from wmel.reports.figures import arms_figure
    return arms_figure(record)
