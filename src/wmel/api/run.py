"""wmel.run: one policy in one environment, and its scorecard."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Unpack

from wmel import catalog
from wmel.analysis.scorecard import Scorecard, stored_scorecard
from wmel.api import options as o
from wmel.api.episodes import (
    check_outputs,
    record_path,
    result_of_runs,
    run_episodes,
    task_data,
    write_files,
)
from wmel.api.live_parts import is_oracle
from wmel.api.study_entries import EntryBuilder
from wmel.api.verbs import given_twice, verb
from wmel.errors import BadInput
from wmel.experiments.load import LoadedStudy
from wmel.experiments.store import Store
from wmel.models.oracle import Oracle
from wmel.parts import name_and_settings
from wmel.reports.document import draw_figure
from wmel.reports.record_entries import scorecard_entry
from wmel.reports.record_types import RunRecord
from wmel.reports.records import FILES, recorded_run, run_record, run_scorecard
from wmel.reports.run_report import run_answer, run_document
from wmel.results import Result
from wmel.schema import Run, pool_runs


@verb
def run(
    environment: o.Environment = "maze_toy",
    policy: o.Policy = "tabular-world-model",
    *,
    model: o.Model = None,
    markdown: o.Markdown = None,
    **options: Unpack[o.EpisodeOptions],
) -> Result:
    """Run a policy in an environment and return its scorecard."""
    builder = EntryBuilder.of_options(options)
    _refuse_another_oracle(model, environment)
    record_file = record_path(options["output"], FILES["run"])
    check_outputs(record_file, markdown)
    task = task_data(builder, environment, options)
    arm = arm_data(builder, policy, model, options["objective"], task["environments"][0])
    data = {"name": "run", "oracle": False, "floor": False, **task, **arm}
    write = partial(write_files, record=record_file, markdown=markdown)
    return run_episodes(builder, data, options, {"name": "run"}, stored_run, write=write)


def stored_run(loaded: LoadedStudy, store: Store) -> Result:
    """The result of a run from its stored rows."""
    found = pool_runs([one.run for one in loaded.results if one.run is not None])
    card = stored_scorecard(found.policy_name, found.table, loaded.metrics)
    rewards = bool(loaded.verb.get("rewards"))
    record = cache(lambda: run_record(found, metrics=loaded.metrics, rewards=rewards, card=scorecard_entry(card)))
    return _result(found, card, record, store)


def recorded_result(record: RunRecord) -> Result:
    """The result of a run from its record."""
    return _result(recorded_run(record), run_scorecard(record), lambda: record, None)


def _result(found: Run, card: Scorecard, record: Any, store: Store | None) -> Result:
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
    return result_of_runs(
        [found.table],
        store,
        answer=lambda: run_answer(record()),
        rows=rows,
        record=record,
        verb="run",
        draw=partial(draw_figure, "figures:outcomes", record),
        document=lambda: run_document(record(), card),
        more={"scorecard": card, "run": found},
    )


def arm_data(
    builder: EntryBuilder,
    policy: Any,
    model: Any,
    objective: Any,
    environment: Mapping[str, Any],
    *,
    sweeps_objective: bool = False,
) -> dict[str, Any]:
    """Who acts, as entries of a study: a planner over the oracle or a model, or a policy."""
    models = _model_entries(builder, model)
    name = name_and_settings(policy, "policy")[0] if isinstance(policy, Mapping) else policy
    acts = not isinstance(name, str) and hasattr(name, "act")
    if not acts and (not isinstance(name, str) or catalog.is_planner(name)):
        scored = builder.objectives(objective, environment, is_swept=sweeps_objective)
        planner = builder.part("planner", policy)
        return {"planners": [planner], "objectives": scored, "models": models, "oracle": not models}
    if not acts:
        catalog.check_policy(name)
        _give_to_policy(builder, name)
    if builder.settings["planner"] or objective is not None:
        unused = next(iter(builder.settings["planner"]), "objective")
        raise BadInput(f"policy '{name}' does not plan: leave out {unused}")
    part = builder.part("policy", policy)
    if models:
        return {"planners": [], "objectives": [], "models": [{**models[0], "policy": part}]}
    return {"planners": [], "objectives": [], "models": [], "policies": [part]}


def _give_to_policy(builder: EntryBuilder, policy: str) -> None:
    """Settings of planners that a policy has too, such as plan_horizon of `native`, become its own."""
    own, planning = builder.settings["policy"], builder.settings["planner"]
    for name in [name for name in planning if name in catalog.POLICIES.settings_of(policy)]:
        if name in own:
            raise BadInput(given_twice("policy", policy, name, own[name], planning[name]))
        own[name] = planning.pop(name)


def _model_entries(builder: EntryBuilder, model: Any) -> list[dict[str, Any]]:
    """The model as an entry: {name: model}, or one without a name; none for the oracle, by name or as an object."""
    if model is None or is_oracle(model):
        return builder.models(None)
    is_named = isinstance(model, Mapping) and "name" not in model
    if is_named and len(model) != 1:
        raise BadInput(f"one model is planned with, got {len(model)}: wmel.cpg compares several")
    return builder.models(model if is_named else [model])


def _refuse_another_oracle(model: Any, environment: Any) -> None:
    """Refuse the true dynamics of another world, which would be taken for those of this one."""
    if not isinstance(model, Oracle):
        return
    own = environment if isinstance(environment, str | Mapping) else environment.spec.name
    names = [str(name_and_settings(one, "environment")[0]) for one in (own, model.environment.spec.name)]
    here, there = (name.partition("[")[0] for name in names)
    if here != there:
        raise BadInput(f"the model is the oracle of {there}, and episodes are run in {here}: name it in wmel.cpg")
