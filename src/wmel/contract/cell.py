"""Cells: the units of an experiment, as data. A cell's key is a hash of all that decides its result.

Parts are `{name, **settings}` with the settings that differ from their defaults, so that a default written out is the
same cell.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from wmel.contract.labels import label_value, label_values, swept_setting
from wmel.schema import Run

PARTS = 2  # raised when a part of wmel comes to mean something else by the same name and settings
FLOOR = "random"
ORACLE = "oracle"
USUAL_ROLLOUT = "latent"  # of models that can imagine in several ways
Part = Mapping[str, Any]  # {name, **settings}
NO_SETTINGS = ("name", "given", "identity")  # keys of a part as data; the last two are those of a live object


@dataclass(frozen=True, eq=False)
class Task:
    """What is attempted; every arm of a comparison shares it."""

    environment: Part
    criterion: str | None = None  # None: the environment's own
    stop: str | None = None  # None: as the criterion asks
    horizon: int | None = None  # None: as many steps as the environment allows
    perturbation: Part | None = None
    probability: float = 0.0
    step: int | None = None  # at which the perturbation strikes; None: sampled by each episode's seed

    @property
    def words(self) -> list[str]:
        """As people write it, for names."""
        struck = None
        if self.perturbation is not None:
            often = "" if self.probability == 1 else f"-with-{self.probability:g}"
            struck = part_label(self.perturbation) + often + ("" if self.step is None else f"-from-{self.step}")
        return [part_label(self.environment), *(word for word in (struck, self.criterion, self.stop) if word)]


@dataclass(frozen=True, eq=False)
class Arm:
    """Who acts: a planner over a model (the oracle where `model` is None), or a policy of the catalogue."""

    name: str
    planner: Part | None = None
    objective: Part | None = None  # None: the environment's own
    execute: int | None = None  # actions of a plan; None: all
    policy: Part | None = None  # acts instead of the planner
    model: Mapping[str, Any] | None = None  # {checkpoint, files}, {object}, {trainer, at} or {given}; `rollout` beside
    base: str | None = None  # its name without what is swept; None: stores of earlier versions do not hold it

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the rows."""
        return {**self._planning, "arm": self.name, "policy": self.policy, "model": _model_identity(self.model)}

    @property
    def _planning(self) -> dict[str, Any]:
        return {"planner": self.planner, "objective": self.objective, "execute": self.execute}


@dataclass(frozen=True, eq=False)
class Cell:
    """One arm on the episodes of one seed of a task."""

    task: Task
    arm: Arm
    seed: int
    episodes: int
    labels: Mapping[str, Any] = field(default_factory=dict)  # what a study sweeps, and where this cell stands
    shared_labels: Mapping[str, Any] = field(default_factory=dict)  # those of them that all arms share
    sweeps: Mapping[str, str] = field(default_factory=dict)  # label -> the setting it is of: `planner.elites`

    @cached_property
    def key(self) -> str:
        """The name its rows are stored by: of all that decides them, and of nothing else."""
        return hash_data({"task": asdict(self.task), "arm": self.arm.identity, "seed": self.seed})

    @cached_property
    def setting(self) -> str:
        """What arms must share to be compared: all but the model and the seed."""
        return hash_data({"task": asdict(self.task), **self.arm._planning})

    @cached_property
    def world(self) -> str:
        """What a floor shares with the arms above it: the task."""
        return hash_data({"task": asdict(self.task)})

    @property
    def setting_name(self) -> str:
        """The setting as people write it; what is swept is shown even where it is at its default."""
        environment, *rest = self.task.words
        planner = [] if self.arm.planner is None else [_planner_label(self.arm)]
        objective = [] if self.arm.objective is None else [part_label(self.arm.objective)]
        hidden = [f"{label}={value}" for label, value in self.shared_labels.items() if not self._shows(label)]
        return "/".join([environment, *planner, *objective, *rest, *hidden])

    @property
    def parts(self) -> dict[str, Any]:
        """What the arms of a setting share, by kind: settings that differ from their defaults, and the horizon."""
        task, arm = self.task, self.arm
        planned = None if arm.planner is None else {**arm.planner, "execute": arm.execute}
        struck = {**(task.perturbation or {}), "probability": task.probability, "step": task.step}
        return {
            "environment": dict(task.environment),
            "planner": planned,
            "objective": None if arm.objective is None else dict(arm.objective),
            "criterion": {"criterion": task.criterion, "stop": task.stop},
            "perturbation": None if task.perturbation is None else struck,
            "horizon": task.horizon,
        }

    def _shows(self, label: str) -> bool:
        """Whether the words of the setting say where a label stands; a setting at its default is not in them."""
        kind, key = swept_setting(label, self.parts, self.sweeps)
        value = (self.parts.get(kind) or {}).get(key)
        return value is not None and not (kind == "perturbation" and key == "probability" and value == 1)

    @property
    def name(self) -> str:
        """As people write it, for `--only` and for tables."""
        return f"{self.setting_name}/{self.arm.name}/seed-{self.seed}"

    def as_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Cell":
        labels = {name: label_values(data.get(name, {})) for name in ("labels", "shared_labels")}
        return cls(**{**data, **labels, "task": Task(**data["task"]), "arm": Arm(**data["arm"])})


@dataclass(frozen=True, eq=False)
class Training:
    """A model to be trained: a trainer's settings, its seed among them, in an environment."""

    environment: Part
    trainer: Part

    @cached_property
    def key(self) -> str:
        """The name its checkpoint is stored by."""
        return hash_data(asdict(self))

    @property
    def name(self) -> str:
        return f"{part_label(self.trainer)} in {part_label(self.environment)}"


@dataclass(frozen=True, eq=False)
class Diagnostic:
    """A question asked of one model alone, at states of an environment."""

    diagnostic: Part
    environment: Part
    objective: Part | None
    arm: str
    model: Mapping[str, Any] | None  # None: the oracle
    seed: int
    source: Mapping[str, Any] | None = None  # the model whose own policy the states come from, where one's does
    labels: Mapping[str, Any] = field(default_factory=dict)
    base: str | None = None  # the name of the arm without what is swept
    sweeps: Mapping[str, str] = field(default_factory=dict)  # label -> the setting it is of

    @cached_property
    def key(self) -> str:
        """The name its reading is stored by."""
        data = {name: value for name, value in asdict(self).items() if name not in ("base", "sweeps")}
        return hash_data({**data, "labels": {}, "model": _model_identity(self.model)})

    @cached_property
    def question(self) -> str:
        """What readings must share to be put side by side: all but the model."""
        data = asdict(self)
        return hash_data({name: data[name] for name in ("diagnostic", "environment", "objective", "seed", "source")})

    @property
    def name(self) -> str:
        environment = part_label(self.environment)
        return f"{environment}/{part_label(self.diagnostic)}/{self.arm}/seed-{self.seed}"

    def as_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Diagnostic":
        return cls(**{**data, "labels": label_values(data.get("labels", {}))})


@dataclass(frozen=True, eq=False)
class CellResult:
    """What a store holds of a cell."""

    cell: Cell
    run: Run | None  # None: no episode is stored
    missing: int = 0  # episodes not stored
    failure: str | None = None  # why, where it is known


def has_live_part(cell: Cell | Diagnostic) -> bool:
    """Whether a cell names an object of this process that another process could not recognise."""
    if isinstance(cell, Diagnostic):
        parts, models = (cell.diagnostic, cell.environment, cell.objective), (cell.model, cell.source)
    else:
        arm = cell.arm
        parts = (cell.task.environment, cell.task.perturbation, arm.planner, arm.objective, arm.policy)
        models = (arm.model,)
    live = [part for part in parts if part is not None and part.get("given") and "identity" not in part]
    return bool(live) or any(model is not None and "given" in model and "weights" not in model for model in models)


def training_of(environment: Part, model: Mapping[str, Any] | None) -> Training | None:
    """What must be trained for a model."""
    if model is None or "trainer" not in model:
        return None
    return Training(model.get("environment") or environment, model["trainer"])


def part_label(part: Part) -> str:
    """A part as people write it: `cem-plan_horizon=5-elites=8`."""
    if part["name"] == "composite":
        return "composite:" + "+".join(part_label(one) for one in part["parts"])
    settings = (f"{name}={_short(value)}" for name, value in part.items() if name not in NO_SETTINGS)
    return "-".join([part["name"], *settings])


def _model_identity(model: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a model is; a checkpoint may move, and the usual way to imagine is the same written out."""
    known = {name: value for name, value in (model or {}).items() if name != "checkpoint"}
    if known.get("rollout") == USUAL_ROLLOUT:
        known.pop("rollout")
    return known


def _planner_label(arm: Arm) -> str:
    assert arm.planner is not None
    return part_label(arm.planner) + ("" if arm.execute is None else f"-execute={arm.execute}")


def _short(value: Any) -> str:
    text = str(label_value(value))
    return text if len(text) <= 20 and "\n" not in text else hash_data(value)[:8]


def hash_data(data: Any) -> str:
    return hashlib.sha256(json.dumps({"parts": PARTS, "data": data}, sort_keys=True).encode()).hexdigest()[:16]
