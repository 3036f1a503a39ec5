"""Parts and models built from their data, once per process, and describe_error as records hold them."""

import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.contract.cell import Arm, Cell, Diagnostic, Part, training_of
from wmel.errors import BadInput, WmelError
from wmel.files import hash_files, read_json, stamp_of
from wmel.models.callable_model import build_user_model
from wmel.parts import Registry
from wmel.values import is_json

MAX_ENVIRONMENTS = 16  # that a process keeps
CHECKPOINTS = "checkpoints"  # folder of the intermediate checkpoints of a training
REGISTRIES = {
    "environment": catalog.ENVIRONMENTS,
    "perturbation": catalog.PERTURBATIONS,
    "planner": catalog.PLANNERS,
    "objective": catalog.OBJECTIVES,
    "policy": catalog.POLICIES,
    "diagnostic": catalog.DIAGNOSTICS,
}
WEIGHTS, CARD = "weights.safetensors", "card.json"
MODEL_BYTES = 1 << 30  # of restored weights that a process keeps; the model used last is always kept


@dataclass(frozen=True)
class ModelPaths:
    """The folders of models, and their device: trained models by key, others relative to the study file."""

    models: Path
    folder: Path
    device: str = "cpu"
    objects: Mapping[tuple[str, str], Any] = field(default_factory=dict, hash=False, compare=False)  # by kind and name
    moved: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)  # key -> folder of old stores

    def folder_of(self, environment: Part, model: Mapping[str, Any] | None) -> Path | None:
        """The folder of the checkpoint of a model, which may not be trained yet; None if it has none."""
        if model is None or "object" in model or "given" in model:
            return None
        if "checkpoint" in model:
            return self.folder / model["checkpoint"]
        training = training_of(environment, model)
        assert training is not None
        folder = self.models / self.moved.get(training.key, training.key)
        return folder if model.get("at") is None else folder / CHECKPOINTS / f"{model['at']:07d}"

    def live(self, kind: str, part: Part) -> Any:
        """The object that a part marked as `given` stands for."""
        return self.objects[kind, part["name"]]

    def device_of(self, environment: Part, model: Mapping[str, Any] | None) -> str:
        """The type of device of a model; only models from checkpoints leave the CPU."""
        return "cpu" if self.folder_of(environment, model) is None else self.device.partition(":")[0]


def build_environment(part: Part, paths: ModelPaths) -> Any:
    """An environment, built once per process, or a live one."""
    return paths.live("environment", part) if part.get("given") else named_environment(part)


def named_environment(part: Part) -> Any:
    """An environment of the catalogue, built once per process."""
    return _environment(json.dumps(part, sort_keys=True))


@lru_cache(MAX_ENVIRONMENTS)
def _environment(part: str) -> Any:
    name, settings = catalog.name_and_settings(json.loads(part), "environment")
    return catalog.environment(name, **settings)


def build_policy(arm: Arm, world: Any, model: Any, paths: ModelPaths) -> Any:
    """The policy of an arm over a model; None for the oracle."""
    with_model = {} if model is None else {"model": model}
    kind = "planner" if arm.policy is None else "policy"
    name, settings = _name_and_settings(kind, arm.policy or arm.planner, paths)
    if arm.policy is not None:
        return name if arm.policy.get("given") else catalog.policy(name, world, **settings, **with_model)
    if arm.objective is not None:
        objective, own = _name_and_settings("objective", arm.objective, paths)
        settings["objective"] = {"name": objective, **own} if isinstance(objective, str) else objective
    return catalog.policy(name, world, execute=arm.execute, **settings, **with_model)


def build_perturbation(part: Part | None, paths: ModelPaths) -> Any:
    """The perturbation of a task, or None."""
    if part is None:
        return None
    return paths.live("perturbation", part) if part.get("given") else catalog.perturbation(part)


def _name_and_settings(kind: str, part: Part | None, paths: ModelPaths) -> tuple[Any, dict[str, Any]]:
    """The name and the settings of a part; a live object stands in place of its name."""
    assert part is not None, "an arm has a policy or a planner"
    if part.get("given"):
        return paths.live(kind, part), {}
    return catalog.name_and_settings(part, kind)


def build_trainer(part: Part, paths: ModelPaths) -> Any:
    """A trainer; the folders that it learns from are relative to the study file."""
    name, settings = catalog.name_and_settings(part, "trainer")
    for source in ("data", "collector"):
        if settings.get(source) is not None:
            settings[source] = str(paths.folder / settings[source])
    if paths.device != "cpu" and "device" in catalog.TRAINERS.settings_of(name) and "device" not in settings:
        settings["device"] = paths.device
    return catalog.TRAINERS.build(name, **settings)


def build_diagnostic(cell: Diagnostic, paths: ModelPaths) -> Any:
    """The diagnostic of a cell, which may be a live object."""
    if cell.diagnostic.get("given"):
        return paths.live("diagnostic", cell.diagnostic)
    name, settings = catalog.name_and_settings(cell.diagnostic, "diagnostic")
    return catalog.DIAGNOSTICS.build(name, **settings)


def describe_parts(cell: Cell | Diagnostic) -> dict[str, Any]:
    """Every part that a cell names, by kind, with all its settings."""
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
    describe_error = {kind: _resolve_part(REGISTRIES[kind], part) for kind, part in parts.items() if part is not None}
    return describe_error if model is None else {**describe_error, "model": _describe_model(cell, model)}


def _resolve_part(registry: Registry, part: Part) -> dict[str, Any]:
    """A part with its settings at their defaults too; unchanged if its package is not installed."""
    own = {key: value for key, value in part.items() if key not in ("probability", "step")}
    entry = {key: value for key, value in part.items() if key not in own}  # settings of the entry
    if part.get("given") or part["name"] == "composite":
        return {**own, **entry}
    try:
        resolved = registry.spec(*catalog.name_and_settings(own, registry.kind)).resolved
    except WmelError:
        resolved = own
    return {**{key: value for key, value in resolved.items() if is_json(value)}, **entry}


def _describe_model(cell: Cell | Diagnostic, model: Mapping[str, Any]) -> dict[str, Any]:
    """The name and the origin of a model; a recipe with all its settings."""
    name = cell.arm if isinstance(cell, Diagnostic) else cell.arm.name
    origin = {key: value for key, value in model.items() if key != "given"}
    if "trainer" in origin:
        origin["trainer"] = _resolve_part(catalog.TRAINERS, origin["trainer"])
    if "object" in origin:
        part = {"name": origin["object"], **origin.pop("settings", {})}
        origin |= {key: value for key, value in _resolve_part(catalog.MODELS, part).items() if key != "name"}
    return {"name": name, **origin}


def files_hash(checkpoint: Path) -> str:
    """The hash of the weights and the card of a checkpoint folder."""
    try:
        return hash_files(checkpoint / WEIGHTS, checkpoint / CARD)
    except OSError as error:
        raise BadInput(f"{checkpoint} is no checkpoint: cannot read it: {error.strerror or error}") from error


def weights_file_hash(checkpoint: Path | None) -> str | None:
    """The hash of the weights file of a checkpoint; None if there is none."""
    try:
        return None if checkpoint is None else hash_files(checkpoint / WEIGHTS)
    except OSError:
        return None


def is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint was trained to its end, and its weights match its card."""
    card = _stored_card(checkpoint)
    if card.get("weights_sha256") != (weights_file_hash(checkpoint) or ""):
        return False
    return not (card.get("fit") or {}).get("interrupted")


def described_model_hash(checkpoint: Path | None) -> str | None:
    """The hash of what the card of a checkpoint states about the use of its weights; None if there is no card.

    The rest of a card, such as the seconds of the training, does not decide a row.
    """
    described = None if checkpoint is None else _stored_card(checkpoint).get("model")
    return None if described is None else sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _stored_card(checkpoint: Path) -> dict[str, Any]:
    """The card of a checkpoint, unchecked; empty if it cannot be read."""
    try:
        card = read_json(checkpoint / CARD)
    except BadInput:
        return {}
    return card if isinstance(card, dict) else {}


def data_hash(checkpoint: Path | None) -> str | None:
    """The hash of the training data of a checkpoint, from its card."""
    if checkpoint is None:
        return None
    from wmel.training.checkpoints import read_card  # torch is needed only here

    return (read_card(checkpoint).get("data") or {}).get("sha256")


def build_model(environment: Part, model: Mapping[str, Any] | None, paths: ModelPaths) -> Any:
    """The model of a cell; a checkpoint is restored once per process. None for the oracle."""
    if model is None:
        return None
    if "given" in model:
        return paths.objects["model", model["given"]]
    if "object" in model:
        return build_user_model(model["object"], **model.get("settings", {}))
    folder, world = paths.folder_of(environment, model), build_environment(environment, paths)
    assert folder is not None
    return _MODEL_CACHE.get(folder, world, paths.device, model.get("rollout"))


def build_model_for_check(environment: Part, model: Mapping[str, Any] | None, paths: ModelPaths) -> Any:
    """The model of a cell, with random weights if it is not trained yet. None for the oracle."""
    training, folder = training_of(environment, model), paths.folder_of(environment, model)
    if model is None or training is None or folder is None or is_whole(folder):
        return build_model(environment, model, paths)
    from wmel.training.checkpoints import build_untrained  # torch is needed only here

    world, trained_in = (build_environment(one, paths) for one in (environment, training.environment))
    trainer = build_trainer(training.trainer, paths)
    return build_untrained(world, trainer, paths.device, model.get("rollout"), trained_in=trained_in)


def check_checkpoint(environment: Part, model: Mapping[str, Any] | None, paths: ModelPaths) -> None:
    """Raises an error for a checkpoint that is damaged or does not fit its environment; builds no network."""
    folder = paths.folder_of(environment, model)
    if folder is None or (model is not None and "trainer" in model and not is_whole(folder)):
        return
    from wmel.training.checkpoints import check_checkpoint  # torch is needed only here

    check_checkpoint(folder, build_environment(environment, paths))


def model_kind(model: Mapping[str, Any] | None, paths: ModelPaths) -> str:
    """Text that models of equal computation share: a recipe without its seed, or the network of a card."""
    known = dict(model or {})
    if "trainer" in known:
        known.pop("at", None)
        known["trainer"] = {name: value for name, value in known["trainer"].items() if name != "seed"}
    elif "checkpoint" in known:
        from wmel.training.checkpoints import read_card  # torch is needed only here

        del known["checkpoint"], known["files"]
        known["card"] = read_card(paths.folder / (model or {})["checkpoint"])["model"]
    return json.dumps(known, sort_keys=True)


@dataclass(eq=False)
class _ModelCache:
    """The models that this process restored last, while their files fit into a number of bytes."""

    max_bytes: int
    models: OrderedDict[Any, tuple[Any, int, Any]] = field(default_factory=OrderedDict)  # model, bytes, its environment

    def get(self, folder: Path, world: Any, device: str, rollout: str | None) -> Any:
        """The model of a folder, restored again only if its files changed or it was evicted."""
        files = folder / WEIGHTS, folder / CARD
        key = (os.path.realpath(folder), *map(stamp_of, files), id(world), device, rollout)
        if key not in self.models:
            from wmel.training.checkpoints import restore  # torch is needed only here

            self.models[key] = restore(folder, world, device, rollout), files[0].stat().st_size, world
        self.models.move_to_end(key)
        while len(self.models) > 1 and sum(size for _, size, _ in self.models.values()) > self.max_bytes:
            self.models.popitem(last=False)
        return self.models[key][0]


_MODEL_CACHE = _ModelCache(MODEL_BYTES)
