"""The keys of a study and of the tables in it; those of a part are its settings."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from wmel import catalog
from wmel.closed_loop.run import EPISODES
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput
from wmel.experiments.beside import check_beside, refuse_taken_names
from wmel.parts import Registry, nearest
from wmel.training.data import TRAINING


def _episode_seed(seed: int) -> int:
    if not 0 <= seed < TRAINING:
        raise ValueError(f"must be 0 to {TRAINING - 1} (those from {TRAINING} on are of training data), got {seed}")
    return seed


Seed = Annotated[int, AfterValidator(_episode_seed)]
Whole = Annotated[int, Field(gt=0, lt=10**9)]
Share = Annotated[float, Field(ge=0, le=1)]
SEED = "{seed}"  # in the name of a checkpoint: the seed of its training
SOURCES = ("checkpoint", "object", "trainer", "given")


class Keys(BaseModel):
    """Keys that are not known are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class PartKeys(Keys):
    """A part's name and settings: the part's own constructor says which there are."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    registry: ClassVar[Registry]

    name: str
    given: bool = False  # a live object, by its name

    @model_validator(mode="before")
    @classmethod
    def _check_beside(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {**data, **check_beside(cls.registry.kind, data.get("name"), data)}

    def refuse_taken_names(self) -> None:
        """Refuse settings of the part that have the name of a key of the study."""
        if not self.given and self.name is not None and self.model_fields_set - {"name"}:
            make = self.registry.load(self._registered_name)
            refuse_taken_names(self.registry.kind, self.name, make, [*self.model_fields_set, *self.settings])

    @property
    def _registered_name(self) -> str:
        return self.name

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.model_extra or {})

    @property
    def part(self) -> dict[str, Any]:
        """The part as data, without the settings that are at their defaults."""
        if self.given:
            return {"name": self.name, "given": True, **self.settings}
        return self.registry.spec(self.name, self.settings).key_data

    @property
    def same_as(self) -> Any:
        """What two entries share that stand for the same."""
        return self.part, [getattr(self, name) for name in type(self).model_fields if name not in ("name", "given")]

    @property
    def checked(self) -> None:
        """Refuse settings that contradict each other, where a part is built from its settings alone."""
        _ = self.part


class BuiltFromSettings(PartKeys):
    """A part that needs nothing but its settings: it is built once, to be refused where it stands."""

    @property
    def checked(self) -> None:
        _ = super().checked
        if not self.given:
            self.registry.spec(self.name, self.settings).build()


class EnvironmentKeys(PartKeys):
    registry = catalog.ENVIRONMENTS


def environment_part(given: str | dict[str, Any] | None) -> dict[str, Any] | None:
    """An environment given by name or as {name, **settings}, as data; None stays None."""
    if given is None:
        return None
    return catalog.ENVIRONMENTS.spec(*catalog.name_and_settings(given, "environment")).key_data


class PlannerKeys(BuiltFromSettings):
    registry = catalog.PLANNERS

    execute: Whole | None = None


class PolicyKeys(PartKeys):
    registry = catalog.POLICIES

    @property
    def part(self) -> dict[str, Any]:
        if not self.given and catalog.PLANNERS.has(self.name) and not self.registry.has(self.name):
            raise BadInput(f"'{self.name}' is a planner: write it as a [[planners]] table")
        return super().part


class ObjectiveKeys(PartKeys):
    registry = catalog.OBJECTIVES


class DiagnosticKeys(BuiltFromSettings):
    registry = catalog.DIAGNOSTICS

    environment: str | dict[str, Any] | None = None  # where it is read; none: in every environment of the study
    objective: str | dict[str, Any] | None = None  # none: those of the study

    @property
    def objective_part(self) -> dict[str, Any] | None:
        if self.objective is None:
            return None
        return catalog.OBJECTIVES.spec(*catalog.name_and_settings(self.objective, "objective")).key_data


class PerturbationKeys(PartKeys):
    registry = catalog.PERTURBATIONS

    name: str | None = None  # none: nothing strikes  # pyright: ignore[reportIncompatibleVariableOverride]
    probability: Share = 1.0
    step: Annotated[int, Field(ge=0)] | None = None  # none: sampled by each episode's seed

    @property
    def _registered_name(self) -> str:
        assert self.name is not None
        return self.name if self.settings else catalog.perturbation_data(self.name)["name"]

    @property
    def part(self) -> dict[str, Any] | None:
        if self.name is None:
            if self.model_fields_set or self.settings:
                first = next(iter({**self.settings, **dict.fromkeys(sorted(self.model_fields_set))}))
                raise BadInput(
                    f"a perturbation needs a name, and only {first} is given;{nearest('', catalog.PERTURBATIONS.parts)}"
                )
            return None
        if self.given:
            return {"name": self.name, "given": True, **self.settings}
        data = catalog.perturbation_data({"name": self.name, **self.settings} if self.settings else self.name)
        if self.probability == 0:
            return None
        if data["name"] == "composite":
            return data
        return catalog.PERTURBATIONS.spec(*catalog.name_and_settings(data, "perturbation")).key_data

    @property
    def same_as(self) -> Any:
        return self.model_dump()

    @property
    def checked(self) -> None:
        if self.part is not None and not self.given:
            catalog.perturbation(self.part)


class CriterionKeys(Keys):
    criterion: str | None = None
    success: str | None = None  # an alias
    stop: Literal["success", "horizon"] | None = None

    @model_validator(mode="after")
    def _is_given_once(self) -> "CriterionKeys":
        if self.criterion is not None and self.success is not None:
            raise ValueError("criterion and success are the same setting: give one")
        return self

    @property
    def checked(self) -> None:
        _ = self.text

    @property
    def same_as(self) -> Any:
        return self.text, self.stop

    @property
    def text(self) -> str | None:
        given = self.criterion or self.success
        return None if given is None else str(Criterion.parse(given))


class ModelKeys(PartKeys):
    """A checkpoint (or one for each seed of training, `{seed}` in its name), an object of your own, or a recipe."""

    registry = catalog.MODELS

    checkpoint: str | None = None
    object: str | None = None
    trainer: str | None = None
    weights: str | None = None  # of a live object: the hash of what it learned, where it has one
    rollout: str | None = None  # how it imagines, where it has a choice
    policy: str | dict[str, Any] | None = None  # it acts by itself, whatever the planner of the setting
    environment: str | dict[str, Any] | None = None  # where a recipe is trained; none: in that of the setting
    seeds: Annotated[list[Seed], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "ModelKeys":
        kinds = [kind for kind in SOURCES if getattr(self, kind) not in (None, False)]
        if len(kinds) != 1:
            raise ValueError(f"a model is one of checkpoint, object and trainer, got {' and '.join(kinds) or 'none'}")
        if self.name in ("oracle", "random", ""):
            raise ValueError(f"{self.name!r} is kept for an arm that is always there")
        if self.trainer is None and self.object is None and self.settings:
            known = [name for name in type(self).model_fields if name != "given"]
            first = next(iter(self.settings))
            raise ValueError(
                f"{first} belongs to a recipe or an object, and this model names no trainer;{nearest(first, known)}"
            )
        if self.checkpoint is not None:
            if SEED in self.checkpoint and self.seeds is None:
                raise ValueError(f"a checkpoint for each seed ({SEED} in its name) needs seeds = [...]")
            if SEED not in self.checkpoint and self.seeds is not None:
                raise ValueError(f"seeds of a checkpoint need {SEED} in its name, where the seed of each training goes")
        elif self.trainer is None and self.seeds is not None:
            raise ValueError("seeds belongs to a recipe, and this model names no trainer")
        if self.trainer is None and self.environment is not None:
            raise ValueError("environment is where a recipe is trained, and this model names no trainer")
        if self.object is not None and self.rollout is not None:
            raise ValueError("rollout belongs to a checkpoint or a trainer; an object imagines in its own way")
        return self

    def refuse_taken_names(self) -> None:
        if self.trainer is not None:
            given, make = [*self.model_fields_set, *self.settings], catalog.TRAINERS.load(self.trainer)
            refuse_taken_names("trainer", self.trainer, make, given, type(self).model_fields)

    def recipe(self, seed: int) -> dict[str, Any]:
        """The trainer with its settings, as data."""
        assert self.trainer is not None
        if "seed" in self.settings:
            raise BadInput("a recipe takes seeds = [...], one for each training, and no seed")
        has_seed = "seed" in catalog.TRAINERS.settings_of(self.trainer)
        if not has_seed and len(self.seeds or ()) > 1:
            raise BadInput(f"trainer '{self.trainer}' has no setting 'seed': give one seed or none, got {self.seeds}")
        seeded = {"seed": seed} if has_seed else {}
        spec = catalog.TRAINERS.spec(self.trainer, {**self.settings, **seeded})
        spec.build()  # settings that contradict each other are refused
        return {**spec.key_data, **seeded}

    @property
    def object_settings(self) -> dict[str, Any]:
        """The settings of an object of your own that differ from their defaults."""
        data = {} if self.object is None else catalog.MODELS.spec(self.object, self.settings).key_data
        return {name: value for name, value in data.items() if name != "name"}

    @property
    def checked(self) -> None:
        """Refuse settings that a trainer or an object does not take, and a policy or an environment there is not."""
        _ = self.policy_part, environment_part(self.environment), self.object_settings
        if self.trainer is not None:
            self.recipe(0)

    @property
    def policy_part(self) -> dict[str, Any] | None:
        if self.policy is None:
            return None
        name, settings = catalog.name_and_settings(self.policy, "policy")
        return catalog.POLICIES.spec(name, settings).key_data


class StudyKeys(Keys):
    name: Annotated[str, Field(min_length=1)]
    about: str = ""
    episodes: Annotated[int, Field(gt=0, le=100_000)] = EPISODES
    seeds: Annotated[list[Seed], Field(min_length=1)] = [0]
    horizon: Whole | None = None
    block: Annotated[int, Field(gt=0, le=10_000)] = 50
    floor: bool = True
    oracle: bool = True
    metrics: list[str | dict[str, Any]] = []
    preset: str | None = None  # settings of a published run, where an entry has none of its own
    executor: str | dict[str, Any] | None = None  # who runs the jobs, unless the verb is told

    @model_validator(mode="after")
    def _has_distinct_seeds(self) -> "StudyKeys":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: each may be given once")
        return self
