"""Models of cells: checkpoints hashed and restored once in a process, recipes untrained until they are trained."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.contract.cell import Part, training_of
from wmel.errors import BadInput
from wmel.experiments.build import ModelPaths, build_environment, build_trainer
from wmel.files import hash_files, stamp_of

WEIGHTS, CARD = "weights.safetensors", "card.json"
MODEL_BYTES = 1 << 30  # of weights that a process keeps restored; the model used last is kept whatever its size


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
        return catalog.MODELS.load(model["object"])
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
