"""Objects passed to a verb (environments, metrics, models, trainings) as data."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.api.verbs import given_twice
from wmel.contract.cell import ORACLE
from wmel.errors import BadInput
from wmel.experiments.build import named_environment
from wmel.kinds import missing_methods, refuse_definition
from wmel.models.oracle import Oracle
from wmel.parts import import_object, name_and_settings, settings_of
from wmel.results import Result
from wmel.settings import to_json_value

SIMPLE = (bool, int, float, str)
OF_MODEL = ("rollout", "device")  # settings of every checkpoint
REPEAT = "action_repeat"  # a setting of environments that are wrapped where it is given


def readable_settings(part: Any) -> dict[str, Any]:
    """The constructor arguments of a live part, where its attributes have them and JSON can hold them."""
    found = {one: getattr(part, one, None) for one in settings_of(type(part))}
    return {one: to_json_value(value) for one, value in found.items() if isinstance(value, SIMPLE)}


def metric_entry(metric: Any) -> Any:
    """A metric as a study names it: a name or a table as it is, an object by where it is defined and its settings.

    A record names its metrics, so that one that no name leads back to is refused.
    """
    if isinstance(metric, str | Mapping) or not callable(metric):
        return metric
    data = catalog.METRICS.data_of(metric)
    if data is not None:
        return data
    settings: dict[str, Any] = {}
    if isinstance(metric, partial) and not metric.args:
        metric, settings = metric.func, metric.keywords
    elif is_dataclass(metric) and not isinstance(metric, type):
        metric, settings = type(metric), {one: getattr(metric, one) for one in settings_of(type(metric))}
    name = catalog.METRICS.name_of(metric) or _importable_name(metric)
    return {"name": name, **{key: to_json_value(value) for key, value in settings.items()}}


def _importable_name(thing: Any) -> str:
    """`package.module:object` of a function or class; refused where that does not lead back to it."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    target = f"{module}:{name}"
    try:
        found = import_object(target)
    except BadInput:
        found = None
    if found is not thing:
        raise BadInput(
            f"a metric is recorded by its name, and none leads to {thing!r:.80}: define it as a function, or as a "
            "dataclass that is called with a table, at the top level of a module or notebook"
        )
    return target


def describe_environment(environment: Any) -> dict[str, Any] | None:
    """An environment that the catalogue built as {name, **settings}; None for any other."""
    name = environment.spec.name.partition("[")[0]
    settings = getattr(environment, "settings", None)
    if not catalog.ENVIRONMENTS.has(name) or not isinstance(settings, Mapping):
        return None
    if settings.keys() | {REPEAT} != catalog.ENVIRONMENTS.settings_of(name).keys() | {REPEAT}:
        return None  # its settings are not the keywords it was made with
    usual = named_environment({"name": name})
    if type(usual) is not type(environment) and REPEAT not in settings:
        return None
    return {"name": name, **{key: value for key, value in settings.items() if usual.settings.get(key) != value}}


def parse_model_setting(entry: Mapping[str, Any], key: str, value: Any) -> Any:
    """A setting of a recipe or of a model of your own as it was typed, turned into a value; others stay as they are."""
    if not isinstance(value, str) or key in OF_MODEL:
        return value
    if "trainer" in entry:
        return catalog.TRAINERS.parse(entry["trainer"], {key: value})[key]
    if "object" not in entry:
        return value
    return catalog.MODELS.parse(entry["object"], {key: value})[key]


def model_settings(entry: Mapping[str, Any]) -> set[str]:
    """The settings that the model of an entry takes: those of its trainer, of its checkpoint or of its class."""
    if "trainer" in entry:
        return {*catalog.TRAINERS.settings_of(entry["trainer"]), *OF_MODEL}
    return {*catalog.MODELS.settings_of(entry["object"])} if "object" in entry else {*OF_MODEL}


def is_oracle(model: Any) -> bool:
    """Whether a model is the true dynamics, by name or as an object."""
    return isinstance(model, Oracle) or (isinstance(model, str) and model == ORACLE)


def trained_folder(result: Result) -> Path:
    """The checkpoint that a training wrote."""
    if result.verb != "train" or result.folder is None:
        raise BadInput(f"a model is a checkpoint, an object or the result of a training, got that of {result.verb!r}")
    return result.folder


def is_trainer(value: Any) -> bool:
    """Whether it is a trainer of the catalogue, or an object or class with all methods of a trainer."""
    return catalog.TRAINERS.name_of(value) is not None or not missing_methods("trainer", value)


def recipe_of(trainer: Any) -> dict[str, Any]:
    """A trainer object as the keys of a recipe: its name and settings, and its seed as `seeds`."""
    refuse_definition("trainer", trainer)
    data = catalog.TRAINERS.data_of(trainer)
    if data is None:
        raise BadInput(
            f"{trainer!r:.80} cannot be trained in a study, which stores a trainer as its name and settings: give "
            '{"trainer": name, **settings}, where the name may be package.module:object'
        )
    name, settings = name_and_settings(data, "trainer")
    seed = settings.pop("seed", None)
    return {"trainer": name, **settings, **({} if seed is None else {"seeds": [seed]})}


def with_recipe(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a model, with the settings of its trainer if that is an object."""
    trainer = entry.get("trainer")
    if not is_trainer(trainer):
        return dict(entry)
    recipe = recipe_of(trainer)
    for key in recipe.keys() & entry.keys() - {"trainer"}:
        raise BadInput(given_twice("trainer", recipe["trainer"], key, recipe[key], entry[key]))
    return {**entry, **recipe}


def may_choose_rollout(entry: Mapping[str, Any]) -> bool:
    """Whether it is a checkpoint whose kind imagines in more than one way."""
    if "checkpoint" not in entry or not Path(entry["checkpoint"]).exists():
        return False
    from wmel.training.checkpoints import read_card, trainer_class

    folder = Path(entry["checkpoint"])
    return bool(trainer_class(read_card(folder)["model"], folder).rollouts)
