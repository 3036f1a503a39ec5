"""Between data and parts: parts built once in a process, and described in full as records hold them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.contract.cell import Arm, Cell, Diagnostic, Part, training_of
from wmel.errors import WmelError
from wmel.parts import Registry

WORLDS = 16  # environments a process keeps
CHECKPOINTS = "checkpoints"  # where a training keeps those on the way
REGISTRIES = {
    "environment": catalog.ENVIRONMENTS,
    "perturbation": catalog.PERTURBATIONS,
    "planner": catalog.PLANNERS,
    "objective": catalog.OBJECTIVES,
    "policy": catalog.POLICIES,
    "diagnostic": catalog.DIAGNOSTICS,
}


@dataclass(frozen=True)
class ModelPaths:
    """Where models are: those of the store by key, others relative to the study file; and their device."""

    models: Path
    folder: Path
    device: str = "cpu"
    objects: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)  # live ones, by name
    moved: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)  # key -> folder of old stores

    def folder_of(self, environment: Part, model: Mapping[str, Any] | None) -> Path | None:
        """Where the checkpoint of a model is or will be; None where it has none."""
        if model is None or "object" in model or "given" in model:
            return None
        if "checkpoint" in model:
            return self.folder / model["checkpoint"]
        training = training_of(environment, model)
        assert training is not None
        home = self.models / self.moved.get(training.key, training.key)
        return home if model.get("at") is None else home / CHECKPOINTS / f"{model['at']:07d}"

    def device_of(self, environment: Part, model: Mapping[str, Any] | None) -> str:
        """The kind of device a model is on; only checkpoints leave the CPU."""
        return "cpu" if self.folder_of(environment, model) is None else self.device.partition(":")[0]


def build_environment(part: Part, paths: ModelPaths) -> Any:
    """An environment, once in this process."""
    return paths.objects[part["name"]] if part.get("given") else named_environment(part)


def named_environment(part: Part) -> Any:
    """An environment of the catalogue, once in this process."""
    return _environment(json.dumps(part, sort_keys=True))


@lru_cache(WORLDS)
def _environment(part: str) -> Any:
    name, settings = catalog.name_and_settings(json.loads(part), "environment")
    return catalog.environment(name, **settings)


def build_policy(arm: Arm, world: Any, model: Any, paths: ModelPaths) -> Any:
    """The policy of an arm over a model; None for the oracle."""
    given = {} if model is None else {"model": model}
    name, settings = _part(arm.policy or arm.planner, paths)
    if arm.policy is not None:
        return name if arm.policy.get("given") else catalog.policy(name, world, **settings, **given)
    if arm.objective is not None:
        objective, own = _part(arm.objective, paths)
        settings["objective"] = {"name": objective, **own} if isinstance(objective, str) else objective
    return catalog.policy(name, world, execute=arm.execute, **settings, **given)


def build_perturbation(part: Part | None, paths: ModelPaths) -> Any:
    """What strikes; None where nothing does."""
    if part is None:
        return None
    return paths.objects[part["name"]] if part.get("given") else catalog.perturbation(part)


def _part(part: Part | None, paths: ModelPaths) -> tuple[Any, dict[str, Any]]:
    """The name of a part and its settings; a live one is itself."""
    assert part is not None, "an arm has a policy or a planner"
    if part.get("given"):
        return paths.objects[part["name"]], {}
    return catalog.name_and_settings(part, "part")


def build_trainer(part: Part, paths: ModelPaths) -> Any:
    """A trainer; a folder of stored episodes is relative to the study file."""
    name, settings = catalog.name_and_settings(part, "trainer")
    if settings.get("data") is not None:
        settings["data"] = str(paths.folder / settings["data"])
    if paths.device != "cpu" and "device" in catalog.TRAINERS.settings_of(name) and "device" not in settings:
        settings["device"] = paths.device
    return catalog.TRAINERS.build(name, **settings)


def build_diagnostic(cell: Diagnostic) -> Any:
    """The diagnostic of a cell."""
    name, settings = catalog.name_and_settings(cell.diagnostic, "diagnostic")
    return catalog.DIAGNOSTICS.build(name, **settings)


def described_parts(cell: Cell | Diagnostic) -> dict[str, Any]:
    """Every part that a cell names, by kind."""
    if isinstance(cell, Diagnostic):
        parts = {name: getattr(cell, name) for name in ("environment", "objective", "diagnostic")}
        model = cell.model
    else:
        task, arm = cell.task, cell.arm
        parts = {"environment": task.environment, "perturbation": task.perturbation}
        parts |= {name: getattr(arm, name) for name in ("policy", "planner", "objective")}
        if task.perturbation is not None:
            parts["perturbation"] = {**task.perturbation, "probability": task.probability, "step": task.step}
        model = arm.model
    found = {kind: _in_full(REGISTRIES[kind], part) for kind, part in parts.items() if part is not None}
    return found if model is None else {**found, "model": _describe_model(cell, model)}


def _in_full(registry: Registry, part: Part) -> dict[str, Any]:
    """A part with the settings that are at their defaults; as it is where its package is not here any more."""
    own = {key: value for key, value in part.items() if key not in ("probability", "step")}
    beside = {key: value for key, value in part.items() if key not in own}
    if part.get("given") or part["name"] == "composite":
        return {**own, **beside}
    try:
        resolved = registry.spec(*catalog.name_and_settings(own, registry.kind)).resolved
    except WmelError:
        resolved = own
    return {**{key: value for key, value in resolved.items() if _is_json(value)}, **beside}


def _describe_model(cell: Cell | Diagnostic, model: Mapping[str, Any]) -> dict[str, Any]:
    """A model: what it is called, and where it comes from; of a recipe all settings."""
    name = cell.arm if isinstance(cell, Diagnostic) else cell.arm.name
    known = {key: value for key, value in model.items() if key != "given"}
    if "trainer" in known:
        known["trainer"] = _in_full(catalog.TRAINERS, known["trainer"])
    return {"name": name, **known}


def _is_json(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(one) for key, one in value.items())
    return value is None or isinstance(value, bool | int | float | str)
