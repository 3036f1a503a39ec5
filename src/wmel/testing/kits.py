"""Selects the kit of a part, by its catalogue name or by its methods."""

import inspect
from typing import Any

from wmel import catalog
from wmel.analysis.scorecard import metric
from wmel.errors import BadInput, UnknownPart, describe_error, locate_code, locate_error, suggest_name
from wmel.kinds import check_readable, count_required_parameters, kind_of, takes_environment
from wmel.models.callable_model import INTERFACES, adapt_model
from wmel.models.oracle import Oracle
from wmel.parts import import_object, settings_of
from wmel.settings import builds_part
from wmel.testing.environment_kit import check_environment
from wmel.testing.findings import Finding
from wmel.testing.metric_kit import check_metric
from wmel.testing.perturbation_kit import check_perturbation
from wmel.testing.planner_kit import check_planner
from wmel.testing.world_model_kit import check_four_methods, check_world_model

METHODS_OF_KIND = {
    "environment": ("reset", "step", "observe", "goals", "quantities"),
    "perturbation": ("sense", "strike", "window"),
    "planner": ("plan", "plan_horizon"),
}


def check_part(value: Any, environment: Any) -> tuple[str, list[Finding]]:
    """The kind of a part, given by name or as an object, and the findings of its kit.

    Models and perturbations are checked in the given environment.
    """
    is_name = isinstance(value, str)
    kind, part = _find_part(value) if is_name else _identify(value, getattr(value, "__name__", f"{value!r:.60}"))
    if kind == "environment":
        return kind, check_environment(part)
    if kind == "model":
        interface, model = ("batched", Oracle(environment)) if part is Oracle else adapt_model(part)
        return kind, (check_world_model if interface == "batched" else check_four_methods)(model, environment)
    if kind == "planner":
        return kind, check_planner(part)
    if kind == "perturbation":
        return kind, check_perturbation(part, environment, _with_strength_zero(value) if is_name else None)
    return kind, check_metric(part)


def build_default(thing: Any, name: str) -> Any:
    """The part that a function of settings, or a class without required arguments, builds with its defaults.

    Returns anything else unchanged.
    """
    is_class = isinstance(thing, type) and not count_required_parameters(thing)
    return _build(thing, name) if is_class or (inspect.isfunction(thing) and builds_part(thing)) else thing


def _build(make: Any, name: str) -> Any:
    try:
        part = make()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        place = locate_error(error) or locate_code(make, is_library_shown=True)
        raise BadInput(f"{name} cannot be built with its defaults: {describe_error(error)}{place}") from error
    check_readable(name, part)
    return part


def _find_part(name: str) -> tuple[str, Any]:
    if name in catalog.ENVIRONMENTS.parts:
        return "environment", catalog.environment(name)
    if ":" in name and not name.startswith("composite:"):
        return _identify(import_object(name), name)
    if name in catalog.MODELS.parts:
        return "model", catalog.MODELS.load(name)
    if name in catalog.PLANNERS.parts:
        return "planner", catalog.PLANNERS.build(name)
    if name in catalog.METRICS.parts or name.partition("@")[0] + "@" in catalog.METRICS.parts:
        return "metric", metric(name)
    if name.startswith("composite:") or any(name.startswith(known) for known in catalog.PERTURBATIONS.parts):
        return "perturbation", catalog.perturbation(name)
    kinds = (catalog.ENVIRONMENTS, catalog.MODELS, catalog.PLANNERS, catalog.METRICS, catalog.PERTURBATIONS)
    known = [one for kind in kinds for one in kind.parts]
    raise UnknownPart(
        f"no part named '{name}' that a kit can check, nor a module;{suggest_name(name, known, command='wmel list')}"
    )


def _identify(thing: Any, name: str) -> tuple[str, Any]:
    """The kind of an object by its methods, and the part, built if the object is a class."""
    thing = build_default(thing, name)
    attributes = {*dir(thing), *(settings_of(thing) if isinstance(thing, type) else ())}
    for kind, methods in METHODS_OF_KIND.items():
        if attributes.issuperset(methods) and not attributes.issuperset(INTERFACES["four methods"]):
            return kind, _build(thing, name) if isinstance(thing, type) else thing
    if any(attributes.issuperset(methods) for methods in INTERFACES.values()):
        return "model", thing
    if isinstance(thing, type):
        thing = _build(thing, name)  # it requires arguments, which the error names
    if not callable(thing) or kind_of(thing) == "executor":
        raise BadInput(f"{name} is none of {', '.join(METHODS_OF_KIND)}, model or metric: it has none of their methods")
    if takes_environment(thing):
        raise BadInput(f"{name} builds a policy or an objective, which no kit checks: try it with `wmel run`")
    return ("model", thing) if count_required_parameters(thing) == 2 else ("metric", thing)


def _with_strength_zero(name: str) -> Any:
    """The same perturbation at strength 0, or None if it has no strength."""
    for known in catalog.PERTURBATIONS.built_in:
        if (name == known or name.startswith(f"{known}-")) and catalog.PERTURBATIONS.settings_of(known):
            return catalog.perturbation(f"{known}-0")
    return None
