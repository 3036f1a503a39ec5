"""What verbs that run episodes share: the task, the metrics and who runs it; a study run in memory; what is written."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.analysis.scorecard import metric, metric_data, metric_texts
from wmel.api.live_parts import metric_entry
from wmel.api.overwrite import refuse_other_record
from wmel.api.progress import note, progress_listener
from wmel.api.study_entries import EntryBuilder, has_its_settings, perturbation_entry, seeds_of
from wmel.api.verbs import given_twice
from wmel.arrays import keep_freed_memory
from wmel.catalog import METRICS
from wmel.closed_loop.run import EPISODES
from wmel.contract.cell import Cell
from wmel.contract.criterion import Criterion
from wmel.contract.trainer import ProgressListener
from wmel.errors import BadInput, WmelError, suggest_name
from wmel.experiments.expand import Study
from wmel.experiments.folder_store import FolderStore, copy_models
from wmel.experiments.load import LoadedStudy, check_steps_path, load_study, write_steps
from wmel.experiments.resume import with_stored_points
from wmel.experiments.run import RunOptions, Summary, run_study
from wmel.experiments.store import MemoryStore, Store
from wmel.files import check_writable, write_atomically
from wmel.kinds import check_methods
from wmel.parts import name_and_settings
from wmel.reports.records import write_record
from wmel.results import Result
from wmel.schema import EpisodeTable

IN_MEMORY, STORED = 512, 50  # episodes of a block; stored ones are what a kill costs at most
UNFINISHED = ".unfinished"  # the rows of a run whose record is one file, until it is written
RECORD_SUFFIX = ".json"
Outputs = dict[str, tuple[Path, Callable[[Path], object]]]  # by what they are: the path of a file, and what writes it


def run_episodes(
    builder: EntryBuilder,
    data: Mapping[str, Any],
    options: Mapping[str, Any],
    verb: Mapping[str, Any],
    make: Callable[[LoadedStudy, Store], Result],
    *,
    outputs: Callable[[Result], Outputs],
    anytime: bool = False,
    needs_criterion: bool = False,
) -> Result:
    """Run a study of one verb, built in memory, and make the verb's result from what is stored.

    `data` is what it adds to the task, `verb` what is stored of the verb itself; `outputs` are the files of a result.
    """
    output = None if options["output"] is None else Path(options["output"])
    usual = {
        "block": IN_MEMORY if output is None else STORED,
        "metrics": metric_names(builder, options["metrics"], options["deadline_ms"]),
    }
    study = replace(builder.study({**usual, **data}), verb={**verb, "rewards": options["rewards"]})
    steps = None if options["trajectories"] is None else Path(options["trajectories"])
    if steps is not None:
        check_steps_path(steps, study.cells)
    if output is not None and output.suffix == RECORD_SUFFIX:
        refuse_other_record(output, study)
    how = runner_options(builder, options, anytime=anytime, needs_criterion=needs_criterion)
    with store_for(output) as store:
        whole = with_stored_points(study, store)
        loaded, summary = run_and_load(whole, store, how, title=_title(study), quiet=options["quiet"])
        whole_results(loaded, summary)
        result = make(loaded, kept_store(store))
        reasons = [summary.locate(reason.partition(": ")[2]) for reason in result.failures]
        others = [failure for failure in summary.failures if not any(failure.endswith(reason) for reason in reasons)]
        result.failures = [*map(summary.locate, result.failures), *others]
        result.exit_code = 1 if result.failures else 0
        files = {**outputs(result), **steps_output(steps, store, study.cells)}
        result.files = write_outputs(result, files)
        if len(result.files) < len(files) and isinstance(store, FolderStore):
            store.is_scratch = False
    return result


def task_data(builder: EntryBuilder, environment: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """What is attempted, as entries of a study."""
    criterion = options["criterion"]
    judged = {"criterion": str(criterion) if isinstance(criterion, Criterion) else criterion, "stop": options["stop"]}
    struck = perturbation_entry(builder, options["perturbation"], options["perturb_prob"], options["perturb_step"])
    return {
        "episodes": EPISODES if options["episodes"] is None else options["episodes"],
        "seeds": seeds_of(options["seeds"]),
        **({} if options["horizon"] is None else {"horizon": options["horizon"]}),
        "environments": [builder.part("environment", environment)],
        "perturbations": [struck],
        "criteria": [{key: value for key, value in judged.items() if value is not None}],
    }


def metric_names(builder: EntryBuilder, metrics: Any, deadline_ms: float | None) -> list[str]:
    """The metrics to add, the deadline among them; settings given beside go to the one metric that has them."""
    listed: Any = [metrics] if callable(metrics) or isinstance(metrics, str | Mapping) else metrics or ()
    if not isinstance(listed, Sequence):
        raise BadInput(f"metrics are a list of names or functions, got {metrics!r}")
    listed = [metric_entry(one) for one in listed]
    beside = builder.settings["metric"]
    if beside:
        settings = [METRICS.settings_of(metric_data(one)["name"]).keys() for one in listed]
        fitting = [one for one, known in zip(listed, settings, strict=True) if beside.keys() <= known]
        if len(fitting) != 1:
            raise BadInput(_metric_refusal(list(beside), [name for known in settings for name in known], len(fitting)))
        name, own = name_and_settings(metric_data(fitting[0]), "metric")
        listed[listed.index(fitting[0])] = {"name": name, **builder.beside("metric", name, own)}
    texts = [*metric_texts(listed), *([] if deadline_ms is None else [f"deadline@{deadline_ms:.12g}"])]
    for name in texts:
        metric(name)
    return texts


def _metric_refusal(beside: Sequence[str], known: Sequence[str], fitting: int) -> str:
    """Why settings that no metric or several metrics have are refused; `known` are those of the metrics named."""
    unknown = next((name for name in beside if name not in known), None)
    if unknown is not None:
        way_out = suggest_name(unknown, known, "they take")
        return f"metric.{unknown} is set, and no metric named here has a setting '{unknown}';{way_out}"
    names, what = ", ".join(f"metric.{name}" for name in beside), "it" if len(beside) == 1 else "all of them"
    return f"{names}: {fitting} of the metrics named take {what}; name one that does"


def runner_options(builder: EntryBuilder, options: Mapping[str, Any], **more: Any) -> RunOptions:
    """How a verb runs its cells; rows of another provenance are run again, or used as they are."""
    return RunOptions(
        executor=build_executor(builder, options["executor"] or "serial", options["workers"]),
        device=builder.settings["model"].get("device") or "cpu",
        when_changed=when_changed(options["rerun"], options["keep"]) or "rerun",
        trajectories=options.get("trajectories") is not None,
        **more,
    )


def build_executor(builder: EntryBuilder, executor: Any, workers: int | None = None) -> Any:
    """An executor by name, as {name, **settings} or as an object."""
    if not isinstance(executor, str | Mapping):
        check_methods("executor", executor)
        named = [*builder.settings["executor"], *([] if workers is None else ["workers"])]
        if named:
            raise BadInput(has_its_settings("executor", named[0]))
        return executor
    name = name_and_settings(executor, "executor")[0]
    if workers is not None and "workers" not in catalog.EXECUTORS.settings_of(name):
        if workers != 1:
            raise BadInput(f"one process has one worker: add --executor=processes, or leave out --workers {workers}")
    elif workers is not None:
        if "workers" in builder.settings["executor"]:
            raise BadInput(given_twice("executor", name, "workers", builder.settings["executor"]["workers"], workers))
        builder.settings["executor"]["workers"] = workers
    part = builder.part("executor", executor)
    return catalog.EXECUTORS.build(part.pop("name"), **part)


@contextmanager
def store_for(output: Path | None) -> Iterator[Store]:
    """Where rows go: a folder, nowhere, or beside a record that is one file until that is written."""
    keep_freed_memory()
    if output is None:
        yield MemoryStore()
        return
    is_folder = output.suffix != RECORD_SUFFIX
    folder = output if is_folder else output.with_name(output.name + UNFINISHED)
    store = FolderStore(folder, is_scratch=not is_folder)
    try:
        yield store
    except KeyboardInterrupt:
        note_rows(store)
        raise
    if store.is_scratch:
        shutil.rmtree(store.folder, ignore_errors=True)
    elif not is_folder:
        note_rows(store)


def note_rows(store: FolderStore) -> None:
    """Names the folder of the rows of a run whose record is not written."""
    if store.exists:
        note(f"finished episodes are stored in {store.folder}: the same command continues from there")


def kept_store(store: Store) -> Store:
    """A store that outlives the verb: rows that are removed once their record is written are held in memory.

    The steps of episodes are not.
    """
    if not isinstance(store, FolderStore) or not store.is_scratch:
        return store
    copy = MemoryStore(written=store.manifest(), moved=dict(store.moved))
    copy_models(store, copy)
    for cell in copy.manifest().cells:
        found = store.blocks(cell)[0]
        rows = [one.table(one.count, rewards=True) for one in found]
        copy.stored[cell.key] = [
            replace(one, rows=table, trajectories=None) for one, table in zip(found, rows, strict=True)
        ]
    return copy


def folder_of(store: Store | None) -> Path | None:
    """Where rows are stored, where they are."""
    return store.folder if isinstance(store, FolderStore) else None


def listener_for(title: str, *, quiet: bool) -> AbstractContextManager[ProgressListener]:
    """The listener of long work: a progress bar, or one that prints nothing."""
    return nullcontext(ProgressListener()) if quiet else progress_listener(title)


def run_and_load(
    study: Study, store: Store, options: RunOptions, *, title: str, quiet: bool
) -> tuple[LoadedStudy, Summary]:
    """Run what is missing, then load everything."""
    with listener_for(title, quiet=quiet) as listener:
        summary = run_study(study, store, options, listener)
    return load_study(store, rewards=True), summary


def record_path(output: Path | str | None, name: str) -> Path | None:
    """Where the record of a verb is written: the output itself where it is a .json file, else in that folder."""
    if output is None:
        return None
    return Path(output) if Path(output).suffix == RECORD_SUFFIX else Path(output) / name


def record_outputs(result: Result, record: Path | None, markdown: Path | str | None) -> Outputs:
    """The record of a result and its Markdown, where they are wanted."""
    outputs: Outputs = {}
    if record is not None:
        outputs["record"] = record, lambda path: write_record(path, result.record)
    if markdown is not None:
        outputs["table"] = Path(markdown), lambda path: write_atomically(path, result.to_markdown())
    return outputs


def page_outputs(result: Result, record: Path, markdown: Path, page: Path) -> Outputs:
    """The record of a result and its report, as Markdown and as a page."""
    return {
        "record": (record, lambda path: write_record(path, result.record)),
        "markdown": (markdown, result.report),
        "report": (page, result.report),
    }


def steps_output(path: Path | None, store: Store, cells: Sequence[Cell]) -> Outputs:
    """The steps of all episodes, where they are wanted."""
    return {} if path is None else {"trajectories": (path, lambda path: write_steps(path, store, cells))}


def write_outputs(result: Result, outputs: Outputs) -> dict[str, Path]:
    """Writes the files of a finished result, and returns those that were written, by what they are.

    One that cannot be written is a failure of the result, which is returned all the same; the others are written.
    """
    files = {}
    for what, (path, write) in outputs.items():
        try:
            write(path)
        except WmelError as error:
            result.failures, result.exit_code = [*result.failures, str(error)], 1
        else:
            files[what] = path
    return files


def check_outputs(*paths: Path | str | None) -> None:
    """Refuse outputs that cannot be written, before anything is computed."""
    written = [Path(path) for path in paths if path is not None]
    if written:
        check_writable(*written)


def when_changed(rerun: str | None, keep: bool) -> str | None:
    """What to do with rows that were made with something else."""
    if rerun not in (None, "changed"):
        raise BadInput(f"--rerun takes 'changed', got {rerun!r}")
    if rerun and keep:
        raise BadInput("--rerun=changed and --keep contradict each other: give one")
    return "rerun" if rerun else ("keep" if keep else None)


def common_failure(table: EpisodeTable) -> str | None:
    """Why every episode failed alike before its first step, where that is so."""
    reasons = set(table["error"])
    if len(reasons) == 1 and "" not in reasons and not table["steps"].any():
        return f"every episode failed at its first decision: {reasons.pop()}"
    return None


def result_of_runs(tables: Iterable[EpisodeTable], store: Store | None, **fields: Any) -> Result:
    """A result with its stored rows; it fails for every table whose episodes failed alike before their first step."""
    failures = [reason for reason in map(common_failure, tables) if reason is not None]
    return Result(exit_code=1 if failures else 0, failures=failures, folder=folder_of(store), store=store, **fields)


def whole_results(loaded: LoadedStudy, summary: Summary) -> None:
    """Refuse to go on without any rows: say why there are none."""
    if not any(one.run is not None for one in loaded.results):
        reasons = [*summary.failures, *(one.failure for one in loaded.results if one.failure)]
        raise BadInput(reasons[0] if reasons else "no episode was run")


def _title(study: Study) -> str:
    """What progress is called: who acts, and where."""
    planned = next((cell for cell in study.cells if cell.arm.planner is not None), study.cells[0])
    acting = planned.arm.planner or planned.arm.policy or {"name": planned.arm.name}
    return f"{acting['name']} in {planned.task.environment['name']}"
