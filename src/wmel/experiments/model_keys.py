"""The keys of a model in a study: a checkpoint, an object of the user, or a recipe that is trained."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from wmel import catalog
from wmel.errors import BadInput, suggest_name
from wmel.experiments.keys import PartKeys, Seed, environment_part, refuse_taken_names

SEED = "{seed}"  # in the name of a checkpoint: the seed of its training
SOURCES = ("checkpoint", "object", "trainer", "given")


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
    def _is_one_thing(self) -> "ModelKeys":
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
            given, make = [*self.model_fields_set, *self.settings], catalog.TRAINERS.load(self.trainer)
            refuse_taken_names("trainer", self.trainer, make, given, type(self).model_fields)

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
