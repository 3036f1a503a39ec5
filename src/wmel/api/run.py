"""wmel.run: one policy in one environment, and its scorecard."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from wmel import catalog
from wmel.analysis.scorecard import Scorecard, scorecard
from wmel.api import options as o
from wmel.api.episodes import (
    build_executor,
    check_outputs,
    common_failure,
    folder_of,
    kept_store,
    metric_names,
    run_and_load,
    store_for,
    task_data,
    verb,
    whole_results,
)
from wmel.api.given import Given
from wmel.closed_loop.trajectories import write_trajectories
from wmel.errors import BadInput
from wmel.experiments.load import LoadedStudy
from wmel.experiments.run import RunOptions
from wmel.experiments.store import Store
from wmel.files import write_atomically
from wmel.parts import name_and_settings
from wmel.reports.any_record import FILES
from wmel.reports.entries import scorecard_entry
from wmel.reports.json_envelope import RunRecord
from wmel.reports.markdown import to_markdown_scorecard
from wmel.reports.records import recorded_run, run_record, run_scorecard, write_record
from wmel.reports.terminal import scorecard_lines
from wmel.reports.words import answer_of_run
from wmel.results import Result
from wmel.schema import Run, pooled

RECORD = FILES["run"]


@verb
def run(
    environment: o.Environment = "maze_toy",
    policy: o.Policy = "tabular-world-model",
    *,
    model: o.Model = None,
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
    metrics: o.Metrics = (),
    deadline_ms: o.DeadlineMs = None,
    settings: o.Settings = None,
    preset: o.Preset = None,
    device: o.Device = None,
    rollout: o.Rollout = None,
    executor: o.Executor = "serial",
    workers: o.Workers = None,
    output: o.Output = None,
    markdown: o.Markdown = None,
    rewards: o.Rewards = False,
    trajectories: o.Trajectories = None,
    quiet: o.Quiet = False,
) -> Result:
    """Run a policy in an environment and return its scorecard."""
    given = Given.of(settings, preset, model={"rollout": rollout, "device": device}, planner={"execute": execute})
    record_file = None if output is None else Path(output) if Path(output).suffix == ".json" else Path(output) / RECORD
    check_outputs(record_file, markdown, trajectories)
    data = {
        "name": "run",
        "oracle": False,
        "floor": False,
        "block": 50 if output is not None else 512,
        "metrics": metric_names(given, metrics, deadline_ms),
        **task_data(
            given,
            environment,
            episodes=episodes,
            seeds=seeds,
            horizon=horizon,
            criterion=criterion,
            stop=stop,
            perturbation=perturbation,
            perturb_prob=perturb_prob,
            perturb_step=perturb_step,
        ),
        **arm_data(given, policy, model, objective),
    }
    study = replace(given.study(data), verb={"name": "run", "rewards": rewards})
    how = RunOptions(
        executor=build_executor(given, executor, workers),
        device=given.settings["model"].get("device") or "cpu",
        when_changed="rerun",
        trajectories=trajectories is not None,
        needs_criterion=False,
    )
    name = study.cells[0].task.environment["name"]
    with store_for(None if output is None else Path(output)) as store:
        loaded, summary = run_and_load(
            study, store, how, title=f"{_policy_name(policy)} in {name}", quiet=quiet, rewards=True
        )
        whole_results(loaded, summary)
        result = stored_run(loaded, kept_store(store))
        if record_file is not None:
            write_record(record_file, result.record)
        if trajectories is not None:
            write_trajectories(Path(trajectories), stored_trajectories(store, study.cells))
    if markdown is not None:
        write_atomically(Path(markdown), to_markdown_scorecard(result.scorecard))
    files = {"record": record_file, "scorecard": markdown, "trajectories": trajectories}
    result.files = {name: Path(path) for name, path in files.items() if path is not None}
    result.failures = result.failures or summary.failures
    result.exit_code = 1 if result.failures else 0
    return result


def stored_run(loaded: LoadedStudy, store: Store) -> Result:
    """The result of a run from its stored rows."""
    found = pooled([one.run for one in loaded.results if one.run is not None])
    card = scorecard(found.policy_name, found.table, loaded.metrics)
    rewards = bool(loaded.verb.get("rewards"))
    record = cache(lambda: run_record(found, metrics=loaded.metrics, rewards=rewards, card=scorecard_entry(card)))
    return _result(found, card, record, store)


def recorded_result(record: RunRecord) -> Result:
    """The result of a run from its record."""
    return _result(recorded_run(record), run_scorecard(record), lambda: record, None)


def _result(found: Run, card: Scorecard, record: Any, store: Store | None) -> Result:
    broken = common_failure(found.table)
    rows = [
        {
            "metric": name,
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "n": one.n,
            "note": one.method or one.reason,
        }
        for name, one in card.estimates.items()
    ]
    return Result(
        lambda: answer_of_run(record()),
        rows,
        record,
        lambda: scorecard_lines(record().metadata, card),
        1 if broken else 0,
        "run",
        folder_of(store),
        store,
        failures=[broken] if broken else [],
        draw=lambda: _figure(record()),
        markdown=lambda: to_markdown_scorecard(card),
        more={"scorecard": card, "run": found, "episodes": found.table},
    )


def arm_data(given: Given, policy: Any, model: Any, objective: Any) -> dict[str, Any]:
    """Who acts, as entries of a study: a planner over the oracle or a model, or a policy."""
    models = given.models([model] if model is not None and model != "oracle" else None)
    scored = [] if objective is None else [given.part("objective", objective)]
    name = name_and_settings(policy, "policy")[0] if isinstance(policy, Mapping) else policy
    acts = not isinstance(name, str) and hasattr(name, "act")
    if not acts and (not isinstance(name, str) or catalog.is_planner(name)):
        planner = given.part("planner", policy)
        return {"planners": [planner], "objectives": scored, "models": models, "oracle": not models}
    if not acts:
        catalog.check_policy(name)
    if given.settings["planner"] or scored:
        unused = next(iter(given.settings["planner"]), "objective")
        raise BadInput(f"policy '{name}' does not plan: leave out {unused}")
    part = given.part("policy", policy)
    if models:
        return {"planners": [], "objectives": [], "models": [{**models[0], "policy": part}]}
    return {"planners": [], "objectives": [], "models": [], "policies": [part]}


def stored_trajectories(store: Store, cells: Any) -> dict[str, np.ndarray]:
    """The steps of all blocks of some cells, episodes one after the other, NaN beyond the last step of each."""
    parts = []
    for cell in cells:
        for block in store.blocks(cell)[0]:
            steps = block.trajectories
            parts.append(dict(np.load(steps)) if isinstance(steps, Path) else dict(steps or {}))
    longest = max(part["actions"].shape[1] for part in parts)

    def padded(array: np.ndarray) -> np.ndarray:
        room = [(0, 0), (0, longest - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
        return np.pad(array, room, constant_values=np.nan)

    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {
        name: np.concatenate([part[name] if part[name].ndim == 1 else padded(part[name]) for part in parts])
        for name in names
    }


def _policy_name(policy: Any) -> str:
    return name_and_settings(policy, "policy")[0] if isinstance(policy, str | Mapping) else type(policy).__name__


def _figure(record: Any) -> Any:
    from wmel.reports.document import plotly_needed

    with plotly_needed():
        from wmel.reports.figures import outcomes
    return outcomes(record)
