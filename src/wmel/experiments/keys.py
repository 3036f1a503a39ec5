"""The keys of a study and of the tables in it; those of a part are its settings."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from wmel import catalog
from wmel.closed_loop.run import EPISODES
from wmel.contract.cell import NO_SETTINGS
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput, suggest_name
from wmel.parts import Registry
from wmel.settings import Meaning, Setting, settings_of
from wmel.training.data import TRAINING


def _episode_seed(seed: int) -> int:
    if not 0 <= seed < TRAINING:
        raise ValueError(f"must be 0 to {TRAINING - 1} (those from {TRAINING} on are of training data), got {seed}")
    return seed


Seed = Annotated[int, AfterValidator(_episode_seed)]
Whole = Annotated[int, Field(gt=0, lt=10**9)]
Share = Annotated[float, Field(ge=0, le=1)]
EXECUTED = Meaning("actions of a plan that are executed; none: the whole plan", at_least=1)
BESIDE: Mapping[str, Mapping[str, Setting]] = {  # kind -> settings that are written with its part
    "planner": {"execute": Setting("execute", int | None, None, EXECUTED)},
    "perturbation": {
        "probability": Setting("probability", float, 1.0, Meaning("share of episodes it strikes", 0, 1)),
        "step": Setting("step", int | None, None, Meaning("step at which it strikes; none: sampled", at_least=0)),
    },
}
KEYS = {"diagnostic": ("environment", "objective")}  # other keys of a study that go with a part


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


def check_beside(kind: str, name: Any, given: Mapping[str, Any], *, is_typed: bool = False) -> dict[str, Any]:
    """Those of the settings that are written with a part of a kind, as the study takes them; typed ones are parsed."""
    known = BESIDE.get(kind, {})
    try:
        return {
            key: known[key].parse(value) if is_typed and isinstance(value, str) else known[key].check(value)
            for key, value in given.items()
            if key in known
        }
    except BadInput as error:
        raise BadInput(f"{kind} '{name}': {error}" if isinstance(name, str) else f"{kind}: {error}") from error


def refuse_taken_names(kind: str, name: str, make: Any, given: Iterable[str], taken: Iterable[str] = ()) -> None:
    """Refuse settings of a part that cannot be told from keys that a study writes with it."""
    reserved = {*BESIDE.get(kind, ()), *KEYS.get(kind, ()), *NO_SETTINGS, *taken}
    own = settings_of(make) if callable(make) else {}
    for key in given:
        if key in reserved and key in own:
            raise BadInput(
                f"{kind} '{name}': its setting '{key}' has the name of a key that a study writes with a {kind}: "
                "rename the setting"
            )
