"""The keys that a study and its tables may have; the keys of a part are its settings."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from wmel import catalog
from wmel.closed_loop.run import EPISODES
from wmel.contract.cell import NO_SETTINGS
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput, suggest_name
from wmel.parts import Registry
from wmel.settings import MAX_COUNT, Meaning, Setting, settings_of
from wmel.training.data import TRAINING_SEED_OFFSET


def _episode_seed(seed: int) -> int:
    if not 0 <= seed < TRAINING_SEED_OFFSET:
        raise ValueError(
            f"must be 0 to {TRAINING_SEED_OFFSET - 1} (those from {TRAINING_SEED_OFFSET} on are reserved for "
            f"training data), got {seed}"
        )
    return seed


Seed = Annotated[int, AfterValidator(_episode_seed)]
Steps = Annotated[int, Field(gt=0, le=MAX_COUNT)]
Share = Annotated[float, Field(ge=0, le=1)]
EXECUTE = Meaning("actions of a plan that are executed; none: the whole plan", at_least=1, cap=MAX_COUNT)
ENTRY_SETTINGS: Mapping[str, Mapping[str, Setting]] = {  # kind -> settings of an entry that its part does not have
    "planner": {"execute": Setting("execute", int | None, None, EXECUTE)},
    "perturbation": {
        "probability": Setting("probability", float, 1.0, Meaning("share of episodes that are perturbed", 0, 1)),
        "step": Setting("step", int | None, None, Meaning("step it occurs at; none: sampled", 0, cap=MAX_COUNT)),
    },
}
ENTRY_KEYS = {"diagnostic": ("environment", "objective")}  # kind -> keys of an entry that are no settings
SEED = "{seed}"  # in the name of a checkpoint: the seed of its training
SOURCES = ("checkpoint", "object", "trainer", "given")


class Keys(BaseModel):
    """A table of a study; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class PartKeys(Keys):
    """The name and the settings of a part; its constructor defines which settings there are."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    registry: ClassVar[Registry]

    name: str
    given: bool = False  # whether the name is that of a live object

    @model_validator(mode="before")
    @classmethod
    def _check_entry_settings(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {**data, **check_entry_settings(cls.registry.kind, data.get("name"), data)}

    def refuse_taken_names(self) -> None:
        """Raises BadInput if a setting of the part has the name of a key of the study."""
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
        """Data that two entries share if they mean the same."""
        return self.part, [getattr(self, name) for name in type(self).model_fields if name not in ("name", "given")]

    def check(self) -> None:
        """Raises BadInput for settings that the part does not take, or that contradict each other."""
        if self._beside and self.settings and not self.given and self.name is not None:
            self.registry.refuse_unknown(self._registered_name, self.settings, self._beside)
        _ = self.part

    @property
    def _beside(self) -> list[str]:
        """Keys of the table that are no settings of the part."""
        return [*ENTRY_SETTINGS.get(self.registry.kind, ())]


class BuiltFromSettings(PartKeys):
    """A part that is built from its settings alone, and is built once to check them."""

    def check(self) -> None:
        super().check()
        if not self.given:
            self.registry.spec(self.name, self.settings).build()


class EnvironmentKeys(PartKeys):
    registry = catalog.ENVIRONMENTS


def environment_part(part: str | dict[str, Any] | None) -> dict[str, Any] | None:
    """An environment given by name or as {name, **settings}, as data; None stays None."""
    if part is None:
        return None
    return catalog.ENVIRONMENTS.spec(*catalog.name_and_settings(part, "environment")).key_data


class ModelKeys(PartKeys):
    """A checkpoint (or one per training seed, with `{seed}` in its name), an object of the user, or a recipe."""

    registry = catalog.MODELS

    checkpoint: str | None = None
    object: str | None = None
    trainer: str | None = None
    weights: str | None = None  # of a live object: the hash of its weights, if it has one
    rollout: str | None = None  # how it imagines, if it has a choice
    policy: str | dict[str, Any] | None = None  # the model's own policy, which acts instead of the planner
    environment: str | dict[str, Any] | None = (
        None  # where a recipe is trained; none: in the environment of the setting
    )
    seeds: Annotated[list[Seed], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _check_source(self) -> "ModelKeys":
        kinds = [kind for kind in SOURCES if getattr(self, kind) not in (None, False)]
        if len(kinds) != 1:
            raise ValueError(f"a model is one of checkpoint, object and trainer, got {' and '.join(kinds) or 'none'}")
        if self.name in ("oracle", "random", ""):
            raise ValueError(f"{self.name!r} is the name of an arm of every study")
        if self.trainer is None and self.object is None and self.settings:
            known = [name for name in type(self).model_fields if name != "given"]
            first = next(iter(self.settings))
            nearest = suggest_name(first, known)
            raise ValueError(f"{first} belongs to a recipe or an object, and this model names no trainer;{nearest}")
        if self.checkpoint is not None:
            if SEED in self.checkpoint and self.seeds is None:
                raise ValueError(f"a checkpoint for each seed ({SEED} in its name) needs seeds = [...]")
            if SEED not in self.checkpoint and self.seeds is not None:
                raise ValueError(
                    f"seeds of a checkpoint need {SEED} in its name, in place of the seed of each training"
                )
        elif self.trainer is None and self.seeds is not None:
            raise ValueError("seeds belongs to a recipe, and this model names no trainer")
        if self.trainer is None and self.environment is not None:
            raise ValueError("environment is where a recipe is trained, and this model names no trainer")
        if self.object is not None and self.rollout is not None:
            raise ValueError("rollout belongs to a checkpoint or a trainer, and this model is an object")
        return self

    def refuse_taken_names(self) -> None:
        if self.trainer is not None:
            names, make = [*self.model_fields_set, *self.settings], catalog.TRAINERS.load(self.trainer)
            refuse_taken_names("trainer", self.trainer, make, names, type(self).model_fields)

    def recipe(self, seed: int) -> dict[str, Any]:
        """The trainer with its settings, as data."""
        assert self.trainer is not None
        if "seed" in self.settings:
            raise BadInput("a recipe takes seeds = [...], one for each training, instead of seed")
        has_seed = "seed" in catalog.TRAINERS.settings_of(self.trainer)
        if not has_seed and len(self.seeds or ()) > 1:
            raise BadInput(f"trainer '{self.trainer}' has no setting 'seed': give one seed or none, got {self.seeds}")
        seeded = {"seed": seed} if has_seed else {}
        spec = catalog.TRAINERS.spec(self.trainer, {**self.settings, **seeded})
        spec.build()  # refuses settings that contradict each other
        return {**spec.key_data, **seeded}

    @property
    def object_settings(self) -> dict[str, Any]:
        """The settings of an object of the user that differ from their defaults."""
        data = {} if self.object is None else catalog.MODELS.spec(self.object, self.settings).key_data
        return {name: value for name, value in data.items() if name != "name"}

    def check(self) -> None:
        """Raises BadInput for unknown settings of a trainer or an object, and for an unknown policy or environment."""
        _ = self.policy_part, environment_part(self.environment), self.object_settings
        if self.trainer is not None:
            self.recipe(0)

    @property
    def policy_part(self) -> dict[str, Any] | None:
        if self.policy is None:
            return None
        name, settings = catalog.name_and_settings(self.policy, "policy")
        return catalog.POLICIES.spec(name, settings).key_data


class PlannerKeys(BuiltFromSettings):
    registry = catalog.PLANNERS

    execute: Steps | None = None


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

    environment: str | dict[str, Any] | None = None  # where models are read; none: in every environment of the study
    objective: str | dict[str, Any] | None = None  # none: those of the study

    @property
    def objective_part(self) -> dict[str, Any] | None:
        if self.objective is None:
            return None
        return catalog.OBJECTIVES.spec(*catalog.name_and_settings(self.objective, "objective")).key_data


class PerturbationKeys(PartKeys):
    registry = catalog.PERTURBATIONS

    name: str | None = None  # none: no perturbation  # pyright: ignore[reportIncompatibleVariableOverride]
    probability: Share = 1.0
    step: Annotated[int, Field(ge=0, le=MAX_COUNT)] | None = None  # none: sampled by each episode's seed

    @property
    def _registered_name(self) -> str:
        assert self.name is not None
        return self.name if self.settings else catalog.perturbation_data(self.name)["name"]

    @property
    def part(self) -> dict[str, Any] | None:
        if self.name is None:
            if self.model_fields_set or self.settings:
                first = next(iter({**self.settings, **dict.fromkeys(sorted(self.model_fields_set))}))
                known = suggest_name("", catalog.PERTURBATIONS.parts)
                raise BadInput(f"a perturbation needs a name, and only {first} is given;{known}")
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

    def check(self) -> None:
        super().check()
        if self.part is not None and not self.given:
            catalog.perturbation(self.part)

    @property
    def _beside(self) -> list[str]:
        return [*(["parts"] if self.name == "composite" else []), *super()._beside]


class CriterionKeys(Keys):
    criterion: str | None = None
    success: str | None = None  # an alias
    stop: Literal["success", "horizon"] | None = None

    @model_validator(mode="after")
    def _check_given_once(self) -> "CriterionKeys":
        if self.criterion is not None and self.success is not None:
            raise ValueError("criterion and success are the same setting: give one of them")
        return self

    def check(self) -> None:
        _ = self.text

    @property
    def same_as(self) -> Any:
        return self.text, self.stop

    @property
    def text(self) -> str | None:
        criterion = self.criterion or self.success
        return None if criterion is None else str(Criterion.parse(criterion))


class StudyKeys(Keys):
    name: Annotated[str, Field(min_length=1)]
    about: str = ""
    episodes: Annotated[int, Field(gt=0, le=100_000)] = EPISODES
    seeds: Annotated[list[Seed], Field(min_length=1)] = [0]
    horizon: Steps | None = None
    block: Annotated[int, Field(gt=0, le=10_000)] = 50
    floor: bool = True
    oracle: bool = True
    metrics: list[str | dict[str, Any]] = []
    preset: str | None = None  # a published run whose settings replace defaults
    tau: Annotated[float, Field(ge=0, le=0.5)] | None = None  # the margin of the CPG paper's rule, which it adds
    executor: str | dict[str, Any] | None = None  # what runs the jobs, unless the verb sets it

    @model_validator(mode="after")
    def _has_distinct_seeds(self) -> "StudyKeys":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: each may be given once")
        return self


def check_entry_settings(
    kind: str, name: Any, settings: Mapping[str, Any], *, is_typed: bool = False
) -> dict[str, Any]:
    """The entry settings of a part of a kind among those given, checked; text from the command line is parsed."""
    known = ENTRY_SETTINGS.get(kind, {})
    try:
        return {
            key: known[key].parse(value) if is_typed and isinstance(value, str) else known[key].check(value)
            for key, value in settings.items()
            if key in known
        }
    except BadInput as error:
        raise BadInput(f"{kind} '{name}': {error}" if isinstance(name, str) else f"{kind}: {error}") from error


def refuse_taken_names(kind: str, name: str, make: Any, names: Iterable[str], taken: Iterable[str] = ()) -> None:
    """Raises BadInput if a setting of a part has the name of a key that its entry in a study has."""
    reserved = {*ENTRY_SETTINGS.get(kind, ()), *ENTRY_KEYS.get(kind, ()), *NO_SETTINGS, *taken}
    own = settings_of(make) if callable(make) else {}
    for key in names:
        if key in reserved and key in own:
            raise BadInput(
                f"{kind} '{name}': its setting '{key}' has the name of a key that a {kind} has in a study: "
                "rename the setting"
            )
