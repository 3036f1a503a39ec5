"""Makes the entries of a study from the arguments of a verb: names, {name, **settings} or objects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from numbers import Integral
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.api.live_parts import (
    OF_MODEL,
    describe_environment,
    is_trainer,
    may_choose_rollout,
    parse_model_setting,
    readable_settings,
    recipe_of,
    trained_folder,
    with_recipe,
)
from wmel.api.verbs import given_twice, setting_pairs
from wmel.catalog import PresetUse, name_and_settings, preset_settings, settings_by_preset
from wmel.errors import BadInput, UnknownPart, suggest_name
from wmel.experiments.build import named_environment
from wmel.experiments.expand import Study, study_of
from wmel.experiments.identity import identity_of
from wmel.experiments.keys import ENTRY_SETTINGS, check_entry_settings, refuse_taken_names
from wmel.experiments.spec import parse_study
from wmel.kinds import check_methods
from wmel.parts import Registry, settings_of
from wmel.results import Result

KINDS = {
    "environment": catalog.ENVIRONMENTS,
    "planner": catalog.PLANNERS,
    "policy": catalog.POLICIES,
    "objective": catalog.OBJECTIVES,
    "perturbation": catalog.PERTURBATIONS,
    "executor": catalog.EXECUTORS,
    "metric": catalog.METRICS,
    "diagnostic": catalog.DIAGNOSTICS,
    "trainer": catalog.TRAINERS,
    "model": None,  # `rollout` and `device` of checkpoints
}


@dataclass(eq=False)
class EntryBuilder:
    """Settings by kind of part, live objects by kind and name, and what has been used."""

    settings: dict[str, dict[str, Any]]
    preset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    objects: dict[tuple[str, str], Any] = field(default_factory=dict)
    reserved: set[tuple[str, str]] = field(default_factory=set)  # kinds and names that no live object gets
    used: set[str] = field(default_factory=set)  # kinds whose settings found their part
    by_preset: dict[str, set[str]] = field(default_factory=dict)  # kind -> settings that only the preset gives
    judges_gaps: bool = False  # whether the verdict rule of the preset counts

    def __post_init__(self):
        self.preset_use = PresetUse(self.preset)

    @classmethod
    def of(cls, settings: Any, preset: str | None = None, **own: Any) -> "EntryBuilder":
        """`settings` as {"planner.elites": 8} or texts; `own` are settings with a parameter of their own, by kind."""
        found: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        for key, value in setting_pairs(settings).items():
            kind, dot, name = str(key).partition(".")
            if not dot or kind not in KINDS or not name:
                raise BadInput(
                    f"a setting is written as KIND.NAME, such as planner.elites; got {key!r};"
                    f"{suggest_name('' if kind in KINDS else kind, KINDS, 'kinds:')}"
                )
            found[kind][name] = value
        for kind, values in own.items():
            for name, value in values.items():
                if value is None:
                    continue
                if name in found[kind]:
                    raise BadInput(given_twice(kind, None, name, found[kind][name], value))
                found[kind][name] = value
        return cls(found, preset_settings(preset))

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> "EntryBuilder":
        """The settings among the options of a verb."""
        model = {name: options.get(name) for name in OF_MODEL}
        return cls.of(
            options["settings"], options.get("preset"), model=model, planner={"execute": options.get("execute")}
        )

    def part(self, kind: str, part: Any) -> dict[str, Any]:
        """A part of a kind as {name, **settings}: its own, those of the preset, then those of `settings`."""
        self.used.add(kind)
        if isinstance(part, str | Mapping):
            name, own = name_and_settings(part, kind)
        else:
            check_methods(kind, part)
            name, own = self._object(kind, part)
        beside = self.settings[kind]
        for key in own.keys() & beside.keys():
            raise BadInput(given_twice(kind, name, key, own[key], beside[key]))
        registry = KINDS[kind]
        assert registry is not None
        is_named = isinstance(part, str | Mapping)  # an object has its settings
        usual = settings_by_preset(self.preset, registry, name) if is_named else {}
        extra = check_entry_settings(kind, name, beside, is_typed=True)
        texts = {key: value for key, value in beside.items() if isinstance(value, str) and key not in extra}
        values = {key: value for key, value in beside.items() if not isinstance(value, str) and key not in extra}
        parsed = registry.parse(name, texts) if texts and not own.get("given") else texts
        if own.get("given") and (parsed or values):
            raise BadInput(has_its_settings(kind, next(iter({**texts, **values}))))
        if usual and kind == "planner":
            self._check_with_preset(registry, name, usual, {**own, **values, **parsed})
        chosen = {**own, **values, **parsed, **extra}
        self.by_preset[kind] = usual.keys() - chosen.keys()
        self.preset_use.record(kind, name, self.by_preset[kind])
        return {"name": name, **usual, **chosen}

    def objectives(self, objective: Any, environment: Mapping[str, Any], *, is_swept: bool = False) -> list[Any]:
        """What scores plans, as entries: none for the environment's own, unless settings of it are given or swept."""
        if objective is None and not self.settings["objective"] and not is_swept:
            return []
        if objective is None:
            is_live = bool(environment.get("given"))
            world = self.objects["environment", environment["name"]] if is_live else named_environment(environment)
            objective = world.spec.objectives[0]
        return [self.part("objective", objective)]

    def beside(self, kind: str, name: str, own: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a part that were given to the verb, with those given as `settings`."""
        self.used.add(kind)
        if not self.settings[kind]:
            return dict(own)
        return {key: value for key, value in self.part(kind, {"name": name, **own}).items() if key != "name"}

    def _check_with_preset(self, registry: Registry, name: str, usual: dict[str, Any], chosen: dict[str, Any]) -> None:
        """Refuse settings that contradict those of the preset, which the message names."""
        registry.refuse_unknown(name, chosen, ENTRY_SETTINGS["planner"])
        try:
            registry.build(
                name, **{**usual, **{key: one for key, one in chosen.items() if key not in ENTRY_SETTINGS["planner"]}}
            )
        except BadInput as error:
            theirs = {key: value for key, value in usual.items() if key not in chosen}
            named = {key: value for key, value in theirs.items() if key in str(error)} or theirs
            words = ", ".join(f"{key} = {value!r}" for key, value in named.items())
            raise BadInput(f"{error}; the preset sets {words}") from error

    def _object(self, kind: str, part: Any) -> tuple[str, dict[str, Any]]:
        """A live part: as data where the catalogue makes the same of it, else by a name that stands for it."""
        registry = KINDS[kind]
        assert registry is not None
        data = describe_environment(part) if kind == "environment" else registry.data_of(part)
        if data is not None:
            return name_and_settings(data, kind)
        own = part.spec.name if kind == "environment" else getattr(part, "name", None) or type(part).__name__
        refuse_taken_names(kind, str(own), type(part), settings_of(type(part)))
        known = identity_of(part)
        name = self._number_object(kind, str(own), part, known)
        return name, {"given": True, **({} if known is None else {"identity": known}), **readable_settings(part)}

    def _number_object(self, kind: str, name: str, part: Any, identity: str | None) -> str:
        """The name that a live part is found by; it ends in a number if another part of its kind has its name."""
        for number in count(1):
            numbered = name if number == 1 else f"{name}-{number}"
            if (kind, numbered) in self.reserved:
                continue
            other = self.objects.setdefault((kind, numbered), part)
            if other is part or (identity is not None and identity == identity_of(other)):
                return numbered
        raise AssertionError

    def models(self, models: Any) -> list[dict[str, Any]]:
        """Models as entries: a mapping by name, a list, or one."""
        models = [] if models is None else models
        named = models.items() if isinstance(models, Mapping) else [(None, one) for one in _as_sequence(models)]
        entries = [self.model_entry(name, one) for name, one in named]
        names = [entry["name"] for entry in entries]
        if len(set(names)) < len(names) or {"oracle", "random", "cpg", ""} & set(names):
            raise BadInput(
                f"each model needs a name of its own, none of oracle, random and cpg; got {', '.join(names)}"
            )
        self._set_objects(entries, {key: one for key, one in self.settings["model"].items() if key not in OF_MODEL})
        if "rollout" in self.settings["model"]:
            self._choose_rollout(entries, self.settings["model"]["rollout"])
        if self.settings["model"].get("device") and not any("checkpoint" in entry for entry in entries):
            raise BadInput("device is a setting of checkpoints, and none is given")
        return entries

    def model_entry(self, name: str | None, model: Any) -> dict[str, Any]:
        """A model as an entry: a checkpoint, a recipe, an object of your own by its name, or a live one."""
        if isinstance(model, Result):
            model = trained_folder(model)
        if isinstance(model, Mapping):
            own = model.get("name", name)
            if not isinstance(own, str) or name not in (None, own):
                raise BadInput(
                    f"a model needs one name, as the key or as `name`; got {name!r} and {model.get('name')!r}"
                )
            return with_recipe({**model, "name": own})
        if isinstance(model, Path) or (isinstance(model, str) and (Path(model).exists() or "/" in model)):
            folder = Path(model).parent if Path(model).name == "card.json" else Path(model)
            return {"name": name or folder.name, "checkpoint": str(folder)}
        if isinstance(model, str) and catalog.TRAINERS.has(model) and not catalog.MODELS.has(model):
            return {"name": name or model, "trainer": model, **self._recipe_settings(model)}
        if isinstance(model, str):
            if ":" not in model and not catalog.MODELS.has(model):
                known = [*catalog.MODELS.parts, *catalog.TRAINERS.parts]
                near = suggest_name(model, known, command="wmel list models trainers")
                raise UnknownPart(f"no checkpoint folder, model or trainer named '{model}';{near}")
            return {"name": name or model.rpartition(":")[2], "object": model}
        if is_trainer(model):
            recipe = recipe_of(model)
            return {"name": name or recipe["trainer"], **recipe}
        own = str(name or getattr(getattr(model, "spec", None), "name", None) or type(model).__name__)
        self.objects["model", own] = model
        known = identity_of(model)
        return {"name": own, "given": True, **({} if known is None else {"weights": known})}

    def _recipe_settings(self, trainer: str) -> dict[str, Any]:
        """The settings of a trainer that were given beside."""
        self.used.add("trainer")
        beside = self.settings["trainer"]
        texts = {key: value for key, value in beside.items() if isinstance(value, str)}
        return {**beside, **catalog.TRAINERS.parse(trainer, texts)}

    def _set_objects(self, entries: list[dict[str, Any]], settings: Mapping[str, Any]) -> None:
        """Give settings to the models of your own that have them; one that no model has is refused."""
        for key, value in settings.items():
            own = {entry["object"]: entry for entry in entries if "object" in entry}
            having = [entry for name, entry in own.items() if key in catalog.MODELS.settings_of(name)]
            if not having:
                known = [*OF_MODEL, *(one for name in own for one in catalog.MODELS.settings_of(name))]
                raise BadInput(f"a model has no setting '{key}';{suggest_name(key, known, 'it takes')}")
            for entry in having:
                entry[key] = parse_model_setting(entry, key, value)

    def _choose_rollout(self, entries: list[dict[str, Any]], rollout: str) -> None:
        """Where some models have a choice how to imagine, the setting is for those; else for all, to be refused."""
        choosing = [entry for entry in entries if may_choose_rollout(entry)] or entries
        for entry in choosing:
            if "checkpoint" not in entry and "trainer" not in entry:
                raise BadInput(f"rollout is a setting of checkpoints; {entry['name']} is none")
            entry["rollout"] = rollout
        if not entries:
            raise BadInput("rollout is a setting of checkpoints; the oracle has none")

    def study(self, data: Mapping[str, Any]) -> Study:
        """The study that entries make up; settings of a part that is not there are refused."""
        self.refuse_unused("model", "executor")
        notes = self.preset_use.notes(judges_gaps=self.judges_gaps)
        return replace(study_of(parse_study(data, objects=self.objects), self.objects), notes=notes)

    def refuse_unused(self, *used_elsewhere: str, way_out: str = "leave it out") -> None:
        """Refuse settings of kinds that no part was named of."""
        for kind, settings in self.settings.items():
            if settings and kind not in self.used | set(used_elsewhere):
                name = next(iter(settings))
                if kind == "policy" and "planner" in self.used:
                    way_out = f"a planner is, whose settings are written planner.{name}"
                raise BadInput(f"{kind}.{name} is set, and no {kind} is named here: {way_out}")


def has_its_settings(kind: str, name: str) -> str:
    """Why a setting of a live part is refused."""
    return f"the {kind} is an object that has its settings already: leave out {name}"


def perturbation_entry(
    builder: EntryBuilder, perturbation: Any, probability: float | None, step: int | None
) -> dict[str, Any]:
    """What strikes, how often (always, where it is named and nothing else is given) and when."""
    if perturbation is None and not probability:
        if step is not None or builder.settings["perturbation"]:
            raise BadInput("no perturbation is named and none would occur: name one, or set --perturb-prob above 0")
        return {}
    if probability == 0:
        raise BadInput(f"perturbation '{perturbation}' never occurs: set --perturb-prob above 0")
    named = "env-default" if perturbation is None else perturbation
    data = catalog.perturbation_data(named) if isinstance(named, str) else named
    is_composite = isinstance(data, Mapping) and name_and_settings(data, "perturbation")[0] == "composite"
    beside, own = builder.settings["perturbation"], {} if probability is None else {"probability": float(probability)}
    if is_composite:
        builder.used.add("perturbation")
        catalog.PERTURBATIONS.refuse_unknown("composite", beside, ENTRY_SETTINGS["perturbation"])
        part = {**data, **check_entry_settings("perturbation", "composite", beside, is_typed=True)}
    else:
        part = builder.part("perturbation", data)
    own |= {} if step is None else {"step": step}
    for key in own.keys() & part.keys():
        raise BadInput(given_twice("perturbation", part["name"], key, own[key], part[key]))
    return {**part, **own}


def seeds_of(seeds: Any) -> list[Any]:
    """One seed or several."""
    listed = list(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, str) else [seeds]
    return [int(seed) if isinstance(seed, Integral) and not isinstance(seed, bool) else seed for seed in listed]


def _as_sequence(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
