"""From a cell to its rows: the parts built by name, then run."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.closed_loop.benchmark_runner import BenchmarkRunner
from wmel.contract.cell import Cell
from wmel.contract.criterion import Criterion
from wmel.contract.run import Run
from wmel.study.cells import training_of
from wmel.study.provenance import provenance

TIMED = 100  # decisions timed for latency, in the first block of a cell


@dataclass(frozen=True)
class Places:
    """Where models are: those of the store by key, others relative to the study file; and what they are planned on."""

    models: Path
    folder: Path
    device: str = "cpu"

    def device_of(self, cell: Cell) -> str:
        """The kind of device that makes the rows of a cell; only checkpoints leave the CPU."""
        return "cpu" if model_folder(cell, self) is None else self.device.partition(":")[0]


@dataclass(frozen=True, eq=False)
class Block:
    """Episodes of a cell that are run and stored together."""

    cell: Cell
    first: int
    count: int
    places: Places

    @property
    def name(self) -> str:
        return f"{self.cell.name}/{self.first}-{self.first + self.count - 1}"

    @cached_property
    def runner(self) -> BenchmarkRunner:
        """The episodes, not yet run."""
        cell = self.cell
        world = built_environment(cell.environment, cell.environment_settings)
        return BenchmarkRunner(
            world,
            built_policy(cell, world, built_model(cell, world, self.places)),
            self.count,
            world.spec.max_steps if cell.horizon is None else cell.horizon,
            perturb_prob=cell.perturb_prob,
            perturbation=None if cell.perturbation is None else catalog.perturbation(cell.perturbation),
            perturb_step=cell.perturb_step,
            seed=cell.seed,
            first_episode=self.first,
            criterion=None if cell.success is None else Criterion.parse(cell.success),
            stop=cell.stop,
            timed_decisions=TIMED if self.first == 0 else 0,
        )


@dataclass(frozen=True, eq=False)
class Ran:
    """The run of a block, and what must be known to trust it."""

    run: Run
    provenance: dict[str, Any]
    seconds: float


def ran(block: Block, progress: Callable[[float], None] = lambda finished: None) -> Ran:
    """Run a block."""
    begin = time.perf_counter()
    run = block.runner.run(progress)
    data = _data_hash(model_folder(block.cell, block.places))
    made_with = {**provenance(block.cell, run), "data": data, "device": block.places.device_of(block.cell)}
    return Ran(run, made_with, time.perf_counter() - begin)


def _data_hash(checkpoint: Path | None) -> str | None:
    """Of the data a checkpoint was trained on, by its card."""
    if checkpoint is None:
        return None
    from wmel.training.checkpoints import read_card  # torch is needed only here

    return (read_card(checkpoint).get("data") or {}).get("sha256")


def built_environment(name: str, settings: Any) -> Any:
    """An environment of a study."""
    return catalog.environment(name, **settings)


def model_folder(cell: Cell, places: Places) -> Path | None:
    """Where the checkpoint of a cell's model is or will be; None where it has none."""
    model = cell.model
    if model is None or "object" in model:
        return None
    if "checkpoint" in model:
        return places.folder / model["checkpoint"]
    training = training_of(cell)
    assert training is not None
    return places.models / training.key


def built_policy(cell: Cell, world: Any, model: Any) -> Any:
    """The policy of a cell over a model; None for the oracle."""
    if cell.planner is None:
        return catalog.policy("random", world)
    if cell.model is not None and "policy" in cell.model:
        return catalog.policy(cell.model["policy"], world, model=model)
    settings = {name: value for name, value in cell.planner.items() if name != "name"}
    if cell.objective is not None:
        settings["objective"] = cell.objective
    return catalog.policy(cell.planner["name"], world, **settings, **({} if model is None else {"model": model}))


def built_model(cell: Cell, world: Any, places: Places) -> Any:
    """The model of a cell; None for the oracle."""
    if cell.model is None:
        return None
    if "object" in cell.model:
        return catalog.MODELS.load(cell.model["object"])
    from wmel.training.restore import restored  # torch is needed only here

    folder = model_folder(cell, places)
    assert folder is not None
    return restored(folder, world, places.device, cell.model.get("rollout"))


def without_rows(run: Run) -> dict[str, Any]:
    """What a run says beside its table, as data."""
    said = {name: value for name, value in vars(run).items() if name != "table"}
    plain = {"policy_settings": dict(run.policy_settings), "versions": dict(run.versions), "stop": run.stop.value}
    return {**said, **plain}
