"""The one runner: models first, then blocks of episodes and readings, through one executor, into one store."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from wmel.analysis.scorecard import try_metric
from wmel.contract.cell import ORACLE, Cell, Diagnostic, has_live_part
from wmel.contract.trainer import ProgressListener
from wmel.errors import BadInput, BadRecord, CannotWrite
from wmel.experiments.build import ModelPaths, build_diagnostic
from wmel.experiments.check import check_cells, check_diagnostics, other_tasks
from wmel.experiments.executors import Failure, Serial
from wmel.experiments.expand import Study, training_of_cell, trainings_of
from wmel.experiments.identity import check_objects_travel, why_unknown
from wmel.experiments.jobs import (
    Block,
    BlockResult,
    ReadingJob,
    ReadingResult,
    TrainingJob,
    model_by_model,
    run_block,
    run_job,
    run_reading,
    share_out,
)
from wmel.experiments.same_result import refuse_another
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
    failed: dict[str, list[str]] = field(default_factory=dict)  # reason -> what failed for it

    def fail(self, what: str, reason: str) -> None:
        self.failed.setdefault(reason, []).append(what)

    @property
    def failures(self) -> list[str]:
        """A line for each reason, with the first thing that failed for it and how many others."""
        return [
            f"{what[0]}{f' and {len(what) - 1} more' if len(what) > 1 else ''}: {reason}" if what[0] else reason
            for reason, what in self.failed.items()
        ]


def chosen_cells(cells: Sequence[Any], options: RunOptions) -> list[Any]:
    """Those of a pattern, the first so many."""
    found = [cell for cell in cells if options.only is None or fnmatch(cell.name, options.only)]
    return found[: options.limit]


def paths_of(study: Study, store: Store, options: RunOptions) -> ModelPaths:
    """Where the models of a study are; a device that is not here is refused."""
    if options.device != "cpu":
        from wmel.training.checkpoints import usable_device  # torch is needed only here

        usable_device(options.device)
    cells: list[Any] = [*study.cells, *study.diagnostics]
    models = store.models if trainings_of(cells) else Path()  # a store in memory has no folder until it is asked
    return ModelPaths(models, study.folder, options.device, study.objects, store.moved)


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
        for metric in study.metrics:
            try_metric(metric)
        if store.exists:
            refuse_another(store, study)
        paths = paths_of(study, store, options)
        outdated = [*self._unrecognised([*cells, *readings]), *self._changed(cells, readings, paths)]
        self._check(cells, readings, {cell.key for cell in outdated}, paths)
        for warning in other_tasks([*cells, *readings], paths):
            self.listener.note(warning)
        with store.locked():
            for cell in cells:
                for wrong in store.drop_damaged(cell):
                    self.listener.note(f"{wrong}: it is run again")
            for cell in outdated:
                store.drop(cell)
            early = options.anytime or _could_stop_early(store)
            store.write_manifest(study, anytime=early)
            jobs = [block for cell in cells for block in self._missing(cell, paths)]
            unread = [one for one in readings if store.reading(one) is None]
            left = [*{job.cell.key: job.cell for job in jobs}.values(), *unread]
            for cell in left:
                store.forget_failure(cell)
            unable = self._train(left, paths)
            for cell in left:
                if _training_key(cell) in unable:
                    self._fail(cell, "its model", unable[_training_key(cell)])
            self._run_episodes(cells, jobs, unable, paths)
            if early and not options.anytime and not any(self._missing(cell, paths) for cell in study.cells):
                store.write_manifest(study, anytime=False)  # nothing was left out: it could not stop early
            self._run_readings([one for one in unread if _training_key(one) not in unable], paths)
        return self.summary

    def _missing(self, cell: Cell, paths: ModelPaths) -> list[Block]:
        return missing_blocks(self.store, cell, paths, self.study.block, trajectories=self.options.trajectories)

    def _check(self, cells: list[Cell], readings: list[Diagnostic], outdated: set[str], paths: ModelPaths) -> None:
        """Try what is left to do; the oracle of a setting too, which its models are compared with."""
        left = {cell.key for cell in cells if self._missing(cell, paths)} | outdated
        settings = {cell.setting for cell in cells if cell.key in left}
        tried = [one for one in cells if one.key in left or (one.arm.name == ORACLE and one.setting in settings)]
        check_cells(tried, paths, needs_criterion=self.options.needs_criterion)
        unread = [one for one in readings if one.key in outdated or self.store.reading(one) is None]
        check_diagnostics(unread, paths)
        if not isinstance(self.options.executor, Serial) and (tried or unread):
            check_objects_travel(self.study.objects, partial(share_out, self.options.executor))

    def _unrecognised(self, cells: list[Any]) -> list[Any]:
        """Stored cells of objects that cannot be recognised: one of the same name may be another."""
        live = [cell for cell in cells if has_live_part(cell)]
        found = [cell for cell in live if self._is_stored(cell)]
        if found:
            reasons = (why_unknown(one) for one in self.study.objects.values())
            why = next((reason for reason in reasons if reason is not None), "it is unknown what they are made of")
            self.listener.note(
                f"{len(found)} cells are of objects that cannot be recognised, and are run again ({why}): name a "
                "model as package.module:object, or give its spec the hash of its weights"
            )
        return found

    def _is_stored(self, cell: Cell | Diagnostic) -> bool:
        if isinstance(cell, Diagnostic):
            return self.store.reading(cell) is not None
        return bool(self.store.blocks(cell)[0])

    def _changed(self, cells: list[Cell], readings: list[Diagnostic], paths: ModelPaths) -> list[Cell | Diagnostic]:
        """Cells whose rows were made with something else and must go; which ones may stay is for the caller to say."""
        changed = [*changed_cells(self.store, cells, paths), *changed_readings(self.store, readings, paths)]
        if not changed:
            return []
        words = f"{len(changed)} cells were made with other {', '.join(changed[0].differences[:3])}"
        how = self.options.when_changed
        if how is None:
            raise BadInput(f"{words}: run them again with --rerun changed, or let them stand with --keep")
        self.listener.note(f"{words}: {'they are run again' if how == 'rerun' else 'whole ones are kept'}")
        return [one.cell for one in changed if how == "rerun" or not one.is_whole]  # rows of a cell are never mixed

    def _train(self, cells: list[Any], paths: ModelPaths) -> dict[str | None, str]:
        """Train what is missing; why some could not be, by key."""
        jobs = [TrainingJob(training, paths) for training in trainings_of(cells).values()]
        jobs = [job for job in jobs if not job.is_done]
        unable: dict[str | None, str] = {}
        if jobs:
            self.listener.begin("training", len(jobs), "models")
        with closing(share_out(self.options.executor, run_job, jobs)) as outcomes:
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

        for blocks in rounds(self.store, able, paths, self.study.block, trajectories=self.options.trajectories):
            self._run_blocks(blocks)

    def _run_blocks(self, jobs: list[Block]) -> None:
        jobs = model_by_model(jobs)
        if jobs:
            self.listener.begin("running", sum(job.count for job in jobs), "episodes")
        in_here = isinstance(self.options.executor, Serial)
        unwritten = 0
        work = (lambda job: run_block(job, self.listener.advance)) if in_here else run_job
        with closing(share_out(self.options.executor, work, jobs)) as outcomes:
            for left, (job, outcome) in zip(reversed(range(len(jobs))), outcomes, strict=True):
                if isinstance(outcome, Failure):
                    self._fail(job.cell, job.name, outcome.reason)
                else:
                    unwritten = self._keep(job, outcome, unwritten)
                if not in_here or isinstance(outcome, Failure):
                    self.listener.advance(job.count)
                if unwritten == UNWRITTEN and left:
                    self.summary.fail("", f"nothing more can be written: {left} blocks are left for another run")
                    return

    def _run_readings(self, cells: list[Diagnostic], paths: ModelPaths) -> None:
        jobs = model_by_model([ReadingJob(cell, paths) for cell in cells])
        if jobs:
            self.listener.begin("reading", len(jobs), "readings")
        shares: list[float] = []  # of the reading in hand, done so far

        def read(job: ReadingJob) -> ReadingResult:
            def advance(share: float) -> None:
                shares.append(share)
                self.listener.advance(share)

            return run_reading(job, advance)

        in_here = isinstance(self.options.executor, Serial)
        with closing(share_out(self.options.executor, read if in_here else run_job, jobs)) as outcomes:
            for job, outcome in outcomes:
                if isinstance(outcome, Failure):
                    self._fail(job.cell, job.name, outcome.reason)
                elif self._write(lambda job=job, outcome=outcome: self.store.write_reading(job, outcome)):
                    self.summary.readings += 1
                    if len(jobs) > 1:
                        found = build_diagnostic(job.cell, paths).describe(outcome.data)
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
            self.summary.fail(job.name, f"every episode broke: {errors[0]}")
        return 0

    def _write(self, write: Any) -> bool:
        try:
            write()
        except CannotWrite as error:
            self.summary.fail("", str(error))
            return False
        return True

    def _fail(self, cell: Cell | Diagnostic, where: str, reason: str) -> None:
        if where == "its model":
            self.summary.fail(cell.name, f"its model: {reason}")
        else:
            self.summary.fail(where, reason)
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
