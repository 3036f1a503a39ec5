"""Jobs: a block of episodes, a training or a reading, from its cell to its result. A worker runs nothing else."""

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wmel.analysis.scorecard import coverage, has_coverage_axis
from wmel.closed_loop.run import BenchmarkRunner
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.cell import Cell, Diagnostic, Part, Training
from wmel.contract.criterion import Criterion
from wmel.contract.trainer import ProgressListener
from wmel.errors import BadInput, WmelError, describe_error, locate_code, locate_error
from wmel.experiments.build import (
    ModelPaths,
    build_diagnostic,
    build_environment,
    build_model,
    build_perturbation,
    build_policy,
    build_trainer,
    data_hash,
    describe_parts,
    described_model_hash,
    is_whole,
    weights_file_hash,
)
from wmel.experiments.provenance import cell_provenance
from wmel.schema import Coverage, Run

TIMED_DECISIONS = 100  # in the first block of a cell, for latency


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive episodes of a cell that are run and stored together."""

    cell: Cell
    first: int
    count: int
    paths: ModelPaths
    trajectories: bool = False  # whether every step is stored
    is_kept: bool = True  # whether its rows outlive this process

    @property
    def name(self) -> str:
        return f"{self.cell.name}/{self.first}-{self.first + self.count - 1}"

    @cached_property
    def runner(self) -> BenchmarkRunner:
        """The runner of the episodes."""
        task, arm, paths = self.cell.task, self.cell.arm, self.paths
        world = build_environment(task.environment, paths)
        return BenchmarkRunner(
            world,
            build_policy(arm, world, build_model(task.environment, arm.model, paths), paths),
            self.count,
            task.horizon,
            perturb_prob=task.probability,
            perturbation=build_perturbation(task.perturbation, paths),
            perturb_step=task.step,
            seed=self.cell.seed,
            first_episode=self.first,
            criterion=None if task.criterion is None else Criterion.parse(task.criterion),
            stop=task.stop,
            timed_decisions=TIMED_DECISIONS if self.first == 0 else 0,
        )


@dataclass(frozen=True, eq=False)
class BlockResult:
    """The run of a block, with its provenance."""

    run: Run
    provenance: dict[str, Any]
    seconds: float
    coverage: Coverage | None = None  # of the visited states, if the observation has an axis
    trajectories: dict[str, Any] | None = None  # arrays by name, if they are stored


def run_block(block: Block, progress: Callable[[float], None] = lambda finished: None) -> BlockResult:
    """Runs the episodes of a block."""
    start_s, runner = time.perf_counter(), block.runner
    world = runner.environment
    measures_coverage = has_coverage_axis(world.spec.observation)
    steps = Trajectories() if measures_coverage or block.trajectories else None
    run = runner.run(progress, steps)
    visited = None
    if steps is not None and measures_coverage and steps.next_states:
        visited = coverage(world.spec.observation, world.observe(np.concatenate(steps.next_states)))
    provenance = block_provenance(block, run) if block.is_kept else {}
    arrays = steps.arrays(world, run.table) if steps is not None and block.trajectories else None
    return BlockResult(run, provenance, time.perf_counter() - start_s, visited, arrays)


def block_provenance(block: Block, run: Run) -> dict[str, Any]:
    """The provenance of the rows of a block, which a later run compares with its own."""
    environment, model = block.cell.task.environment, block.cell.arm.model
    return {**cell_provenance(block.cell, run), **_model_provenance(environment, model, block.paths)}


def _model_provenance(environment: Part, model: Mapping[str, Any] | None, paths: ModelPaths) -> dict[str, Any]:
    folder = paths.folder_of(environment, model)
    return {
        "weights_file": weights_file_hash(folder),
        "card": described_model_hash(folder),
        "data": data_hash(folder),
        "device": paths.device_of(environment, model),
    }


def outcomes_of(
    executor: Any, work: Callable[[Any], Any], jobs: Sequence[Any]
) -> Generator[tuple[Any, Any], None, None]:
    """Each job with its outcome, in the order of the executor; raises BadInput if it fails or leaves jobs undone."""
    done = 0
    try:
        with closing(executor(work, jobs)) as outcomes:
            for job, outcome in outcomes:
                yield job, outcome
                done += 1
    except (WmelError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        place = locate_error(error) or locate_code(type(executor).__call__)
        raise BadInput(f"executor {type(executor).__name__} breaks: {describe_error(error)}{place}") from error
    if done < len(jobs):
        place = locate_code(type(executor).__call__)
        raise BadInput(f"executor {type(executor).__name__} has done {done} of {len(jobs)} jobs{place}")


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """The training of a model, and the folder of its checkpoint."""

    training: Training
    paths: ModelPaths

    @property
    def name(self) -> str:
        return self.training.name

    @property
    def folder(self) -> Path:
        folder = self.paths.folder_of(self.training.environment, {"trainer": self.training.trainer})
        assert folder is not None
        return folder

    @property
    def is_done(self) -> bool:
        return is_whole(self.folder)


def run_training(job: TrainingJob) -> float:
    """Trains a model and writes its checkpoint; returns the seconds it took."""
    start_s = time.perf_counter()
    world = build_environment(job.training.environment, job.paths)
    checkpoint = build_trainer(job.training.trainer, job.paths).train(world, job.folder, ProgressListener())
    if checkpoint.card["fit"].get("interrupted"):
        raise KeyboardInterrupt  # a fit that Ctrl-C stopped has other weights than those of the recipe
    return time.perf_counter() - start_s


@dataclass(frozen=True, eq=False)
class ReadingJob:
    """The reading of a diagnostic."""

    cell: Diagnostic
    paths: ModelPaths

    @property
    def name(self) -> str:
        return self.cell.name


@dataclass(frozen=True, eq=False)
class ReadingResult:
    """The result of a diagnostic as JSON, with its provenance."""

    data: dict[str, Any]
    provenance: dict[str, Any]
    seconds: float


def run_job(job: Block | TrainingJob | ReadingJob) -> Any:
    """Runs a job of any kind."""
    if isinstance(job, Block):
        return run_block(job)
    return run_training(job) if isinstance(job, TrainingJob) else run_reading(job)


def group_by_model(jobs: list[Any]) -> list[Any]:
    """The jobs ordered so that those of one model follow each other, and few models are needed at a time."""
    models = [json.dumps(_model_of(job.cell), sort_keys=True) for job in jobs]
    first = {model: place for place, model in reversed(list(enumerate(models)))}
    return [job for _, job in sorted(zip(models, jobs, strict=True), key=lambda one: first[one[0]])]


def _model_of(cell: Cell | Diagnostic) -> Any:
    return cell.model if isinstance(cell, Diagnostic) else cell.arm.model


def run_reading(job: ReadingJob, progress: Callable[[float], None] = lambda share: None) -> ReadingResult:
    """Reads a diagnostic of a model; `progress` receives the shares of the work as they are done."""
    start_s, cell, paths = time.perf_counter(), job.cell, job.paths
    world = build_environment(cell.environment, paths)
    model = build_model(cell.environment, cell.model, paths)
    diagnostic = build_diagnostic(cell, paths)
    data = diagnostic.read(
        world,
        cell.arm,
        model,
        objective=None if cell.objective is None else dict(cell.objective),
        seed=cell.seed,
        source=None
        if cell.source is None
        else (cell.source["name"], build_model(cell.environment, cell.source, paths)),
        progress=progress,
    )
    weights = getattr(getattr(model, "spec", None), "weights", None)
    provenance = {
        **cell_provenance(cell, None, weights),
        **_model_provenance(cell.environment, cell.model, paths),
    }
    return ReadingResult({**data, "parts": describe_parts(cell)}, provenance, time.perf_counter() - start_s)
