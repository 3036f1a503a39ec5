"""The runner of every verb: it trains models, runs blocks of episodes and reads diagnostics into one store."""

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
from wmel.experiments.check import check_cells, check_diagnostics, find_other_tasks
from wmel.experiments.executors import Failure, Serial
from wmel.experiments.expand import Study, training_of_cell, trainings_of
from wmel.experiments.identity import check_picklable, why_unidentified
from wmel.experiments.jobs import (
    Block,
    BlockResult,
    ReadingJob,
    ReadingResult,
    TrainingJob,
    group_by_model,
    outcomes_of,
    run_block,
    run_job,
    run_reading,
)
from wmel.experiments.load import contiguous_blocks
from wmel.experiments.provenance import unchecked_code
from wmel.experiments.resume import changed_cells, changed_readings, refuse_other_result
from wmel.experiments.store import Store, missing_blocks

MAX_UNWRITTEN = 2  # consecutive blocks that cannot be written, after which the disk counts as full


@dataclass(frozen=True)
class RunOptions:
    """Which cells of a study to run, and how."""

    only: str | None = None  # a pattern of cell names
    limit: int | None = None  # number of cells
    executor: Any = field(default_factory=Serial)
    anytime: bool = False
    when_changed: str | None = None  # "rerun" or "keep" rows of another provenance; None: raise BadInput
    device: str = "cpu"  # of models from checkpoints
    trajectories: bool = False  # whether to store every step
    needs_criterion: bool = True


@dataclass(eq=False)
class Summary:
    """What this call ran, and what failed."""

    episodes: int = 0
    trained: int = 0
    readings: int = 0
    failed: dict[str, list[str]] = field(default_factory=dict)  # reason -> names of what failed
    places: dict[str, str] = field(default_factory=dict)  # error -> the line of the user's code that raised it

    def fail(self, what: str, reason: str) -> None:
        self.failed.setdefault(reason, []).append(what)

    @property
    def failures(self) -> list[str]:
        """A line for each reason: the first name that failed, and how many others did."""
        lines = (
            f"{what[0]}{f' and {len(what) - 1} more' if len(what) > 1 else ''}: {reason}" if what[0] else reason
            for reason, what in self.failed.items()
        )
        return [self.locate(line) for line in lines]

    def locate(self, failure: str) -> str:
        """A line about a failure, with the line of the user's code if it ends with an error of known place."""
        return failure + next((place for error, place in self.places.items() if failure.endswith(error)), "")


def select_cells(cells: Sequence[Any], options: RunOptions) -> list[Any]:
    """The cells whose names match `only`, at most `limit`."""
    selected = [cell for cell in cells if options.only is None or fnmatch(cell.name, options.only)]
    return selected[: options.limit]


def paths_of(study: Study, store: Store, options: RunOptions) -> ModelPaths:
    """The paths of the models of a study; raises BadInput for a device that this machine lacks."""
    if options.device != "cpu":
        from wmel.training.checkpoints import parse_device  # torch is needed only here

        parse_device(options.device)
    cells: list[Any] = [*study.cells, *study.diagnostics]
    models = store.models if trainings_of(cells) else Path()  # a store in memory has no folder until it needs one
    return ModelPaths(models, study.folder, options.device, study.objects, store.moved)


def run_study(study: Study, store: Store, options: RunOptions, listener: ProgressListener) -> Summary:
    """Runs what is missing of the selected cells; failures are recorded, and the other cells run on."""
    return _Runner(study, store, options, listener).run()


@dataclass(eq=False)
class _Runner:
    study: Study
    store: Store
    options: RunOptions
    listener: ProgressListener
    summary: Summary = field(default_factory=Summary)
    held: set[tuple[str, int]] = field(default_factory=set)  # what should be stored, as `_stored` finds it

    def run(self) -> Summary:
        study, store, options = self.study, self.store, self.options
        cells, readings = (select_cells(some, options) for some in (study.cells, study.diagnostics))
        if not cells and not readings:
            like = (*study.cells, *study.diagnostics)[0].name
            raise BadInput(f"no cell has a name like {options.only!r}; names are like {like!r}")
        for metric in study.metrics:
            try_metric(metric)
        if store.exists:
            refuse_other_result(store, study)
        paths = paths_of(study, store, options)
        outdated = [*self._find_unidentified([*cells, *readings]), *self._find_changed(cells, readings, paths)]
        self._check(cells, readings, {cell.key for cell in outdated}, paths)
        for line in (*study.notes, *find_other_tasks([*cells, *readings], paths)):
            self.listener.note(line)
        with store.locked():
            for cell in cells:
                for problem in store.drop_damaged(cell):
                    self.listener.note(f"{problem}: it is run again")
            broken = [error for cell in cells for error in store.drop_broken(cell)]
            if broken:
                self.listener.note(f"{len(broken)} blocks whose episodes all broke are run again: {broken[0]}")
            for cell in outdated:
                store.drop(cell)
            self.held = self._stored([*cells, *readings])
            stops_early = options.anytime or _was_anytime(store)
            looks = self._earlier_looks()
            store.write_manifest(study, anytime=stops_early, looks=looks)
            jobs = [block for cell in cells for block in self._missing(cell, paths)]
            unread = [one for one in readings if store.reading(one) is None]
            left = [*{job.cell.key: job.cell for job in jobs}.values(), *unread]
            for cell in left:
                store.forget_failure(cell)
            untrained = self._train(left, paths)
            for cell in left:
                if _training_key(cell) in untrained:
                    self._fail(cell, "its model", untrained[_training_key(cell)])
            self._run_episodes(cells, jobs, untrained, paths)
            looks = self._with_this_look(looks)
            self._write(lambda: store.write_manifest(study, anytime=stops_early, looks=looks))
            self._run_readings([one for one in unread if _training_key(one) not in untrained], paths)
            lost = {key for key, _ in self.held - self._stored([*cells, *readings])}
            for cell in (one for one in (*cells, *readings) if one.key in lost):
                self.summary.fail(cell.name, "its results were removed from the store during the run")
        return self.summary

    def _stored(self, cells: Sequence[Cell | Diagnostic]) -> set[tuple[str, int]]:
        """The key of each cell that has rows, with the first episode of each of its blocks, or a reading, with 0."""
        found: set[tuple[str, int]] = set()
        for cell in cells:
            if isinstance(cell, Cell):
                found |= {(cell.key, block.first) for block in self.store.blocks(cell)[0]}
            elif self.store.reading(cell) is not None:
                found.add((cell.key, 0))
        return found

    def _earlier_looks(self) -> list[dict[str, int]]:
        """The episodes of each cell at each earlier verdict. Rows that were dropped since count no more."""
        try:
            looks = self.store.manifest().looks if self.store.exists else ()
        except BadRecord:
            return []
        stored = {cell.key: self._count(cell) for cell in self.study.cells}
        return [{key: min(look[key], count) for key, count in stored.items() if look.get(key)} for look in looks]

    def _with_this_look(self, looks: list[dict[str, int]]) -> list[dict[str, int]]:
        """The looks with that of the verdict which follows this run."""
        now = {cell.key: count for cell in self.study.cells if (count := self._count(cell))}
        return looks if now in looks or not self.store.is_kept else [*looks, now]

    def _count(self, cell: Cell) -> int:
        """How many of its episodes a cell has stored, from the first one on."""
        return min(cell.episodes, sum(block.count for block in contiguous_blocks(self.store.blocks(cell)[0])))

    def _missing(self, cell: Cell, paths: ModelPaths) -> list[Block]:
        return missing_blocks(self.store, cell, paths, self.study.block, trajectories=self.options.trajectories)

    def _check(self, cells: list[Cell], readings: list[Diagnostic], outdated: set[str], paths: ModelPaths) -> None:
        """Checks the cells that will run, and the oracles that their models are compared with."""
        left = {cell.key for cell in cells if self._missing(cell, paths)} | outdated
        settings = {cell.setting for cell in cells if cell.key in left}
        checked = [one for one in cells if one.key in left or (one.arm.name == ORACLE and one.setting in settings)]
        check_cells(checked, paths, needs_criterion=self.options.needs_criterion)
        unread = [one for one in readings if one.key in outdated or self.store.reading(one) is None]
        check_diagnostics(unread, paths)
        if not isinstance(self.options.executor, Serial) and (checked or unread):
            check_picklable(self.study.objects, partial(outcomes_of, self.options.executor))

    def _find_unidentified(self, cells: list[Any]) -> list[Any]:
        """Stored cells of live objects without an identity: an object of the same name may be another one."""
        live = [cell for cell in cells if has_live_part(cell)]
        stored = [cell for cell in live if self._is_stored(cell)]
        if stored:
            reasons = (why_unidentified(one) for one in self.study.objects.values())
            why = next((reason for reason in reasons if reason is not None), "their content is unknown")
            self.listener.note(
                f"{len(stored)} cells have objects that cannot be identified, and are run again ({why}): name a "
                "model as package.module:object, or give its spec the hash of its weights"
            )
        return stored

    def _is_stored(self, cell: Cell | Diagnostic) -> bool:
        return bool(self._stored([cell]))

    def _find_changed(
        self, cells: list[Cell], readings: list[Diagnostic], paths: ModelPaths
    ) -> list[Cell | Diagnostic]:
        """Cells with rows of another provenance that must be dropped; `when_changed` decides which may stay."""
        if not self.store.is_kept:
            return []  # rows in memory are of this process
        for line in unchecked_code([*cells, *readings]):
            self.listener.note(line)
        changed = [*changed_cells(self.store, cells, paths), *changed_readings(self.store, readings, paths)]
        if not changed:
            return []
        words = f"{len(changed)} cells were computed with other {', '.join(changed[0].differences[:3])}"
        choice = self.options.when_changed
        if choice is None:
            raise BadInput(f"{words}: run them again with --rerun=changed, or keep them with --keep")
        self.listener.note(f"{words}: {'they are run again' if choice == 'rerun' else 'whole ones are kept'}")
        return [one.cell for one in changed if choice == "rerun" or not one.is_whole]  # rows of a cell are never mixed

    def _train(self, cells: list[Any], paths: ModelPaths) -> dict[str | None, str]:
        """Trains the models that are missing; returns why some could not be trained, by key."""
        jobs = [TrainingJob(training, paths) for training in trainings_of(cells).values()]
        jobs = [job for job in jobs if not job.is_done]
        untrained: dict[str | None, str] = {}
        if jobs:
            self.listener.begin("training", len(jobs), "models")
        with closing(outcomes_of(self.options.executor, run_job, jobs)) as outcomes:
            for job, outcome in outcomes:
                if isinstance(outcome, Failure):
                    self.listener.note(f"{job.name}: {outcome.reason}")
                    untrained[job.training.key] = outcome.reason
                else:
                    self.summary.trained += 1
                self.listener.advance(1)
        return untrained

    def _run_episodes(
        self, cells: list[Cell], jobs: list[Block], untrained: dict[str | None, str], paths: ModelPaths
    ) -> None:
        if not self.options.anytime:
            self._run_blocks([job for job in jobs if _training_key(job.cell) not in untrained])
            return
        trained = [cell for cell in cells if _training_key(cell) not in untrained]
        from wmel.experiments.anytime import anytime_rounds  # the verdicts of gaps are needed only here

        for blocks in anytime_rounds(
            self.store, trained, paths, self.study.block, trajectories=self.options.trajectories
        ):
            self._run_blocks(blocks)

    def _run_blocks(self, jobs: list[Block]) -> None:
        jobs = group_by_model(jobs)
        if jobs:
            self.listener.begin("running", sum(job.count for job in jobs), "episodes")
        in_here = isinstance(self.options.executor, Serial)
        unwritten = 0
        work = (lambda job: run_block(job, self.listener.advance)) if in_here else run_job
        with closing(outcomes_of(self.options.executor, work, jobs)) as outcomes:
            for left, (job, outcome) in zip(reversed(range(len(jobs))), outcomes, strict=True):
                if isinstance(outcome, Failure):
                    self._fail(job.cell, job.name, outcome.reason)
                else:
                    unwritten = self._store_block(job, outcome, unwritten)
                if not in_here or isinstance(outcome, Failure):
                    self.listener.advance(job.count)
                if unwritten == MAX_UNWRITTEN and left:
                    self.summary.fail("", f"no more rows can be written: {left} blocks are left for another run")
                    return

    def _run_readings(self, cells: list[Diagnostic], paths: ModelPaths) -> None:
        jobs = group_by_model([ReadingJob(cell, paths) for cell in cells])
        if jobs:
            self.listener.begin("reading", len(jobs), "readings")
        shares: list[float] = []  # of the current reading, done so far

        def read(job: ReadingJob) -> ReadingResult:
            def advance(share: float) -> None:
                shares.append(share)
                self.listener.advance(share)

            return run_reading(job, advance)

        in_here = isinstance(self.options.executor, Serial)
        with closing(outcomes_of(self.options.executor, read if in_here else run_job, jobs)) as outcomes:
            for job, outcome in outcomes:
                if isinstance(outcome, Failure):
                    self._fail(job.cell, job.name, outcome.reason)
                elif self._write(lambda job=job, outcome=outcome: self.store.write_reading(job, outcome)):
                    self.summary.readings += 1
                    self.held.add((job.cell.key, 0))
                    if len(jobs) > 1:
                        summary = build_diagnostic(job.cell, paths).describe(outcome.data)
                        self.listener.note(f"{job.cell.arm}: {summary} ({outcome.seconds:.0f} s)")
                self.listener.advance(1 - sum(shares))
                shares.clear()

    def _store_block(self, job: Block, outcome: BlockResult, unwritten: int) -> int:
        """Stores a block; returns how many consecutive blocks could not be written."""
        if not self._write(lambda: self.store.write_block(job, outcome)):
            return unwritten + 1
        self.summary.episodes += job.count
        self.held.add((job.cell.key, job.first))
        errors = outcome.run.table["error"]
        if (errors != "").all():
            self.summary.fail(job.name, f"every episode broke: {errors[0]}")
            self.summary.places |= outcome.run.error_places
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


def _was_anytime(store: Store) -> bool:
    """Whether the stored rows come from an anytime run."""
    try:
        return store.exists and store.manifest().anytime
    except BadRecord:
        return False


def _training_key(cell: Cell | Diagnostic) -> str | None:
    training = training_of_cell(cell)
    return None if training is None else training.key
