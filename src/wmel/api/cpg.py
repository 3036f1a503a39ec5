"""wmel.cpg: what a planner loses when a model replaces the true dynamics."""

from dataclasses import replace
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
    metric_names,
    run_and_load,
    store_for,
    task_data,
    when_changed,
    whole_results,
)
from wmel.api.given import Given
from wmel.contract.cell import FLOOR, ORACLE
from wmel.errors import BadInput
from wmel.experiments.load import LoadedStudy
from wmel.experiments.run import RunOptions
from wmel.reports.cpg_record import FILE, cpg_record, write_comparison
from wmel.reports.terminal import gap_lines
from wmel.reports.words import answer_of_gap
from wmel.results import Result

MOST_PAIRS, ROUND = 150, 10  # of an anytime run, and between two looks


@o.verb
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
    extra, entries = metric_names(metrics, None), given.models(models)
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
        "metrics": extra,
        **task,
        "planners": [given.part("planner", planner)],
        "objectives": [] if objective is None else [given.part("objective", objective)],
        "models": entries,
    }
    study = given.study(data)
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
        arms = arms_of(loaded, entries)
        record = cache(lambda: cpg_record(arms, extra))
        if folder is not None:
            write_comparison(folder, arms, record())
    broken = [common_failure(run.table) for run in (arms.oracle, *arms.learned.values())]
    reasons = [*(reason for reason in broken if reason), *summary.failures]
    first = paper or bool(given.preset.get("verdict"))
    return Result(
        lambda: answer_of_gap(record()),
        [_row(arms, model) for model in arms.learned],
        record,
        lambda: gap_lines(record(), paper_first=first),
        1 if reasons else 0,
        folder=folder,
        store=store,
        files={} if folder is None else {"records": folder},
        failures=reasons,
        draw=lambda: _figure(record()),
        more={
            "arms": arms,
            "gaps": {model: arms.gap(model) for model in arms.learned},
            "verdicts": {model: arms.verdict(model) for model in arms.learned},
            "models": models
            if isinstance(models, dict)
            else {entry["name"]: _source(entry, given) for entry in entries},
        },
    )


def _row(arms: Arms, model: str) -> dict[str, Any]:
    """The gap of one model, as a line of the summary."""
    result, estimate = arms.gap(model), arms.gap_estimate(model)
    return {
        "model": model,
        "oracle_success": result.oracle_success_rate,
        "model_success": result.learned_success_rate,
        "gap": result.raw_gap,
        "low": estimate.low,
        "high": estimate.high,
        "verdict": arms.verdict(model).label,
        "pairs": result.n_episodes_learned,
    }


def arms_of(loaded: LoadedStudy, entries: list[dict[str, Any]]) -> Arms:
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
    return replace(arms, coverage={**data_coverage(entries), **seen})


def data_coverage(entries: list[dict[str, Any]]) -> dict[str, Coverage]:
    """Where the training data of each checkpoint went, by its card."""
    found = {}
    for entry in entries:
        if "checkpoint" not in entry:
            continue
        from wmel.training.checkpoints import read_card  # torch is needed only here

        card = read_card(Path(entry["checkpoint"]))
        try:
            if card.get("coverage"):
                found[f"{entry['name']}'s data"] = Coverage(**card["coverage"])
        except TypeError as error:
            raise BadInput(f"the coverage on a card cannot be read: {error}") from error
    return found


def _source(entry: dict[str, Any], given: Given) -> Any:
    return given.objects.get(entry["name"]) or entry.get("checkpoint") or entry.get("object")


def _figure(record: Any) -> Any:
    from wmel.reports.document import plotly_needed

    with plotly_needed():
        from wmel.reports.figures import arms_figure
    return arms_figure(record)
