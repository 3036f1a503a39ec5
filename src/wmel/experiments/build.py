"""Between data and parts: parts and models built once in a process, and described as records hold them."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.contract.cell import Arm, Cell, Diagnostic, Part, training_of
from wmel.errors import BadInput, WmelError
from wmel.files import hash_files, stamp_of
from wmel.models.callable_model import build_user_model
from wmel.parts import Registry
from wmel.values import is_json

WORLDS = 16  # environments a process keeps
CHECKPOINTS = "checkpoints"  # where a training keeps those on the way
REGISTRIES = {
    "environment": catalog.ENVIRONMENTS,
    "perturbation": catalog.PERTURBATIONS,
    "planner": catalog.PLANNERS,
    "objective": catalog.OBJECTIVES,
    "policy": catalog.POLICIES,
    "diagnostic": catalog.DIAGNOSTICS,
}
WEIGHTS, CARD = "weights.safetensors", "card.json"
MODEL_BYTES = 1 << 30  # of weights that a process keeps restored; the model used last is kept whatever its size


@dataclass(frozen=True)
class ModelPaths:
    """Where models are: those of the store by key, others relative to the study file; and their device."""

    models: Path
    folder: Path
    device: str = "cpu"
    objects: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)  # live ones, by name
    moved: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)  # key -> folder of old stores

    def folder_of(self, environment: Part, model: Mapping[str, Any] | None) -> Path | None:
        """Where the checkpoint of a model is or will be; None where it has none."""
        if model is None or "object" in model or "given" in model:
            return None
        if "checkpoint" in model:
            return self.folder / model["checkpoint"]
        training = training_of(environment, model)
        assert training is not None
        home = self.models / self.moved.get(training.key, training.key)
        return home if model.get("at") is None else home / CHECKPOINTS / f"{model['at']:07d}"

    def device_of(self, environment: Part, model: Mapping[str, Any] | None) -> str:
        """The kind of device a model is on; only checkpoints leave the CPU."""
        return "cpu" if self.folder_of(environment, model) is None else self.device.partition(":")[0]


def build_environment(part: Part, paths: ModelPaths) -> Any:
    """An environment, once in this process."""
    return paths.objects[part["name"]] if part.get("given") else named_environment(part)


def named_environment(part: Part) -> Any:
    """An environment of the catalogue, once in this process."""
    return _environment(json.dumps(part, sort_keys=True))


@lru_cache(WORLDS)
def _environment(part: str) -> Any:
    name, settings = catalog.name_and_settings(json.loads(part), "environment")
    return catalog.environment(name, **settings)


def build_policy(arm: Arm, world: Any, model: Any, paths: ModelPaths) -> Any:
    """The policy of an arm over a model; None for the oracle."""
    given = {} if model is None else {"model": model}
    name, settings = _part(arm.policy or arm.planner, paths)
    if arm.policy is not None:
        return name if arm.policy.get("given") else catalog.policy(name, world, **settings, **given)
    if arm.objective is not None:
        objective, own = _part(arm.objective, paths)
        settings["objective"] = {"name": objective, **own} if isinstance(objective, str) else objective
    return catalog.policy(name, world, execute=arm.execute, **settings, **given)


def build_perturbation(part: Part | None, paths: ModelPaths) -> Any:
    """What strikes; None where nothing does."""
    if part is None:
        return None
    return paths.objects[part["name"]] if part.get("given") else catalog.perturbation(part)


def _part(part: Part | None, paths: ModelPaths) -> tuple[Any, dict[str, Any]]:
    """The name of a part and its settings; a live one is itself."""
    assert part is not None, "an arm has a policy or a planner"
    if part.get("given"):
        return paths.objects[part["name"]], {}
    return catalog.name_and_settings(part, "part")


def build_trainer(part: Part, paths: ModelPaths) -> Any:
    """A trainer; a folder of stored episodes is relative to the study file."""
    name, settings = catalog.name_and_settings(part, "trainer")
    if settings.get("data") is not None:
        settings["data"] = str(paths.folder / settings["data"])
    if paths.device != "cpu" and "device" in catalog.TRAINERS.settings_of(name) and "device" not in settings:
        settings["device"] = paths.device
    return catalog.TRAINERS.build(name, **settings)


def build_diagnostic(cell: Diagnostic, paths: ModelPaths) -> Any:
    """The diagnostic of a cell; a live one is itself."""
    if cell.diagnostic.get("given"):
        return paths.objects[cell.diagnostic["name"]]
    name, settings = catalog.name_and_settings(cell.diagnostic, "diagnostic")
    return catalog.DIAGNOSTICS.build(name, **settings)


def described_parts(cell: Cell | Diagnostic) -> dict[str, Any]:
    """Every part that a cell names, by kind."""
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
    found = {kind: _in_full(REGISTRIES[kind], part) for kind, part in parts.items() if part is not None}
    return found if model is None else {**found, "model": _describe_model(cell, model)}


def _in_full(registry: Registry, part: Part) -> dict[str, Any]:
    """A part with the settings that are at their defaults; as it is where its package is not here any more."""
    own = {key: value for key, value in part.items() if key not in ("probability", "step")}
    beside = {key: value for key, value in part.items() if key not in own}
    if part.get("given") or part["name"] == "composite":
        return {**own, **beside}
    try:
        resolved = registry.spec(*catalog.name_and_settings(own, registry.kind)).resolved
    except WmelError:
        resolved = own
    return {**{key: value for key, value in resolved.items() if is_json(value)}, **beside}


def _describe_model(cell: Cell | Diagnostic, model: Mapping[str, Any]) -> dict[str, Any]:
    """A model: what it is called, and where it comes from; of a recipe all settings."""
    name = cell.arm if isinstance(cell, Diagnostic) else cell.arm.name
    known = {key: value for key, value in model.items() if key != "given"}
    if "trainer" in known:
        known["trainer"] = _in_full(catalog.TRAINERS, known["trainer"])
    if "object" in known:
        stated = {"name": known["object"], **known.pop("settings", {})}
        known |= {key: value for key, value in _in_full(catalog.MODELS, stated).items() if key != "name"}
    return {"name": name, **known}


def files_hash(checkpoint: Path) -> str:
    """Of the weights and the card of a checkpoint folder."""
    try:
        return hash_files(checkpoint / WEIGHTS, checkpoint / CARD)
    except OSError as error:
        raise BadInput(f"{checkpoint} is no checkpoint: cannot read it: {error.strerror or error}") from error


def weights_file_hash(checkpoint: Path | None) -> str | None:
    """Of the file of weights; None where there is none."""
    try:
        return None if checkpoint is None else hash_files(checkpoint / WEIGHTS)
    except OSError:
        return None


def is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint was trained to its end, and its weights are those its card was written for."""
    try:
        card = json.loads((checkpoint / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(card, dict) or card.get("weights_sha256") != (weights_file_hash(checkpoint) or ""):
        return False
    return not (card.get("fit") or {}).get("interrupted")


def data_hash(checkpoint: Path | None) -> str | None:
    """Of the data a checkpoint was trained on, by its card."""
    if checkpoint is None:
        return None
    from wmel.training.checkpoints import read_card  # torch is needed only here

    return (read_card(checkpoint).get("data") or {}).get("sha256")


def build_model(environment: Part, model: Mapping[str, Any] | None, paths: ModelPaths) -> Any:
    """A model, a checkpoint once in this process; None for the oracle."""
    if model is None:
        return None
    if "given" in model:
        return paths.objects[model["given"]]
    if "object" in model:
        return build_user_model(model["object"], **model.get("settings", {}))
    folder, world = paths.folder_of(environment, model), build_environment(environment, paths)
    assert folder is not None
    return _RESTORED.get(folder, world, paths.device, model.get("rollout"))


def build_model_to_try(environment: Part, model: Mapping[str, Any] | None, paths: ModelPaths) -> Any:
    """The model of a cell, untrained where it is yet to be trained; None for the oracle."""
    training, folder = training_of(environment, model), paths.folder_of(environment, model)
    if model is None or training is None or folder is None or is_whole(folder):
        return build_model(environment, model, paths)
    from wmel.training.checkpoints import untrained  # torch is needed only here

    world, home = (build_environment(one, paths) for one in (environment, training.environment))
    trainer = build_trainer(training.trainer, paths)
    return untrained(world, trainer, paths.device, model.get("rollout"), trained_in=home)


def check_checkpoint(environment: Part, model: Mapping[str, Any] | None, paths: ModelPaths) -> None:
    """Refuse a checkpoint that is damaged or does not fit its environment; no network is built."""
    folder = paths.folder_of(environment, model)
    if folder is None or (model is not None and "trainer" in model and not is_whole(folder)):
        return
    from wmel.training.checkpoints import checked_checkpoint  # torch is needed only here

    checked_checkpoint(folder, build_environment(environment, paths))


def kind_of(model: Mapping[str, Any] | None, paths: ModelPaths) -> str:
    """What models that compute alike share: a recipe without its seed, the network that a card describes."""
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
class _Restored:
    """Models restored in this process, those used last, as long as their files fit into a number of bytes."""

    most: int
    kept: OrderedDict[Any, tuple[Any, int, Any]] = field(default_factory=OrderedDict)  # model, bytes, its world

    def get(self, folder: Path, world: Any, device: str, rollout: str | None) -> Any:
        """The model of a folder, restored again only when its files changed or it had to make room."""
        files = folder / WEIGHTS, folder / CARD
        known = (folder.resolve(), *map(stamp_of, files), id(world), device, rollout)
        if known not in self.kept:
            from wmel.training.checkpoints import restore  # torch is needed only here

            self.kept[known] = restore(folder, world, device, rollout), files[0].stat().st_size, world
        self.kept.move_to_end(known)
        while len(self.kept) > 1 and sum(size for _, size, _ in self.kept.values()) > self.most:
            self.kept.popitem(last=False)
        return self.kept[known][0]


_RESTORED = _Restored(MODEL_BYTES)
