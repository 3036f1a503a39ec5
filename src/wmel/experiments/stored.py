"""What the files of a store may hold; anything else is damage. Stores of earlier versions are read on."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from wmel import catalog
from wmel.contract.cell import FLOOR, Arm, Cell, Task, training_of
from wmel.contract.criterion import Stop
from wmel.errors import BadRecord, WmelError

FORMAT = 2
Kind = TypeVar("Kind", bound=BaseModel)
Count = Annotated[int, Field(ge=0, lt=10**9)]


class Stored(BaseModel):
    """Unknown fields are damage too."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredRun(Stored):
    environment_name: str
    policy_name: str
    policy_reads: Literal["observation", "state"]
    policy_settings: dict[str, Any]
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
    weights_file: str | None = None  # the SHA-256 of the checkpoint's file of weights
    data: str | None = None
    device: str = "cpu"
    machine: dict[str, Any]
    git: dict[str, Any] | None


class StoredFile(Stored):
    """Beside the rows of a block."""

    cell: dict[str, Any]
    first: Count
    count: Annotated[int, Field(gt=0, lt=10**9)]
    sha256: str
    run: StoredRun
    provenance: StoredProvenance
    coverage: dict[str, Any] | None = None
    seconds: float

    def run_data(self, cell: Cell) -> dict[str, Any]:
        """All of a Run but its table; where parts were stored as text, the cell tells what they were."""
        run = dict(self.run)
        settings = dict(run["policy_settings"])
        if isinstance(settings.get("planner"), str) and cell.arm.planner is not None and cell.arm.policy is None:
            settings["planner"] = _resolved(catalog.PLANNERS, cell.arm.planner)
            if cell.arm.objective is not None:
                settings["objective"] = _resolved(catalog.OBJECTIVES, cell.arm.objective)
        return {**run, "policy_settings": settings}


class StoredManifest(Stored):
    """What a study is: its file and its cells, in order."""

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
    verb: dict[str, Any] = {"name": "study"}  # whose result it is, and what that needs beside the rows

    @model_validator(mode="after")
    def _finds_earlier_files(self) -> "StoredManifest":
        if not self.cells and not self.diagnostics:
            raise ValueError("a study has at least one cell")
        if self.format == 1:
            for one in self.cells:
                cell = cell_from_stored(one)
                self.moved[cell.key] = _first_key(one)
                training = training_of(cell.task.environment, cell.arm.model)
                if training is not None:
                    self.moved[training.key] = _first_training_key(one)
        return self


def cell_from_stored(data: Mapping[str, Any]) -> Cell:
    """A cell of this version, or of the first."""
    try:
        return Cell.from_data(data) if "task" in data else _first_cell(data)
    except (KeyError, TypeError, AttributeError) as error:
        raise BadRecord(f"a stored cell is damaged: {error!r}") from error


def parse_stored(kind: type[Kind], text: bytes, where: object) -> Kind:
    """What a file holds, or BadRecord with the place."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(key) for key in first["loc"])
        raise BadRecord(f"{where} is damaged: {place + ': ' if place else ''}{first['msg']}") from error
    except BadRecord as error:
        raise BadRecord(f"{where}: {error}") from error


def _first_cell(data: Mapping[str, Any]) -> Cell:
    """A cell as format 1 has it."""
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
    struck = data["perturbation"]
    environment = {"name": data["environment"], **data["environment_settings"]}
    task = Task(
        _key_data(catalog.ENVIRONMENTS, environment),
        data["success"],
        data["stop"],
        data["horizon"],
        None if struck is None else _perturbation(struck),
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
    """The settings that differ from their defaults; all, of a part that is not here."""
    name, settings = part["name"], {key: value for key, value in part.items() if key != "name"}
    try:
        return registry.spec(name, settings).key_data
    except WmelError:
        return dict(part)


def _resolved(registry: Any, part: Mapping[str, Any]) -> dict[str, Any]:
    name, settings = part["name"], {key: value for key, value in part.items() if key != "name"}
    try:
        return registry.spec(name, settings).resolved
    except WmelError:
        return dict(part)


def _perturbation(text: str) -> dict[str, Any]:
    try:
        data = catalog.perturbation_data(text)
    except WmelError:
        return {"name": text}
    return data if data["name"] == "composite" else _key_data(catalog.PERTURBATIONS, data)


def _first_key(data: Mapping[str, Any]) -> str:
    """The name that format 1 stored a cell's rows by."""
    names = ("environment", "environment_settings", "planner", "objective", "perturbation", "perturb_prob")
    deciding = {name: data[name] for name in (*names, "perturb_step", "success", "stop", "horizon")}
    model = {key: value for key, value in (data["model"] or {}).items() if (key, value) != ("rollout", "latent")}
    model.pop("checkpoint", None)
    return _hash({"parts": 1, **deciding, "seed": data["seed"], "arm": data["arm"], "model": model})


def _first_training_key(data: Mapping[str, Any]) -> str:
    """The name that format 1 stored a model by."""
    model = data["model"]
    names = ("environment", "environment_settings")
    known = {**{name: data[name] for name in names}, "trainer": model["trainer"], "settings": model["settings"]}
    return _hash({**known, "recipes": 1})


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
