"""Cells, the units of an experiment, as data. The key of a cell is a hash of everything that determines its result.

Parts are `{name, **settings}` with the settings that differ from their defaults. A default that is written out does
not change the key.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from wmel.schema import Coverage, Run

PREFIXED = ("perturbation", "criterion", "diagnostic")  # kinds that are part of the label
BARE = ("environment", "planner", "objective")  # kinds that are not


def label_name(kind: str, key: str, *, is_ambiguous: bool = False) -> str:
    """The label of a swept setting. It includes the kind if another kind sweeps a setting of the same name."""
    if kind == key:
        return key
    if is_ambiguous:
        return f"{kind}.{key}"
    return f"{kind}_{key}" if kind in PREFIXED else key


def label_value(value: Any) -> Any:
    """The value of a label as text or a number: a list is `4-8`, a table `native-candidates=16`."""
    if isinstance(value, Mapping):
        name = [str(value["name"])] if "name" in value else []
        return "-".join([*name, *(f"{key}={label_value(one)}" for key, one in value.items() if key != "name")])
    return "-".join(str(label_value(one)) for one in value) if isinstance(value, list | tuple) else value


def label_values(labels: Mapping[str, Any]) -> dict[str, Any]:
    """The values of labels as texts and numbers."""
    return {name: label_value(value) for name, value in labels.items()}


def swept_setting(label: str, parts: Mapping[str, Any], sweeps: Mapping[str, str]) -> tuple[str, str]:
    """The kind and the key of a label. In stores of earlier versions, they are derived from the label's name."""
    if label in sweeps:
        kind, _, key = sweeps[label].partition(".")
        return kind, key
    kind, _, key = label.partition("_")
    if kind in PREFIXED:
        return kind, "criterion" if (kind, key) == ("criterion", "success") else key
    return next((kind for kind in BARE if label in (parts.get(kind) or {})), "planner"), label


def label_text(value: Any) -> str:
    """The value of a label as text, for tables and names."""
    return "none" if value is None else str(label_value(value))


def label_columns(rows: Sequence[Mapping[str, Any]], sweeps: Mapping[str, str], taken: Sequence[str]) -> list[dict]:
    """Labels as columns of a table. Every row has all of them, a column has one type, and no name is in `taken`."""
    labels = list(dict.fromkeys(label for row in rows for label in row))
    columns = {label: sweeps.get(label, f"swept.{label}") if label in taken else label for label in labels}
    types = {label: {type(row[label]) for row in rows if row.get(label) is not None} for label in labels}
    is_text = {label: len(types[label] - {int, float}) > 0 and len(types[label]) > 1 for label in labels}

    def convert(label: str, value: Any) -> Any:
        return label_text(value) if is_text[label] and value is not None else label_value(value)

    return [{columns[label]: convert(label, row.get(label)) for label in labels} for row in rows]


PARTS = 2  # increased when the same name and settings of a part get another meaning
FLOOR = "random"
ORACLE = "oracle"
DEFAULT_ROLLOUT = "latent"  # of models with several rollout methods
Part = Mapping[str, Any]  # {name, **settings}
NO_SETTINGS = ("name", "given", "identity")  # keys of a part that are not settings; the last two are of live objects


@dataclass(frozen=True, eq=False)
class Task:
    """The environment, the success criterion and the perturbation, which all arms of a comparison share."""

    environment: Part
    criterion: str | None = None  # None: the default of the environment
    stop: str | None = None  # None: the default of the criterion
    horizon: int | None = None  # None: the maximum of the environment
    perturbation: Part | None = None
    probability: float = 0.0
    step: int | None = None  # the step at which the perturbation begins; None: sampled from each episode seed

    def label_parts(self, separator: str = "-") -> list[str]:
        """The parts of the task as texts, with a separator between a part and its settings."""
        perturbed = None
        if self.perturbation is not None:
            chance = [] if self.probability == 1 else ["with", f"{self.probability:g}"]
            start = [] if self.step is None else ["from", str(self.step)]
            perturbed = separator.join([part_label(self.perturbation, separator), *chance, *start])
        world = part_label(self.environment, separator)
        return [world, *(text for text in (perturbed, self.criterion, self.stop) if text)]


@dataclass(frozen=True, eq=False)
class Arm:
    """A planner with a model (the oracle if `model` is None), or a policy of the catalogue."""

    name: str
    planner: Part | None = None
    objective: Part | None = None  # None: the default of the environment
    execute: int | None = None  # executed actions of each plan; None: all
    policy: Part | None = None  # replaces the planner
    model: Mapping[str, Any] | None = None  # {checkpoint, files}, {object}, {trainer, at} or {given}; perhaps rollout
    base: str | None = None  # the name without swept settings; None: a store of an earlier version

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the rows."""
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
    labels: Mapping[str, Any] = field(default_factory=dict)  # values of the swept settings
    shared_labels: Mapping[str, Any] = field(default_factory=dict)  # the labels that all arms have
    sweeps: Mapping[str, str] = field(default_factory=dict)  # label -> its setting, as `planner.elites`
    places: Mapping[str, str] = field(default_factory=dict)  # kind -> its entry: `study.toml: planners[0]`; not stored

    @cached_property
    def key(self) -> str:
        """The name of its rows in a store: a hash of everything that determines them."""
        return hash_data({"task": asdict(self.task), "arm": self.arm.identity, "seed": self.seed})

    @cached_property
    def setting(self) -> str:
        """A hash of what arms must share to be compared: everything but the model and the seed."""
        return hash_data({"task": asdict(self.task), **self.arm._planning})

    @cached_property
    def task_key(self) -> str:
        """A hash of the task, which a baseline shares with the arms that are compared with it."""
        return hash_data({"task": asdict(self.task)})

    @property
    def setting_name(self) -> str:
        """The setting as text. Swept settings are included even at their defaults."""
        return "/".join(self._setting_texts("-"))

    def _setting_texts(self, separator: str) -> list[str]:
        """The parts of the setting as texts, with a separator between a part and its settings."""
        environment, *rest = self.task.label_parts(separator)
        planner = [] if self.arm.planner is None else [_planner_label(self.arm, separator)]
        objective = [] if self.arm.objective is None else [part_label(self.arm.objective, separator)]
        hidden = [f"{label}={value}" for label, value in self.shared_labels.items() if not self._is_shown(label)]
        return [environment, *planner, *objective, *rest, *hidden]

    @property
    def parts(self) -> dict[str, Any]:
        """The parts that the arms of a setting share, by kind, with settings that differ from their defaults."""
        task, arm = self.task, self.arm
        planner = None if arm.planner is None else {**arm.planner, "execute": arm.execute}
        perturbation = {**(task.perturbation or {}), "probability": task.probability, "step": task.step}
        return {
            "environment": dict(task.environment),
            "planner": planner,
            "objective": None if arm.objective is None else dict(arm.objective),
            "criterion": {"criterion": task.criterion, "stop": task.stop},
            "perturbation": None if task.perturbation is None else perturbation,
            "horizon": task.horizon,
        }

    def _is_shown(self, label: str) -> bool:
        """Whether the texts of the setting already include the value of a label. Defaults are not included."""
        kind, key = swept_setting(label, self.parts, self.sweeps)
        value = (self.parts.get(kind) or {}).get(key)
        return value is not None and not (kind == "perturbation" and key == "probability" and value == 1)

    @property
    def name(self) -> str:
        """The cell as text, for files and for `--only`."""
        return f"{self.setting_name}/{self.arm.name}/seed-{self.seed}"

    @property
    def label(self) -> str:
        """The cell without its seed, for readers: `maze_toy cem plan_horizon=5 candidates=5, oracle`."""
        return f"{' '.join(self._setting_texts(' '))}, {self.arm.name}"

    def as_data(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "places"}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Cell":
        labels = {name: label_values(data.get(name, {})) for name in ("labels", "shared_labels")}
        return cls(**{**data, **labels, "task": Task(**data["task"]), "arm": Arm(**data["arm"])})


@dataclass(frozen=True, eq=False)
class Training:
    """A model to be trained: a trainer with its settings, including the seed, in an environment."""

    environment: Part
    trainer: Part

    @cached_property
    def key(self) -> str:
        """The name of its checkpoint in a store."""
        return hash_data(asdict(self))

    @property
    def name(self) -> str:
        return f"{part_label(self.trainer)} in {part_label(self.environment)}"


@dataclass(frozen=True, eq=False)
class Diagnostic:
    """A diagnostic of one model at states of an environment."""

    diagnostic: Part
    environment: Part
    objective: Part | None
    arm: str
    model: Mapping[str, Any] | None  # None: the oracle
    seed: int
    source: Mapping[str, Any] | None = None  # the model whose policy the states come from, if a model's policy is used
    labels: Mapping[str, Any] = field(default_factory=dict)
    base: str | None = None  # the name of the arm without swept settings
    sweeps: Mapping[str, str] = field(default_factory=dict)  # label -> its setting
    places: Mapping[str, str] = field(default_factory=dict)  # kind -> its entry in the study file; not stored

    @cached_property
    def key(self) -> str:
        """The name of its reading in a store."""
        data = {name: value for name, value in asdict(self).items() if name not in ("base", "sweeps", "places")}
        return hash_data({**data, "labels": {}, "model": _model_identity(self.model)})

    @cached_property
    def comparison_key(self) -> str:
        """A hash of what readings must share to be compared: everything but the model."""
        data = asdict(self)
        return hash_data({name: data[name] for name in ("diagnostic", "environment", "objective", "seed", "source")})

    @property
    def name(self) -> str:
        environment = part_label(self.environment)
        return f"{environment}/{part_label(self.diagnostic)}/{self.arm}/seed-{self.seed}"

    def as_data(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "places"}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Diagnostic":
        return cls(**{**data, "labels": label_values(data.get("labels", {}))})


@dataclass(frozen=True, eq=False)
class CellResult:
    """The stored result of a cell."""

    cell: Cell
    run: Run | None  # None: no episode is stored
    missing: int = 0  # number of episodes that are not stored
    failure: str | None = None  # the reason, if it is known
    looks: tuple[int, ...] = ()  # its episodes at each earlier verdict
    coverages: Mapping[int, Coverage | None] = field(default_factory=dict)  # of the first n episodes, at ends of blocks


def has_live_part(cell: Cell | Diagnostic) -> bool:
    """Whether a cell contains an object of this process that another process cannot identify."""
    if isinstance(cell, Diagnostic):
        parts, models = (cell.diagnostic, cell.environment, cell.objective), (cell.model, cell.source)
    else:
        arm = cell.arm
        parts = (cell.task.environment, cell.task.perturbation, arm.planner, arm.objective, arm.policy)
        models = (arm.model,)
    live = [part for part in parts if part is not None and part.get("given") and "identity" not in part]
    return bool(live) or any(model is not None and "given" in model and "weights" not in model for model in models)


def training_of(environment: Part, model: Mapping[str, Any] | None) -> Training | None:
    """The training that a model requires, or None."""
    if model is None or "trainer" not in model:
        return None
    return Training(model.get("environment") or environment, model["trainer"])


def part_label(part: Part, separator: str = "-") -> str:
    """A part as text: `cem-plan_horizon=5-elites=8`."""
    if part["name"] == "composite":
        return "composite:" + "+".join(part_label(one, separator) for one in part["parts"])
    settings = (f"{name}={_short(value)}" for name, value in part.items() if name not in NO_SETTINGS)
    return separator.join([part["name"], *settings])


def _model_identity(model: Mapping[str, Any] | None) -> dict[str, Any]:
    """What identifies a model. The path of its checkpoint and the default rollout method do not."""
    identity = {name: value for name, value in (model or {}).items() if name != "checkpoint"}
    if identity.get("rollout") == DEFAULT_ROLLOUT:
        identity.pop("rollout")
    return identity


def _planner_label(arm: Arm, separator: str) -> str:
    assert arm.planner is not None
    executed = [] if arm.execute is None else [f"execute={arm.execute}"]
    return separator.join([part_label(arm.planner, separator), *executed])


def _short(value: Any) -> str:
    text = str(label_value(value))
    return text if len(text) <= 20 and "\n" not in text else hash_data(value)[:8]


def hash_data(data: Any) -> str:
    return hashlib.sha256(json.dumps({"parts": PARTS, "data": data}, sort_keys=True).encode()).hexdigest()[:16]
