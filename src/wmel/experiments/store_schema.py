"""The schema of the files of a store, and the reading of stores of earlier versions; any other content is damage."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from wmel import catalog
from wmel.contract.cell import FLOOR, Arm, Cell, Diagnostic, Task, training_of
from wmel.contract.criterion import Stop
from wmel.errors import BadRecord, WmelError, describe_error

FORMAT = 2
Kind = TypeVar("Kind", bound=BaseModel)
AnyCell = TypeVar("AnyCell", Cell, Diagnostic)
Count = Annotated[int, Field(ge=0, lt=10**9)]


class Stored(BaseModel):
    """Unknown fields are damage."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredSettings(BaseModel):
    """The settings of a policy that a record names; a policy may have others."""

    model: str | None = None
    weights: str | None = None
    planner: str | dict[str, Any] | None = None  # text in format 1
    objective: str | dict[str, Any] | None = None
    evaluations: int | None = None
    execute: int | None = None


def _check_settings(settings: dict[str, Any]) -> dict[str, Any]:
    StoredSettings.model_validate(settings)
    return settings


class StoredRun(Stored):
    environment_name: str
    policy_name: str
    policy_reads: Literal["observation", "state"]
    policy_settings: Annotated[dict[str, Any], AfterValidator(_check_settings)]
    seeds: tuple[Count, ...]
    horizon: Annotated[int, Field(gt=0)]
    perturb_prob: float
    perturbation: str | None
    layout: str | None
    init: str | None
    success: str | None
    stop: Stop
    latency_threads: Annotated[int, Field(gt=0)]
    versions: dict[str, str]


class StoredProvenance(Stored):
    versions: dict[str, str]
    code: dict[str, str]
    weights: str | None
    weights_file: str | None = None  # SHA-256 of the weights file of the checkpoint
    card: str | None = None  # SHA-256 of what the card of the checkpoint states about the use of its weights
    data: str | None = None
    device: str = "cpu"
    machine: dict[str, Any]
    git: dict[str, Any] | None


class StoredFile(Stored):
    """The JSON file beside the rows of a block."""

    cell: dict[str, Any]
    first: Count
    count: Annotated[int, Field(gt=0, lt=10**9)]
    sha256: str
    run: StoredRun
    provenance: StoredProvenance
    coverage: dict[str, Any] | None = None
    seconds: float

    def run_data(self, cell: Cell) -> dict[str, Any]:
        """The fields of a Run except its table; parts that were stored as text are taken from the cell."""
        run = dict(self.run)
        settings = dict(run["policy_settings"])
        if isinstance(settings.get("planner"), str) and cell.arm.planner is not None and cell.arm.policy is None:
            settings["planner"] = _resolve_settings(catalog.PLANNERS, cell.arm.planner)
            if cell.arm.objective is not None:
                settings["objective"] = _resolve_settings(catalog.OBJECTIVES, cell.arm.objective)
        return {**run, "policy_settings": settings}


class StoredManifest(Stored):
    """The manifest of a study: its file and its cells, in order."""

    format: Literal[1, 2]
    name: str
    about: str
    anytime: bool  # pairs were added until each gap was decided
    file: str
    block: int = 50
    metrics: list[str] = []
    cells: list[dict[str, Any]]
    diagnostics: list[dict[str, Any]] = []
    moved: dict[str, str] = {}
    looks: list[dict[str, int]] = []
    verb: dict[str, Any] = {"name": "study"}  # the verb whose result it is, and its options
    path: str | None = None  # of the study file, relative to the folder of the store

    @model_validator(mode="after")
    def _map_earlier_keys(self) -> "StoredManifest":
        if not self.cells and not self.diagnostics:
            raise ValueError("a study has at least one cell")
        if self.format == 1:
            for one in self.cells:
                cell = cell_from_stored(one)
                self.moved[cell.key] = _cell_key_of_format_1(one)
                training = training_of(cell.task.environment, cell.arm.model)
                if training is not None:
                    self.moved[training.key] = _training_key_of_format_1(one)
        return self


def cell_from_stored(data: Mapping[str, Any], where: object = "the store") -> Cell:
    """A cell as this version or the first one stores it."""
    return _named(where, lambda: Cell.from_data(data) if "task" in data else _cell_of_format_1(data))


def diagnostic_from_stored(data: Mapping[str, Any], where: object) -> Diagnostic:
    """A diagnostic of one model as it is stored."""
    return _named(where, lambda: Diagnostic.from_data(data))


def _named(where: object, make: Callable[[], AnyCell]) -> AnyCell:
    """A stored cell whose parts, settings and labels have names; any other is damage."""
    try:
        cell = make()
        if not all(isinstance(text, str) for text in (cell.key, cell.name, *cell.labels)):
            raise TypeError("its name")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadRecord(f"{where} is damaged: a cell: {describe_error(error)}") from error
    return cell


def parse_stored(kind: type[Kind], text: bytes, where: object) -> Kind:
    """The content of a file; raises BadRecord with the place of an error."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(key) for key in first["loc"])
        raise BadRecord(f"{where} is damaged: {place + ': ' if place else ''}{first['msg']}") from error
    except BadRecord as error:
        raise BadRecord(f"{where}: {error}") from error


def _cell_of_format_1(data: Mapping[str, Any]) -> Cell:
    """A cell as format 1 stores it."""
    planner = dict(data["planner"] or {})
    execute = planner.pop("execute", None)
    model = dict(data["model"] or {})
    policy = model.pop("policy", None)
    if model.get("rollout") == "latent":
        del model["rollout"]
    if "trainer" in model:
        seed = model["settings"].get("seed", 0)
        recipe = _key_data(catalog.TRAINERS, {"name": model.pop("trainer"), **model.pop("settings")})
        model = {"trainer": {**recipe, "seed": seed}, **model}
    perturbation = data["perturbation"]
    environment = {"name": data["environment"], **data["environment_settings"]}
    task = Task(
        _key_data(catalog.ENVIRONMENTS, environment),
        data["success"],
        data["stop"],
        data["horizon"],
        None if perturbation is None else _perturbation_data(perturbation),
        data["perturb_prob"],
        data["perturb_step"],
    )
    arm = Arm(
        data["arm"],
        _key_data(catalog.PLANNERS, planner) if planner else None,
        None if data["objective"] is None else {"name": data["objective"]},
        execute,
        {"name": "random"} if data["arm"] == FLOOR and not planner else None if policy is None else {"name": policy},
        model or None,
    )
    return Cell(task, arm, data["seed"], data["episodes"], data["labels"])


def _key_data(registry: Any, part: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that differ from their defaults; all settings of a part that is not installed."""
    spec = _spec(registry, part)
    return dict(part) if spec is None else spec.key_data


def _resolve_settings(registry: Any, part: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a part; those that were stored, of a part that is not installed."""
    spec = _spec(registry, part)
    return dict(part) if spec is None else spec.resolved


def _spec(registry: Any, part: Mapping[str, Any]) -> Any:
    """The spec of a stored part; None if it is not installed or does not take its settings."""
    try:
        return registry.spec(part["name"], {key: value for key, value in part.items() if key != "name"})
    except WmelError:
        return None


def _perturbation_data(text: str) -> dict[str, Any]:
    try:
        data = catalog.perturbation_data(text)
    except WmelError:
        return {"name": text}
    return data if data["name"] == "composite" else _key_data(catalog.PERTURBATIONS, data)


def _cell_key_of_format_1(data: Mapping[str, Any]) -> str:
    """The name of the folder in which format 1 stored the rows of a cell."""
    names = ("environment", "environment_settings", "planner", "objective", "perturbation", "perturb_prob")
    deciding = {name: data[name] for name in (*names, "perturb_step", "success", "stop", "horizon")}
    model = {key: value for key, value in (data["model"] or {}).items() if (key, value) != ("rollout", "latent")}
    model.pop("checkpoint", None)
    return _hash({"parts": 1, **deciding, "seed": data["seed"], "arm": data["arm"], "model": model})


def _training_key_of_format_1(data: Mapping[str, Any]) -> str:
    """The name of the folder in which format 1 stored a trained model."""
    model = data["model"]
    names = ("environment", "environment_settings")
    recipe = {**{name: data[name] for name in names}, "trainer": model["trainer"], "settings": model["settings"]}
    return _hash({**recipe, "recipes": 1})


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
