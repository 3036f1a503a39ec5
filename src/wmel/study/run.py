"""Running what is missing of a study: models first, then blocks of episodes, through one executor."""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from typing import Any

from wmel.contract.cell import Cell
from wmel.errors import BadInput, BadRecord, CannotWrite
from wmel.study.build import Block, Places, Ran, ran
from wmel.study.cells import training_of, trainings_of
from wmel.study.check import check_cells
from wmel.study.executors.outcome import Failure
from wmel.study.executors.processes import processes
from wmel.study.executors.serial import serial
from wmel.study.plan import changed_cells, missing_blocks
from wmel.study.rounds import rounds
from wmel.study.spec import StudySpec
from wmel.study.store import Store
from wmel.study.train import TrainingJob, train

UNWRITTEN = 2  # blocks in a row that could not be written: the disk is full
Executor = Callable[[Callable[[Any], Any], Iterable[Any]], Generator[tuple[Any, Any], None, None]]


@dataclass(frozen=True)
class How:
    """What of a study to run, and how."""

    only: str | None = None  # a pattern of cell names
    limit: int | None = None  # cells
    workers: int | None = None  # processes; None: this one
    anytime: bool = False
    when_changed: str | None = None  # rerun or keep rows that were made with something else; None: refuse
    device: str = "cpu"  # where checkpoints are planned with

    @property
    def executor(self) -> Executor:
        return serial if self.workers is None else partial(processes, workers=self.workers)


@dataclass(eq=False)
class Watch:
    """Who is told what happens: totals once they are known, then every model and every block."""

    begin: Callable[[str, int, str], None] = lambda title, total, unit: None
    done: Callable[[float], None] = lambda count: None
    say: Callable[[str], None] = lambda line: None


@dataclass(eq=False)
class Summary:
    """What came of it."""

    episodes: int = 0  # run now
    trained: int = 0
    failures: list[str] = field(default_factory=list)


def chosen_cells(cells: list[Cell], how: How) -> list[Cell]:
    """Those of a pattern, the first so many."""
    found = [cell for cell in cells if how.only is None or fnmatch(cell.name, how.only)]
    if not found:
        raise BadInput(f"no cell is called like {how.only!r}; cells are called like {cells[0].name!r}")
    return found[: how.limit]


def places_of(spec: StudySpec, store: Store, how: How) -> Places:
    """Where the models of a study are; a device that is not here is refused."""
    if how.device != "cpu":
        from wmel.training.devices import usable_device  # torch is needed only here

        usable_device(how.device)
    return Places(store.models, spec.folder, how.device)


def run_study(spec: StudySpec, cells: list[Cell], store: Store, how: How, watch: Watch) -> Summary:
    """Run what is missing of the chosen cells; whatever fails is written beside the rest, which goes on."""
    mine, places, summary = chosen_cells(cells, how), places_of(spec, store, how), Summary()
    check_cells(mine, places)
    with store.locked():
        for cell in mine:
            for wrong in store.drop_damaged(cell):
                watch.say(f"{wrong}: it is run again")
        _settle_changed(store, mine, places, how, watch)
        early = how.anytime or _could_stop_early(store)
        _write_manifest(store, spec, cells, anytime=early)
        jobs = [block for cell in mine for block in missing_blocks(store, cell, places, spec.study.block)]
        unable = _train(store, list({job.cell.key: job.cell for job in jobs}.values()), how, watch, summary)
        for cell in mine:
            if _training_key(cell) in unable:
                _failed(store, cell, "its model", unable[_training_key(cell)], summary)
        if how.anytime:
            able = [cell for cell in mine if _training_key(cell) not in unable]
            for round_of_jobs in rounds(store, able, places, spec.study.block):
                _run(round_of_jobs, store, how, watch, summary)
        else:
            _run([job for job in jobs if _training_key(job.cell) not in unable], store, how, watch, summary)
            if early and not any(missing_blocks(store, cell, places, spec.study.block) for cell in cells):
                _write_manifest(store, spec, cells, anytime=False)  # nothing was left out: it could not stop early
    return summary


def _could_stop_early(store: Store) -> bool:
    """Whether what is stored was run by rounds."""
    try:
        return store.is_there and store.manifest().anytime
    except BadRecord:
        return False


def _write_manifest(store: Store, spec: StudySpec, cells: list[Cell], *, anytime: bool) -> None:
    store.write_manifest(spec.study.name, spec.study.about, spec.text, cells, anytime=anytime)


def _settle_changed(store: Store, cells: list[Cell], places: Places, how: How, watch: Watch) -> None:
    changed = changed_cells(store, cells, places)
    if not changed:
        return
    said = f"{len(changed)} cells were made with other {', '.join(changed[0].differences[:3])}"
    if how.when_changed is None:
        raise BadInput(f"{said}: run them again with --rerun changed, or let them stand with --keep")
    for one in changed:
        if how.when_changed == "rerun" or not one.is_whole:  # rows of a cell are never mixed
            store.drop(one.cell)
    watch.say(f"{said}: {'they are run again' if how.when_changed == 'rerun' else 'whole ones are kept'}")


def _training_key(cell: Cell) -> str | None:
    training = training_of(cell)
    return None if training is None else training.key


def _train(store: Store, cells: list[Cell], how: How, watch: Watch, summary: Summary) -> dict[str | None, str]:
    """Train what is missing; why some could not be, by key."""
    jobs = [TrainingJob(training, store.models) for training in trainings_of(cells).values()]
    jobs = [job for job in jobs if not job.is_done]
    unable: dict[str | None, str] = {}
    if jobs:
        watch.begin("training", len(jobs), "models")
    with closing(how.executor(train, jobs)) as outcomes:
        for job, outcome in outcomes:
            if isinstance(outcome, Failure):
                watch.say(f"{job.name}: {outcome.reason}")
                unable[job.training.key] = outcome.reason
            else:
                summary.trained += 1
            watch.done(1)
    return unable


def _run(jobs: list[Block], store: Store, how: How, watch: Watch, summary: Summary) -> None:
    if jobs:
        watch.begin("running", sum(job.count for job in jobs), "episodes")
    for cell in {job.cell.key: job.cell for job in jobs}.values():
        store.forget_failure(cell)
    unwritten = 0
    with closing(how.executor(ran, jobs)) as outcomes:
        for left, (job, outcome) in zip(reversed(range(len(jobs))), outcomes, strict=True):
            if isinstance(outcome, Failure):
                _failed(store, job.cell, job.name, outcome.reason, summary)
            else:
                unwritten = _kept(store, job, outcome, summary, unwritten)
            watch.done(job.count)
            if unwritten == UNWRITTEN and left:
                summary.failures.append(f"nothing more can be written: {left} blocks are left for another run")
                return


def _kept(store: Store, job: Block, outcome: Ran, summary: Summary, unwritten: int) -> int:
    """Store a block; how many in a row could not be."""
    try:
        store.write_block(job, outcome)
    except CannotWrite as error:
        summary.failures.append(str(error))
        return unwritten + 1
    summary.episodes += job.count
    errors = outcome.run.table["error"]
    if (errors != "").all():
        summary.failures.append(f"{job.name}: every episode broke: {errors[0]}")
    return 0


def _failed(store: Store, cell: Cell, where: str, reason: str, summary: Summary) -> None:
    summary.failures.append(f"{where}: {reason}" if where != "its model" else f"{cell.name}: its model: {reason}")
    try:
        store.write_failure(cell, where, reason)
    except CannotWrite as error:
        summary.failures.append(str(error))
