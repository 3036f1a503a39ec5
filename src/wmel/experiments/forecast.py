"""How long a study will take, estimated from a few episodes of each kind of cell."""

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from wmel.closed_loop.run import BenchmarkRunner
from wmel.contract.cell import FLOOR, Arm, Cell, Diagnostic, Training
from wmel.experiments.build import (
    ModelPaths,
    build_environment,
    build_model_for_check,
    build_policy,
    build_trainer,
    model_kind,
)
from wmel.experiments.expand import trainings_of
from wmel.experiments.jobs import Block, TrainingJob
from wmel.experiments.resume import Changed, changed_cells, changed_readings
from wmel.experiments.store import Store, missing_blocks
from wmel.machine import limit_threads

FEW, MORE = 2, 8  # episodes of a trial
STEPS, MAX_TRIAL_S = 30, 1.0  # steps of the first trial; seconds that a trial of whole episodes may take


@dataclass(frozen=True)
class Forecast:
    """What is left to run of a study."""

    cells: int
    whole: int  # cells of which nothing is missing
    episodes: int
    models: int
    seconds: float
    readings: int = 0
    untimed: int = 0  # readings of diagnostics without a stored reading to estimate from
    changed: tuple[Changed, ...] = ()  # stored cells of another provenance


def forecast(
    cells: list[Cell],
    readings: list[Diagnostic],
    store: Store,
    paths: ModelPaths,
    block: int,
    workers: int | None,
    note: Callable[[str], None],
) -> Forecast:
    """Times a trial of every kind of cell that is not stored, with untrained models; workers share the total time."""
    unread = [one for one in readings if store.reading(one) is None]
    with nullcontext() if workers is None else limit_threads(1):  # as many threads as a worker has
        estimate = _forecast_episodes(cells, unread, store, paths, block, workers or 1, note)
    each = _reading_seconds(store, readings)
    timed = [each[one.diagnostic["name"]] for one in unread if one.diagnostic["name"] in each]
    changed = (*changed_cells(store, cells, paths), *changed_readings(store, readings, paths))
    return replace(
        estimate,
        seconds=estimate.seconds + sum(timed) / (workers or 1),
        readings=len(unread),
        untimed=len(unread) - len(timed),
        changed=changed,
    )


def _reading_seconds(store: Store, readings: list[Diagnostic]) -> dict[str, float]:
    """The mean seconds of stored readings, by diagnostic."""
    seconds_of: dict[str, list[float]] = {}
    for one in readings:
        stored = store.reading(one)
        if stored is not None:
            seconds_of.setdefault(one.diagnostic["name"], []).append(stored["seconds"])
    return {name: sum(seconds) / len(seconds) for name, seconds in seconds_of.items()}


def _forecast_episodes(
    cells: list[Cell],
    unread: list[Diagnostic],
    store: Store,
    paths: ModelPaths,
    block: int,
    workers: int,
    note: Callable[[str], None],
) -> Forecast:
    models = [TrainingJob(one, paths) for one in (trainings_of(cells) | trainings_of(unread)).values()]
    untrained = [job for job in models if not job.is_done]
    seconds = _training_seconds([job.training for job in untrained], paths)
    blocks = [(cell, missing_blocks(store, cell, paths, block)) for cell in cells]
    kinds = {cell.key: _cell_kind(cell, paths) for cell in cells}
    timed: dict[tuple[str, str, str], Any] = {}
    longest = 0.0
    for cell, jobs in blocks:
        kind = kinds[cell.key]
        if jobs and kind not in timed:
            timed[kind] = _stored_seconds(store, [one for one in cells if kinds[one.key] == kind])
            if timed[kind] is None:
                note(f"trying {cell.label}")
                timed[kind] = _block_seconds(cell, paths)
        each = [timed[kind](job) for job in jobs]
        seconds, longest = seconds + sum(each), max([longest, *each])
    left = [jobs for _, jobs in blocks if jobs]
    episodes = sum(job.count for jobs in left for job in jobs)
    return Forecast(len(cells), len(cells) - len(left), episodes, len(untrained), max(seconds / workers, longest))


def _cell_kind(cell: Cell, paths: ModelPaths) -> tuple[str, str, str]:
    """What cells of equal run time share: they may differ in seeds and checkpoints of one training."""
    return cell.setting, json.dumps(cell.arm.policy), model_kind(cell.arm.model, paths)


def _stored_seconds(store: Store, cells: list[Cell]) -> Callable[[Block], float] | None:
    """The time of a block by its size, from the stored cells of its kind; None if there are none."""
    stored = [block for cell in cells for block in store.blocks(cell)[0]]
    episodes = sum(block.count for block in stored)
    each = sum(block.seconds for block in stored) / episodes if episodes else 0.0
    return (lambda block: each * block.count) if episodes else None


def _block_seconds(cell: Cell, paths: ModelPaths) -> Callable[[Block], float]:
    """The time of a block by its size: a line through two trials; the first block also times decisions.

    Where whole episodes would take too long, some steps of a few episodes are timed, and time is proportional to size.
    """
    few, more = min(FEW, cell.episodes), min(MORE, cell.episodes)
    runner = replace(_runner(cell, paths), timed_decisions=0)
    replace(runner, episodes=1, horizon=1).run()  # so that work that is done once is not timed
    steps = min(STEPS, runner.max_steps)
    episodes_s = _measure_seconds(lambda: replace(runner, episodes=few, horizon=steps).run()) * runner.max_steps / steps
    if episodes_s > MAX_TRIAL_S:
        return lambda block: episodes_s / few * block.count
    one = _measure_seconds(lambda: replace(runner, episodes=few).run())
    other = _measure_seconds(lambda: replace(runner, episodes=more).run())
    timed = _measure_seconds(lambda: replace(runner, episodes=more, timed_decisions=100).run())
    each = max(0.0, (other - one) / (more - few)) if more > few else 0.0
    fixed = max(0.0, other - each * more)
    return lambda block: fixed + each * block.count + (max(0.0, timed - other) if block.first == 0 else 0.0)


def _runner(cell: Cell, paths: ModelPaths) -> BenchmarkRunner:
    """The runner of a cell; a model that is not trained yet is timed with random weights."""
    floor = replace(cell, arm=Arm(FLOOR, policy={"name": FLOOR}))
    runner = Block(floor, 0, cell.episodes, paths).runner
    model = build_model_for_check(cell.task.environment, cell.arm.model, paths)
    return replace(runner, policy=build_policy(cell.arm, runner.environment, model, paths))


def _training_seconds(trainings: list[Training], paths: ModelPaths) -> float:
    """The time of all trainings; those that differ in their seed alone take equally long."""
    seconds: dict[str, float] = {}
    for one in trainings:
        kind = _training_kind(one)
        seconds[kind] = seconds.get(kind) or _one_training_seconds(one, paths)
    return sum(seconds[_training_kind(one)] for one in trainings)


def _training_kind(training: Training) -> str:
    return replace(training, trainer={**training.trainer, "seed": 0}).key


def _one_training_seconds(training: Training, paths: ModelPaths) -> float:
    """The forecast of the trainer; 0 if it has none."""
    trainer = build_trainer(training.trainer, paths)
    return trainer.forecast(build_environment(training.environment, paths))


def _measure_seconds(work: Callable[[], Any]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s
