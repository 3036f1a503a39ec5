"""wmel.cpg: what a planner loses when a model replaces the true dynamics."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Unpack

from wmel.analysis.pooling import Arms, study_comparisons
from wmel.analysis.verdict import TAU, paper_rule
from wmel.api import options as o
from wmel.api.episodes import RECORD_SUFFIX, check_outputs, result_of_runs, run_episodes, task_data
from wmel.api.study_entries import EntryBuilder
from wmel.api.verbs import verb
from wmel.contract.cell import CellResult
from wmel.errors import BadInput, requires_package
from wmel.experiments.build import ModelPaths, is_whole
from wmel.experiments.expand import paper_options, training_of_cell
from wmel.experiments.load import LoadedStudy
from wmel.experiments.store import Store
from wmel.reports.document import draw_figure
from wmel.reports.record_types import CPGEntry, CPGRecord
from wmel.reports.study_gaps import study_answer
from wmel.reports.study_record import FILE, cpg_record, missing_entries, recorded_arms, study_of_gaps, write_comparison
from wmel.reports.study_report import study_document
from wmel.reports.study_tables import gap_numbers
from wmel.results import Result
from wmel.schema import Coverage

MOST_PAIRS, ROUND = 150, 10  # of an anytime run, and between two looks


@verb
def cpg(
    environment: o.Environment,
    models: o.Models,
    *,
    planner: o.Planner = "random-shooting",
    anytime: o.Anytime = False,
    max_episodes: Annotated[
        int | None, o.Option(f"The most pairs of an --anytime run.  [default: {MOST_PAIRS}]", "whole", at_least=1)
    ] = None,
    paper: o.Paper = False,
    tau: Annotated[
        float | None,
        o.Option(
            f"Margin of a rate to 0 or 1 in the rule of the CPG paper, whose answer it adds.  [default: {TAU:g}]",
            "number",
            at_least=0,
            at_most=0.5,
        ),
    ] = None,
    **options: Unpack[o.EpisodeOptions],
) -> Result:
    """Run a planner on the true dynamics and on models, on the same seeds, and return the gap and its verdict."""
    builder = EntryBuilder.of_options(options)
    folder = None if options["output"] is None else Path(options["output"])
    if folder is not None and folder.suffix == RECORD_SUFFIX:
        raise BadInput(f"a gap is a folder with a record for each arm: give a folder as output, got {folder}")
    check_outputs(None if folder is None else folder / FILE)
    if anytime and options["episodes"] is not None:
        raise BadInput("--anytime determines the number of episodes: give --max-episodes instead of --episodes")
    if not anytime and max_episodes is not None:
        raise BadInput("--max-episodes limits an --anytime run: add --anytime, or give --episodes")
    if anytime and (paper or tau is not None):
        option = "--tau" if tau is not None else "--paper"
        raise BadInput(
            f"{option} adds a rule that does not allow for an --anytime run, which may stop early: leave it out"
        )
    entries = builder.models(models)
    if not entries:
        raise BadInput("a gap needs at least one model")
    task = task_data(builder, environment, options)
    if anytime and len(task["seeds"]) > 1:
        raise BadInput(f"a run that may stop early takes its episodes from one seed, got {task['seeds']!r}")
    data = {
        "name": "cpg",
        **task,
        **({"block": ROUND, "episodes": max_episodes or MOST_PAIRS} if anytime else {}),
        "planners": [builder.part("planner", planner)],
        "objectives": builder.objectives(options["objective"], task["environments"][0]),
        "models": entries,
    }
    builder.judges_gaps = True
    stored = {
        "name": "cpg",
        **paper_options(tau, is_added=paper or bool(builder.preset.get("verdict"))),
        "models": {entry["name"]: entry.get("checkpoint") or entry.get("object") for entry in entries},
        "coverage": {name: asdict(one) for name, one in data_coverage(entries).items()},
    }
    return run_episodes(
        builder,
        data,
        options,
        stored,
        lambda loaded, store: stored_gap(loaded, store, objects=builder.objects),
        write=lambda result: _write(result, folder),
        anytime=anytime,
        needs_criterion=True,
    )


def _write(result: Result, folder: Path | None) -> dict[str, Path]:
    """Write the records of the gap and of its arms into a folder."""
    if folder is None:
        return {}
    assert result.write is not None
    result.write(folder)
    return {"records": folder}


def stored_gap(loaded: LoadedStudy, store: Store, objects: Mapping[tuple[str, str], Any] | None = None) -> Result:
    """The result of a comparison from its stored rows; `objects` are its live parts, by kind and name."""
    verb = loaded.verb
    arms = arms_of(loaded, {name: Coverage(**one) for name, one in verb["coverage"].items()})
    sources, rewards = dict(verb["models"]), bool(verb.get("rewards"))
    record = cache(lambda: cpg_record(arms, loaded.metrics, models=sources, **paper_rule(verb)))
    live = {name: one for (kind, name), one in (objects or {}).items() if kind == "model" and name in sources}
    models = {**sources, **trained_folders(loaded, store), **live}
    cells = [one for one in loaded.results if one.failure or not loaded.anytime]  # an anytime run may stop early
    return _result(arms, record, models, store, rewards=rewards, cells=cells)


def trained_folders(loaded: LoadedStudy, store: Store) -> dict[str, Any]:
    """The checkpoint that each recipe was trained to, by model; a list of them where several seeds were trained."""
    found: dict[str, list[Path]] = {}
    for cell in (one.cell for one in loaded.results):
        if training_of_cell(cell) is not None:
            paths = ModelPaths(store.models, Path(), moved=store.moved)
            folder = paths.folder_of(cell.task.environment, cell.arm.model)
            if folder is not None and is_whole(folder) and folder not in found.setdefault(cell.arm.name, []):
                found[cell.arm.name].append(folder)
    return {name: folders[0] if len(folders) == 1 else folders for name, folders in found.items() if folders}


def recorded_result(record: CPGRecord, folder: Path) -> Result:
    """The result of a comparison from its record and those of its arms; without these there are no rows to check."""
    has_arms = any((folder / file).exists() for file in record.arms.values())
    arms = recorded_arms(folder / FILE, record) if has_arms else None
    return _result(arms, lambda: record, dict(record.models), None)


def _result(
    arms: Arms | None,
    record: Any,
    models: dict[str, Any],
    store: Store | None,
    *,
    rewards: bool = False,
    cells: Sequence[CellResult] = (),
) -> Result:
    runs = [] if arms is None else [arms.oracle, *arms.learned.values()]
    own: dict[str, Any] = {"models": models}
    if arms is not None:
        own["arms"] = arms
        own["gaps"] = {model: arms.gap(model) for model in arms.learned}
        own["verdicts"] = {model: arms.verdict(model) for model in arms.learned}
    return result_of_runs(
        [run.table for run in runs],
        store,
        answer=lambda: study_answer(study_of_gaps(record())),
        rows=lambda: [_row(model, entry) for model, entry in record().cpgs.items()],
        record=record,
        verb="cpg",
        document=lambda: study_document(study_of_gaps(record(), missing_entries(cells))),
        draw=partial(draw_figure, "figures:arms_figure", record),
        write=None if arms is None else lambda folder: write_comparison(folder, arms, record(), rewards=rewards),
        more=own,
    )


def _row(model: str, entry: CPGEntry) -> dict[str, Any]:
    """The gap of one model, as a line of the summary."""
    return {"model": model, **gap_numbers(entry), "pairs": entry.n_episodes_learned}


def arms_of(loaded: LoadedStudy, data_coverage: Mapping[str, Coverage]) -> Arms:
    """The arms of a study of one setting, with where each model's data went."""
    compared = study_comparisons(loaded.results, anytime=loaded.anytime)
    if not compared.comparisons or compared.refused:
        reasons = [*compared.refused, *(one.failure for one in loaded.results if one.failure)]
        raise BadInput(reasons[0] if reasons else "no arm was run")
    return replace(compared.comparisons[0].arms, data_coverage=data_coverage)


def data_coverage(entries: list[dict[str, Any]]) -> dict[str, Coverage]:
    """Where the training data of each checkpoint went, by its card."""
    found = {}
    for entry in entries:
        if "checkpoint" not in entry:
            continue
        with requires_package("torch", "checkpoints need torch: install wmel[learned]"):
            from wmel.training.checkpoints import read_card

        card = read_card(Path(entry["checkpoint"]))
        try:
            if card.get("coverage"):
                found[f"{entry['name']}'s data"] = Coverage(**card["coverage"])
        except TypeError as error:
            raise BadInput(f"the coverage on a card cannot be read: {error}") from error
    return found
