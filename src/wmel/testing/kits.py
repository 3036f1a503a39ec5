"""Which kit a part belongs to, by its catalogue name or by what it implements."""

import inspect
from typing import Any

from wmel import catalog
from wmel.analysis.scorecard import metric
from wmel.errors import BadInput, UnknownPart, describe_error, locate_code, locate_error
from wmel.kinds import kind_of
from wmel.models.callable_model import INTERFACES, adapt_model
from wmel.models.oracle import Oracle
from wmel.parts import import_object, settings_of
from wmel.settings import builds_part
from wmel.testing.environment_kit import check_environment
from wmel.testing.findings import Finding
from wmel.testing.four_methods_kit import check_four_methods
from wmel.testing.metric_kit import check_metric
from wmel.testing.perturbation_kit import check_perturbation
from wmel.testing.planner_kit import check_planner
from wmel.testing.world_model_kit import check_world_model

SIGNS = {  # a part of a kind has these
    "environment": ("reset", "step", "observe", "goals", "quantities"),
    "perturbation": ("sense", "strike", "window"),
    "planner": ("plan", "plan_horizon"),
}


def check_part(given: Any, environment: Any) -> tuple[str, list[Finding]]:
    """The kind of a part, by name or as an object, and what its kit finds.

    Models and perturbations are tried in the given environment.
    """
    named = isinstance(given, str)
    kind, part = _part(given) if named else _by_its_signs(given, f"{given!r:.60}")
    if kind == "environment":
        return kind, check_environment(part)
    if kind == "model":
        way, model = ("batched", Oracle(environment)) if part is Oracle else adapt_model(part)
        return kind, (check_world_model if way == "batched" else check_four_methods)(model, environment)
    if kind == "planner":
        return kind, check_planner(part)
    if kind == "perturbation":
        return kind, check_perturbation(part, environment, _at_zero(given) if named else None)
    return kind, check_metric(part)


def what_it_makes(thing: Any, name: str) -> Any:
    """What a function of settings alone makes with its defaults; anything else is itself."""
    if not inspect.isfunction(thing) or kind_of(thing) is not None or not builds_part(thing):
        return thing
    try:
        return thing()
    except (Exception, SystemExit) as error:
        place = locate_error(error) or locate_code(thing, is_library_shown=True)
        raise BadInput(f"{name} cannot be built with its defaults: {describe_error(error)}{place}") from error


def _part(name: str) -> tuple[str, Any]:
    if name in catalog.ENVIRONMENTS.parts:
        return "environment", catalog.environment(name)
    if ":" in name and not name.startswith("composite:"):
        return _by_its_signs(import_object(name), name)
    if name in catalog.MODELS.parts:
        return "model", catalog.MODELS.load(name)
    if name in catalog.PLANNERS.parts:
        return "planner", catalog.PLANNERS.build(name)
    if name in catalog.METRICS.parts or name.partition("@")[0] + "@" in catalog.METRICS.parts:
        return "metric", metric(name)
    if name.startswith("composite:") or any(name.startswith(known) for known in catalog.PERTURBATIONS.parts):
        return "perturbation", catalog.perturbation(name)
    raise UnknownPart(
        f"no part named '{name}' that a kit can check; `wmel list` names them, or give package.module:object"
    )


def _by_its_signs(thing: Any, name: str) -> tuple[str, Any]:
    thing = what_it_makes(thing, name)
    has = {*dir(thing), *(settings_of(thing) if isinstance(thing, type) else ())}
    for kind, signs in SIGNS.items():
        if has.issuperset(signs) and not has.issuperset(INTERFACES["four methods"]):
            return kind, thing() if isinstance(thing, type) else thing
    if any(has.issuperset(signs) for signs in INTERFACES.values()):
        return "model", thing
    if not callable(thing) or isinstance(thing, type):
        raise BadInput(f"{name} is none of {', '.join(SIGNS)}, model or metric: it has none of their methods")
    wanted = [one for one in inspect.signature(thing).parameters.values() if one.default is inspect.Parameter.empty]
    return ("model", thing) if len(wanted) == 2 else ("metric", thing)


def _at_zero(name: str) -> Any:
    """The same perturbation at strength 0, where it takes a strength."""
    for known in catalog.PERTURBATIONS.built_in:
        if (name == known or name.startswith(f"{known}-")) and catalog.PERTURBATIONS.settings_of(known):
            return catalog.perturbation(f"{known}-0")
    return None
