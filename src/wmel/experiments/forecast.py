"""How long a study will take: a few episodes of each kind of cell are run, and the rest is counted from them."""

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
    build_model_to_try,
    build_policy,
    build_trainer,
    kind_of,
)
from wmel.experiments.expand import trainings_of
from wmel.experiments.jobs import Block, TrainingJob
from wmel.experiments.store import Changed, Store, changed_cells, changed_readings, missing_blocks
from wmel.machine import limit_threads

FEW, MORE = 2, 8  # episodes tried
STEPS, PATIENCE = 30, 1.0  # steps of them tried first; seconds that whole episodes may take to be tried as well


@dataclass(frozen=True)
class Forecast:
    """What is left of a study."""

    cells: int
    whole: int  # cells of which nothing is missing
    episodes: int
    models: int
    seconds: float
    readings: int = 0
    untimed: int = 0  # readings of which none is stored to tell how long they take
    changed: tuple[Changed, ...] = ()  # stored cells that were made with something else


def forecast(
    cells: list[Cell],
    readings: list[Diagnostic],
    store: Store,
    paths: ModelPaths,
    block: int,
    workers: int | None,
    say: Callable[[str], None],
) -> Forecast:
    """Try every kind of cell that is not stored, the models untrained; times add up, and are shared by workers."""
    unread = [one for one in readings if store.reading(one) is None]
    with nullcontext() if workers is None else limit_threads(1):  # as many threads as it will have
        found = _forecast(cells, unread, store, paths, block, workers or 1, say)
    each = _reading_seconds(store, readings)
    timed = [each[one.diagnostic["name"]] for one in unread if one.diagnostic["name"] in each]
    changed = (*changed_cells(store, cells, paths), *changed_readings(store, readings, paths))
    return replace(
        found,
        seconds=found.seconds + sum(timed) / (workers or 1),
        readings=len(unread),
        untimed=len(unread) - len(timed),
        changed=changed,
    )


def _reading_seconds(store: Store, readings: list[Diagnostic]) -> dict[str, float]:
    """What a reading took on average, by diagnostic, where some are stored."""
    taken: dict[str, list[float]] = {}
    for one in readings:
        found = store.reading(one)
        if found is not None:
            taken.setdefault(one.diagnostic["name"], []).append(found["seconds"])
    return {name: sum(seconds) / len(seconds) for name, seconds in taken.items()}


def _forecast(
    cells: list[Cell],
    unread: list[Diagnostic],
    store: Store,
    paths: ModelPaths,
    block: int,
    workers: int,
    say: Callable[[str], None],
) -> Forecast:
    models = [TrainingJob(one, paths) for one in (trainings_of(cells) | trainings_of(unread)).values()]
    untrained = [job for job in models if not job.is_done]
    seconds = _training_seconds([job.training for job in untrained], paths)
    blocks = [(cell, missing_blocks(store, cell, paths, block)) for cell in cells]
    kinds = {cell.key: _cell_kind(cell, paths) for cell in cells}
    tried: dict[tuple[str, str, str], Any] = {}
    longest = 0.0
    for cell, jobs in blocks:
        kind = kinds[cell.key]
        if jobs and kind not in tried:
            tried[kind] = _stored_seconds(store, [one for one in cells if kinds[one.key] == kind])
            if tried[kind] is None:
                say(f"trying {cell.name}")
                tried[kind] = _block_seconds(cell, paths)
        each = [tried[kind](job) for job in jobs]
        seconds, longest = seconds + sum(each), max([longest, *each])
    left = [jobs for _, jobs in blocks if jobs]
    episodes = sum(job.count for jobs in left for job in jobs)
    return Forecast(len(cells), len(cells) - len(left), episodes, len(untrained), max(seconds / workers, longest))


def _cell_kind(cell: Cell, paths: ModelPaths) -> tuple[str, str, str]:
    """What cells share that take as long as each other: seeds and checkpoints of one training change nothing."""
    return cell.setting, json.dumps(cell.arm.policy), kind_of(cell.arm.model, paths)


def _stored_seconds(store: Store, cells: list[Cell]) -> Callable[[Block], float] | None:
    """By what cells of the kind took that are stored, if any."""
    stored = [block for cell in cells for block in store.blocks(cell)[0]]
    episodes = sum(block.count for block in stored)
    each = sum(block.seconds for block in stored) / episodes if episodes else 0.0
    return (lambda block: each * block.count) if episodes else None


def _block_seconds(cell: Cell, paths: ModelPaths) -> Callable[[Block], float]:
    """The time of a block by its size: a line through two that were run; in the first, decisions are timed besides.

    Where whole episodes would try patience, some steps of a few stand for all, and nothing is gained by a larger block.
    """
    few, more = min(FEW, cell.episodes), min(MORE, cell.episodes)
    runner = replace(_runner(cell, paths), timed_decisions=0)
    replace(runner, episodes=1, horizon=1).run()  # what is done once is done
    steps = min(STEPS, runner.max_steps)
    whole = _seconds(lambda: replace(runner, episodes=few, horizon=steps).run()) * runner.max_steps / steps
    if whole > PATIENCE:
        return lambda block: whole / few * block.count
    one = _seconds(lambda: replace(runner, episodes=few).run())
    other = _seconds(lambda: replace(runner, episodes=more).run())
    timed = _seconds(lambda: replace(runner, episodes=more, timed_decisions=100).run())
    each = max(0.0, (other - one) / (more - few)) if more > few else 0.0
    fixed = max(0.0, other - each * more)
    return lambda block: fixed + each * block.count + (max(0.0, timed - other) if block.first == 0 else 0.0)


def _runner(cell: Cell, paths: ModelPaths) -> BenchmarkRunner:
    """The episodes of a cell; a model that is not trained yet costs what an untrained one of its shape does."""
    floor = replace(cell, arm=Arm(FLOOR, policy={"name": FLOOR}))
    runner = Block(floor, 0, cell.episodes, paths).runner
    model = build_model_to_try(cell.task.environment, cell.arm.model, paths)
    return replace(runner, policy=build_policy(cell.arm, runner.environment, model, paths))


def _training_seconds(trainings: list[Training], paths: ModelPaths) -> float:
    """Of all of them; those that differ in their seed alone take as long as each other."""
    tried: dict[str, float] = {}
    for one in trainings:
        kind = _kind(one)
        tried[kind] = tried.get(kind) or _one_training_seconds(one, paths)
    return sum(tried[_kind(one)] for one in trainings)


def _kind(training: Training) -> str:
    return replace(training, trainer={**training.trainer, "seed": 0}).key


def _one_training_seconds(training: Training, paths: ModelPaths) -> float:
    """As the trainer says; 0 where it cannot."""
    trainer = build_trainer(training.trainer, paths)
    return trainer.forecast(build_environment(training.environment, paths))


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
