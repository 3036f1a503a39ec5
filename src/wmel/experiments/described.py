"""Parts of a cell in full: {name, **settings}, those at their defaults written out, as records hold them."""

from collections.abc import Mapping
from typing import Any

from wmel import catalog
from wmel.contract.cell import Cell, Diagnostic, Part
from wmel.errors import WmelError
from wmel.parts import Registry

REGISTRIES = {
    "environment": catalog.ENVIRONMENTS,
    "perturbation": catalog.PERTURBATIONS,
    "planner": catalog.PLANNERS,
    "objective": catalog.OBJECTIVES,
    "policy": catalog.POLICIES,
    "diagnostic": catalog.DIAGNOSTICS,
}


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
    return found if model is None else {**found, "model": _model(cell, model)}


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


def _model(cell: Cell | Diagnostic, model: Mapping[str, Any]) -> dict[str, Any]:
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
