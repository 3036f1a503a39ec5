"""A study file: TOML read, swept fields spread out, every key checked and named where it is wrong."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from wmel.errors import BadInput

MOST = 100_000  # cells a study may spread out to
Seed = Annotated[int, Field(ge=0, lt=10_000)]  # those from 10,000 on are for training data
Whole = Annotated[int, Field(gt=0, lt=10**9)]
Share = Annotated[float, Field(ge=0, le=1)]
Setting = str | bool | int | float
SEED = "{seed}"  # in the name of a checkpoint: the seed of its training
KIND_OF_MODEL = ("name", "checkpoint", "object", "trainer")


class Keys(BaseModel):
    """Keys that are not known are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class EnvironmentKeys(Keys):
    name: str
    init: Literal["task", "fixed"] | None = None
    layout: str | None = None
    max_steps: Whole | None = None
    action_repeat: Whole | None = None


class PlannerKeys(Keys):
    name: str
    plan_horizon: Whole = 15
    candidates: Whole | None = None
    execute: Whole | None = None
    knots: Whole | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """As `wmel cpg` has them, so that a default written out is the same cell."""
        drawn = 50 if self.candidates is None and self.name == "random-shooting" else self.candidates
        settings = {**self.model_dump(), "candidates": drawn}
        return {name: value for name, value in settings.items() if value is not None}


class PerturbationKeys(Keys):
    name: str | None = None  # none: nothing strikes
    probability: Share = 1.0
    step: Annotated[int, Field(ge=0)] | None = None  # none: drawn by each episode's seed


class CriterionKeys(Keys):
    success: str | None = None
    stop: Literal["success", "horizon"] | None = None


class ModelKeys(Keys):
    """A checkpoint (or one for each seed of training, `{seed}` in its name), an object of your own, or a recipe."""

    name: str
    checkpoint: str | None = None
    object: str | None = None
    trainer: str | None = None
    rollout: Literal["latent", "decoded"] | None = None  # how it imagines, where it has a choice
    policy: Literal["native", "prior"] | None = None  # it acts by itself, whatever the planner of the setting
    collect: str | None = None
    transitions: Whole | None = None
    epsilon: Share | None = None
    episode_steps: Whole | None = None
    hidden: list[Whole] | None = None
    target: Literal["next", "delta"] | None = None
    epochs: Whole | None = None
    patience: Whole | None = None
    threads: Whole = 1
    seeds: Annotated[list[Seed], Field(min_length=1)] | None = None
    checkpoints: Annotated[list[Whole], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "ModelKeys":
        kinds = [kind for kind in ("checkpoint", "object", "trainer") if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"a model is one of checkpoint, object and trainer, got {' and '.join(kinds) or 'none'}")
        if self.name in ("oracle", "random", ""):
            raise ValueError(f"{self.name!r} is kept for an arm that is always there")
        recipe = self.model_fields_set - {*KIND_OF_MODEL, "rollout", "policy"}
        if self.checkpoint is not None and SEED in self.checkpoint:
            if self.seeds is None:
                raise ValueError(f"a checkpoint for each seed ({SEED} in its name) needs seeds = [...]")
            recipe -= {"seeds"}
        if self.checkpoints is not None and self.epochs is not None:
            raise ValueError("checkpoints are epochs to train for: leave out epochs")
        if self.checkpoint is not None and "seeds" in recipe:
            raise ValueError(f"seeds of a checkpoint need {SEED} in its name, where the seed of each training goes")
        if self.trainer is None and recipe:
            raise ValueError(f"{sorted(recipe)[0]} belongs to a recipe, and this model names no trainer")
        if self.object is not None and self.rollout is not None:
            raise ValueError("rollout belongs to a checkpoint or a trainer; an object imagines in its own way")
        return self

    @property
    def recipe(self) -> dict[str, Any]:
        """What its trainer is asked for."""
        apart = {*KIND_OF_MODEL, "rollout", "policy", "seeds", "checkpoints"}
        return self.model_dump(exclude=apart, exclude_none=True)

    @property
    def use(self) -> dict[str, str]:
        """How it imagines and acts, where that was said."""
        return self.model_dump(include={"rollout", "policy"}, exclude_none=True)


class StudyKeys(Keys):
    name: Annotated[str, Field(min_length=1)]
    about: str = ""
    episodes: Annotated[int, Field(gt=0, le=100_000)] = 30
    seeds: Annotated[list[Seed], Field(min_length=1)] = [0]
    horizon: Whole | None = None
    block: Annotated[int, Field(gt=0, le=10_000)] = 50
    floor: bool = True
    objectives: Annotated[list[str], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _has_distinct_seeds(self) -> "StudyKeys":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: each may be given once")
        return self


@dataclass(frozen=True, eq=False)
class Entry:
    """One entry of a list after its sweeps were spread out: its keys, and where the swept ones stand."""

    keys: Any
    place: str
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class StudySpec:
    """A study file, checked."""

    study: StudyKeys
    environments: list[Entry]
    models: list[Entry]
    planners: list[Entry]
    perturbations: list[Entry]
    criteria: list[Entry]
    path: Path  # which paths in it are relative to
    text: str

    @property
    def folder(self) -> Path:
        return self.path.parent


LISTS = {
    "environments": EnvironmentKeys,
    "models": ModelKeys,
    "planners": PlannerKeys,
    "perturbations": PerturbationKeys,
    "criteria": CriterionKeys,
}
OTHERWISE: dict[str, list[dict[str, Any]]] = {"models": [], "perturbations": [{}], "criteria": [{}]}


def read_study(path: Path) -> StudySpec:
    """The study of a file; whatever is wrong is said with its place."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the study {path}: {error}") from error
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise BadInput(f"{path} is not TOML: {error}") from error
    return parsed_study(data, text, path)


def parsed_study(data: dict[str, Any], text: str, path: Path) -> StudySpec:
    """The study of parsed TOML."""
    top = {key: value for key, value in data.items() if key not in LISTS}
    study = _checked(StudyKeys, top, path, "")
    lists = {name: _entries(data.get(name, OTHERWISE.get(name)), name, path) for name in LISTS}
    for entry in lists["models"]:
        seeds = entry.keys.seeds
        if seeds is not None and len(seeds) not in (1, len(study.seeds)):
            raise BadInput(
                f"{path}: models '{entry.keys.name}': seeds: {len(seeds)} seeds to train with for {len(study.seeds)} "
                "seeds of episodes: give one, or one for each"
            )
    names = [arm_name(entry) for entry in lists["models"]]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{path}: models: two are called '{name}'")
    return StudySpec(study, path=path, text=text, **lists)


def arm_name(entry: Entry) -> str:
    """A model's name, with where its swept keys stand."""
    swept = ",".join(f"{key}={value}" for key, value in entry.labels.items())
    return f"{entry.keys.name}[{swept}]" if swept else entry.keys.name


def _entries(given: Any, name: str, path: Path) -> list[Entry]:
    if given is None:
        raise BadInput(f"{path}: {name}: at least one is needed")
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise BadInput(f"{path}: {name}: write each as a [[{name}]] table, got {_shown(given)}")
    if not given and name != "models":
        raise BadInput(f"{path}: {name}: at least one is needed")
    return [
        Entry(_checked(LISTS[name], keys, path, f"{name}[{place}]"), f"{name}[{place}]", labels)
        for place, one in enumerate(given)
        for keys, labels in _spread(one, path, f"{name}[{place}]")
    ]


def _spread(entry: dict[str, Any], path: Path, place: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The entries a sweep stands for: `plan_horizon = {sweep = [1, 5, 10]}` is three of them."""
    swept = {key: value["sweep"] for key, value in entry.items() if isinstance(value, dict) and set(value) == {"sweep"}}
    for key, values in swept.items():
        if not isinstance(values, list) or not values:
            raise BadInput(f"{path}: {place}.{key}.sweep: a list of at least one value, got {_shown(values)}")
        if key == "name":
            raise BadInput(f"{path}: {place}.name: a name is not swept; write one entry for each")
    if prod(len(values) for values in swept.values()) > MOST:
        raise BadInput(f"{path}: {place}: its sweeps stand for more than {MOST:,} entries")
    for chosen in product(*swept.values()):
        labels = dict(zip(swept, chosen, strict=True))
        yield {**entry, **labels}, labels


def _checked(kind: type[Keys], data: Any, path: Path, place: str) -> Any:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([place, *(str(key) for key in first["loc"])]).strip(".")
        said = first["msg"].removeprefix("Value error, ")
        known = f"; known: {', '.join(_known(kind))}" if first["type"] == "extra_forbidden" else ""
        got = (
            "" if first["type"] in ("extra_forbidden", "missing", "value_error") else f", got {_shown(first['input'])}"
        )
        raise BadInput(f"{path}: {where or 'the study'}: {said[0].lower()}{said[1:]}{got}{known}") from error


def _known(kind: type[Keys]) -> list[str]:
    return [*kind.model_fields, *(LISTS if kind is StudyKeys else ())]


def _shown(value: Any) -> str:
    return repr(value)[:80]
