"""The one runner: models first, then blocks of episodes and readings, through one executor, into one store."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from wmel.contract.cell import Cell, Diagnostic, has_live_part
from wmel.contract.trainer import ProgressListener
from wmel.errors import BadInput, BadRecord, CannotWrite
from wmel.experiments.build import ModelPaths, build_diagnostic
from wmel.experiments.check import check_cells, check_diagnostics, other_tasks
from wmel.experiments.executors import Failure, Serial
from wmel.experiments.expand import Study, training_of_cell, trainings_of
from wmel.experiments.jobs import (
    Block,
    BlockResult,
    Reading,
    ReadingResult,
    TrainingJob,
    run_block,
    run_job,
    run_reading,
)
from wmel.experiments.store import Store, changed_cells, changed_readings, missing_blocks

UNWRITTEN = 2  # blocks in a row that could not be written: the disk is full


@dataclass(frozen=True)
class RunOptions:
    """What of a study to run, and how."""

    only: str | None = None  # a pattern of cell names
    limit: int | None = None  # cells
    executor: Any = field(default_factory=Serial)
    anytime: bool = False
    when_changed: str | None = None  # rerun or keep rows that were made with something else; None: refuse
    device: str = "cpu"  # where checkpoints are planned with
    trajectories: bool = False  # keep every step
    needs_criterion: bool = True


@dataclass(eq=False)
class Summary:
    """What was run now, and what failed."""

    episodes: int = 0
    trained: int = 0
    readings: int = 0
    failures: list[str] = field(default_factory=list)


def chosen_cells(cells: Sequence[Any], options: RunOptions) -> list[Any]:
    """Those of a pattern, the first so many."""
    found = [cell for cell in cells if options.only is None or fnmatch(cell.name, options.only)]
    return found[: options.limit]


def paths_of(study: Study, store: Store, options: RunOptions) -> ModelPaths:
    """Where the models of a study are; a device that is not here is refused."""
    if options.device != "cpu":
        from wmel.training.checkpoints import usable_device  # torch is needed only here

        usable_device(options.device)
    return ModelPaths(store.models, study.folder, options.device, study.objects, store.moved)


def run_study(study: Study, store: Store, options: RunOptions, listener: ProgressListener) -> Summary:
    """Run what is missing of the chosen cells; whatever fails is written beside the rest, which goes on."""
    return _Runner(study, store, options, listener).run()


@dataclass(eq=False)
class _Runner:
    study: Study
    store: Store
    options: RunOptions
    listener: ProgressListener
    summary: Summary = field(default_factory=Summary)

    def run(self) -> Summary:
        study, store, options = self.study, self.store, self.options
        cells, readings = (chosen_cells(some, options) for some in (study.cells, study.diagnostics))
        if not cells and not readings:
            like = (*study.cells, *study.diagnostics)[0].name
            raise BadInput(f"no cell is called like {options.only!r}; cells are called like {like!r}")
        paths = paths_of(study, store, options)
        check_cells(cells, paths, needs_criterion=options.needs_criterion)
        check_diagnostics(readings, paths)
        for warning in other_tasks([*cells, *readings], paths):
            self.listener.note(warning)
        with store.locked():
            for cell in cells:
                for wrong in store.drop_damaged(cell):
                    self.listener.note(f"{wrong}: it is run again")
            self._forget_live(cells, readings)
            self._settle_changed(cells, readings, paths)
            early = options.anytime or _could_stop_early(store)
            store.write_manifest(study, anytime=early)
            jobs = [block for cell in cells for block in self._missing(cell, paths)]
            unread = [one for one in readings if store.reading(one) is None]
            unable = self._train([*{job.cell.key: job.cell for job in jobs}.values(), *unread], paths)
            for cell in (*cells, *unread):
                if _training_key(cell) in unable:
                    self._fail(cell, "its model", unable[_training_key(cell)])
            self._run_episodes(cells, jobs, unable, paths)
            if early and not options.anytime and not any(self._missing(cell, paths) for cell in study.cells):
                store.write_manifest(study, anytime=False)  # nothing was left out: it could not stop early
            self._run_readings([one for one in unread if _training_key(one) not in unable], paths)
        return self.summary

    def _missing(self, cell: Cell, paths: ModelPaths) -> list[Block]:
        return missing_blocks(self.store, cell, paths, self.study.block, trajectories=self.options.trajectories)

    def _forget_live(self, cells: list[Cell], readings: list[Diagnostic]) -> None:
        """Drop rows of objects that cannot be recognised: one of the same name may be another."""
        found = [cell for cell in cells if has_live_part(cell) and self.store.blocks(cell)[0]]
        found += [cell for cell in readings if has_live_part(cell) and self.store.reading(cell) is not None]
        for cell in found:
            self.store.drop(cell)
        if found:
            self.listener.note(
                f"{len(found)} cells are of objects that cannot be recognised, and are run again: name a model as "
                "package.module:object, or give its spec the hash of its weights"
            )

    def _settle_changed(self, cells: list[Cell], readings: list[Diagnostic], paths: ModelPaths) -> None:
        changed = [*changed_cells(self.store, cells, paths), *changed_readings(self.store, readings, paths)]
        if not changed:
            return
        said = f"{len(changed)} cells were made with other {', '.join(changed[0].differences[:3])}"
        how = self.options.when_changed
        if how is None:
            raise BadInput(f"{said}: run them again with --rerun changed, or let them stand with --keep")
        for one in changed:
            if how == "rerun" or not one.is_whole:  # rows of a cell are never mixed
                self.store.drop(one.cell)
        self.listener.note(f"{said}: {'they are run again' if how == 'rerun' else 'whole ones are kept'}")

    def _train(self, cells: list[Any], paths: ModelPaths) -> dict[str | None, str]:
        """Train what is missing; why some could not be, by key."""
        jobs = [TrainingJob(training, paths) for training in trainings_of(cells).values()]
        jobs = [job for job in jobs if not job.is_done]
        unable: dict[str | None, str] = {}
        if jobs:
            self.listener.begin("training", len(jobs), "models")
        with closing(self.options.executor(run_job, jobs)) as outcomes:
            for job, outcome in outcomes:
                if isinstance(outcome, Failure):
                    self.listener.note(f"{job.name}: {outcome.reason}")
                    unable[job.training.key] = outcome.reason
                else:
                    self.summary.trained += 1
                self.listener.advance(1)
        return unable

    def _run_episodes(
        self, cells: list[Cell], jobs: list[Block], unable: dict[str | None, str], paths: ModelPaths
    ) -> None:
        if not self.options.anytime:
            self._run_blocks([job for job in jobs if _training_key(job.cell) not in unable])
            return
        able = [cell for cell in cells if _training_key(cell) not in unable]
        from wmel.experiments.rounds import rounds  # the verdicts of gaps are needed only here

        for blocks in rounds(self.store, able, paths, self.study.block):
            self._run_blocks(blocks)

    def _run_blocks(self, jobs: list[Block]) -> None:
        if jobs:
            self.listener.begin("running", sum(job.count for job in jobs), "episodes")
        for cell in {job.cell.key: job.cell for job in jobs}.values():
            self.store.forget_failure(cell)
        in_here = isinstance(self.options.executor, Serial)
        unwritten = 0
        work = (lambda job: run_block(job, self.listener.advance)) if in_here else run_job
        with closing(self.options.executor(work, jobs)) as outcomes:
            for left, (job, outcome) in zip(reversed(range(len(jobs))), outcomes, strict=True):
                if isinstance(outcome, Failure):
                    self._fail(job.cell, job.name, outcome.reason)
                else:
                    unwritten = self._keep(job, outcome, unwritten)
                if not in_here or isinstance(outcome, Failure):
                    self.listener.advance(job.count)
                if unwritten == UNWRITTEN and left:
                    self.summary.failures.append(f"nothing more can be written: {left} blocks are left for another run")
                    return

    def _run_readings(self, cells: list[Diagnostic], paths: ModelPaths) -> None:
        jobs = [Reading(cell, paths) for cell in cells]
        if jobs:
            self.listener.begin("reading", len(jobs), "readings")
        for cell in cells:
            self.store.forget_failure(cell)
        shares: list[float] = []  # of the reading in hand, done so far

        def read(job: Reading) -> ReadingResult:
            def advance(share: float) -> None:
                shares.append(share)
                self.listener.advance(share)

            return run_reading(job, advance)

        in_here = isinstance(self.options.executor, Serial)
        with closing(self.options.executor(read if in_here else run_job, jobs)) as outcomes:
            for job, outcome in outcomes:
                if isinstance(outcome, Failure):
                    self._fail(job.cell, job.name, outcome.reason)
                elif self._write(lambda job=job, outcome=outcome: self.store.write_reading(job, outcome)):
                    self.summary.readings += 1
                    if len(jobs) > 1:
                        found = build_diagnostic(job.cell).describe(outcome.data)
                        self.listener.note(f"{job.cell.arm}: {found} ({outcome.seconds:.0f} s)")
                self.listener.advance(1 - sum(shares))
                shares.clear()

    def _keep(self, job: Block, outcome: BlockResult, unwritten: int) -> int:
        """Store a block; how many in a row could not be."""
        if not self._write(lambda: self.store.write_block(job, outcome)):
            return unwritten + 1
        self.summary.episodes += job.count
        errors = outcome.run.table["error"]
        if (errors != "").all():
            self.summary.failures.append(f"{job.name}: every episode broke: {errors[0]}")
        return 0

    def _write(self, write: Any) -> bool:
        try:
            write()
        except CannotWrite as error:
            self.summary.failures.append(str(error))
            return False
        return True

    def _fail(self, cell: Cell | Diagnostic, where: str, reason: str) -> None:
        named = f"{where}: {reason}" if where != "its model" else f"{cell.name}: its model: {reason}"
        self.summary.failures.append(named)
        self._write(lambda: self.store.write_failure(cell, where, reason))


def _could_stop_early(store: Store) -> bool:
    """Whether what is stored was run by rounds."""
    try:
        return store.exists and store.manifest().anytime
    except BadRecord:
        return False


def _training_key(cell: Cell | Diagnostic) -> str | None:
    training = training_of_cell(cell)
    return None if training is None else training.key
