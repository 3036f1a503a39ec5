"""Checkpoints: a folder with weights and a card that describes them. Writing, checking and restoring."""

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from wmel.analysis.scorecard import coverage
from wmel.catalog import TRAINERS
from wmel.contract.environment import Box, Environment, Finite
from wmel.contract.trainer import Trainer
from wmel.errors import BadInput, describe_error, shorten
from wmel.files import hash_files, read_json, write_atomically
from wmel.machine import versions_in_use
from wmel.training.data import Dataset
from wmel.training.fit import FitResult

CURVE_POINTS = 100  # of the training curve on a card


def build_card(
    environment: Environment,
    dataset: Dataset,
    trainer: Any,
    result: FitResult,
    errors: dict[str, Any],
) -> dict[str, Any]:
    """The card of a model that a trainer fitted to a dataset."""
    spec, data, recorded = environment.spec, dataset.training, dataset.held_out
    covered = coverage(spec.observation, data.observations)
    return {
        "model": {"kind": trainer.kind, **describe_environment(environment), **trainer.network_values},
        "environment": spec.name,
        "init": spec.init,
        "data": {
            "transitions": len(data),
            "episodes": dataset.episodes,
            "sha256": data.sha256,
            "held_out_transitions": 0 if recorded is None else int(recorded["steps"].sum()),
        },
        "coverage": None if covered is None else asdict(covered),
        "errors": errors,
        "fit": {
            **trainer.fit_values,
            "epochs_taken": result.epochs,
            "interrupted": result.interrupted,
            "seconds": round(result.seconds, 3),
        },
        "curve": _thin_curve(result.losses),
        "versions": versions_in_use(),
    }


def _thin_curve(losses: list[float]) -> list[dict[str, Any]]:
    """The loss after about CURVE_POINTS epochs, the last epoch included."""
    stride = max(1, len(losses) // CURVE_POINTS)
    points = range(len(losses) - 1, -1, -stride)[::-1]
    return [{"epochs": place + 1, "losses": {"training": losses[place]}} for place in points]


def describe_environment(environment: Environment) -> dict[str, Any]:
    """The properties of an environment that a model depends on, for a card."""
    spec = environment.spec
    space = spec.actions
    bounds = [space.low.tolist(), space.high.tolist()] if isinstance(space, Box) else None
    values = space.values.tolist() if isinstance(space, Finite) and space.values is not None else None
    names = list(space.names) if isinstance(space, Finite) else None
    actions = {"names": names, "values": values, "bounds": bounds}
    repeat = {} if spec.action_repeat == 1 else {"action_repeat": spec.action_repeat}
    return {"environment": spec.name, "observation": list(spec.observation), "actions": actions, **repeat}


def check_same_environment(environment: Environment, described: dict[str, Any]) -> None:
    """Raises BadInput for an environment that differs from the one on a card."""
    check_action_repeat(environment, described)
    for name, value in describe_environment(environment).items():
        if described.get(name) != value:
            raise BadInput(
                f"the checkpoint was trained on {described.get('environment')}, not on {environment.spec.name}: "
                f"its {name} is {shorten(described.get(name))}, here it is {shorten(value)}"
            )


def check_action_repeat(environment: Environment, described: dict[str, Any]) -> None:
    """Raises BadInput for an environment with another action repeat than on a card, where the default is 1."""
    then, now = described.get("action_repeat") or 1, environment.spec.action_repeat
    if then != now:
        way_out = "leave out --action-repeat" if then == 1 else f"add --action-repeat {then}"
        raise BadInput(f"the checkpoint was trained with action repeat {then}; here it is {now}: {way_out}")


WEIGHTS, CARD = "weights.safetensors", "card.json"
CARD_HASH = "card_sha256"  # key of a card: the hash of all its other keys; cards of earlier versions have none
CHECKPOINTS = "checkpoints"  # folder of the intermediate checkpoints, each in a folder named by its updates or epochs
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)  # of weights
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin")


def use_device(device: torch.device) -> AbstractContextManager[object]:
    """Makes a device the current one: torch creates CUDA graphs and streams there."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def parse_device(name: str) -> torch.device:
    """The device with a name. Raises BadInput if it is not available."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise BadInput(f"unknown device {name!r}; known: cpu, cuda, cuda:1") from None
    if device.type not in ("cpu", "cuda"):
        raise BadInput(f"wmel supports the devices cpu and cuda, not {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BadInput(f"device {name} is not available: torch finds {torch.cuda.device_count()} CUDA devices")
    return device


def write_checkpoint(folder: Path, weights: dict[str, torch.Tensor], card: dict[str, Any]) -> None:
    """Writes both files. The card is last, so that a folder with a card is a complete checkpoint."""
    stored = _serialize(weights)
    card = {**card, "weights_sha256": sha256(stored).hexdigest()}
    card[CARD_HASH] = _hash_card(json.loads(json.dumps(card)))
    write_atomically(folder / WEIGHTS, stored)
    write_atomically(folder / CARD, json.dumps(card, indent=1) + "\n")


def copy_checkpoint(source: Path, folder: Path) -> None:
    """Copies a checkpoint to another folder. Raises BadInput if the folder contains another checkpoint."""
    weights, card = read_checkpoint(source)
    if (folder / CARD).exists() and read_card(folder) != card:
        raise BadInput(f"{folder} contains another checkpoint: give another folder")
    write_checkpoint(folder, weights, card)


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """Writes tensors and metadata to one file."""
    write_atomically(path, _serialize(tensors, metadata))


def _serialize(tensors: dict[str, torch.Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The content of a safetensors file. Python writes it: safetensors has its own error for a full disk."""
    return save({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, metadata)


def remove_file(path: Path) -> None:
    """Removes a file, if it exists."""
    path.unlink(missing_ok=True)


def remove_checkpoint(folder: Path) -> None:
    """Removes the files of a checkpoint, and the folder if it is then empty."""
    if folder.is_dir():
        for name in (CARD, WEIGHTS):
            remove_file(folder / name)
        if not any(folder.iterdir()):
            folder.rmdir()


def read_checkpoint(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Reads weights and card. Raises BadInput for anything else than a checkpoint folder. Never runs code of a file."""
    if folder.name == WEIGHTS:
        raise BadInput(f"{folder} is a part of a checkpoint: give its folder")
    if folder.suffix in PICKLES or (folder.is_file() and folder.name != CARD):
        raise BadInput(
            f"{folder} is not a checkpoint folder; pickles can run code and are never loaded: train a model, or "
            "convert a published file"
        )
    card = read_card(folder)
    folder = _checkpoint_folder(folder)
    expected = card.get("weights_sha256")
    if not isinstance(expected, str):
        raise BadInput(f"{folder} is not a checkpoint of wmel: its card has no weights_sha256")
    try:
        stored = (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read the weights {folder / WEIGHTS}: {error.strerror or error}") from error
    if expected != hash_files(folder / WEIGHTS):
        raise BadInput(f"{folder / WEIGHTS} does not match {CARD}: its SHA-256 is different")
    try:
        return load(stored), card
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise BadInput(f"cannot read the weights {folder / WEIGHTS}: {describe_error(error)}") from error


def refuse_other_kind(folder: Path, kind: str) -> None:
    """Raises BadInput for a folder with a model of another kind, which would be overwritten."""
    if (folder / CARD).exists():
        found = read_card(folder)["model"].get("kind")
        if found != kind:
            raise BadInput(f"{folder} contains a model of kind {found}: give another --output, or remove it first")


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a checkpoint, from the path of its folder or of its card."""
    folder = _checkpoint_folder(folder)
    try:
        card = read_json(folder / CARD)
    except BadInput as error:
        raise BadInput(f"{folder} is not a checkpoint: {error}") from error
    if not isinstance(card, dict) or not isinstance(card.get("model"), dict):
        raise BadInput(f"{folder} is not a checkpoint of wmel: its card describes no model")
    if CARD_HASH in card and card[CARD_HASH] != _hash_card(card):
        raise BadInput(
            f"{folder / CARD} was edited: its {CARD_HASH} is {shorten(card[CARD_HASH])}, and its content has another; "
            "restore the file, or train the model again"
        )
    return card


def _hash_card(card: dict[str, Any]) -> str:
    """The SHA-256 of the content of a card, without its own hash, whatever its layout."""
    content = {name: value for name, value in card.items() if name != CARD_HASH}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _checkpoint_folder(path: Path) -> Path:
    return path.parent if path.name == CARD else path


def restore(folder: Path, environment: Environment, device: str = "cpu", rollout: str | None = None) -> Any:
    """The model of a checkpoint on a device, for its own or a compatible environment.

    `rollout` is a rollout method, for kinds of models with a choice.
    """
    target = parse_device(device)
    weights, trainer, described = check_checkpoint(folder, environment)
    try:
        _check_shapes(weights, trainer, environment)
        network = trainer.blank(environment)
        network.load_state_dict(weights)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"the card of {folder} is not a valid card of kind {described['kind']}: {describe_error(error)}"
        ) from error
    except RuntimeError as error:
        raise BadInput(f"the weights in {folder} do not match the card: {_first_detail(error)}") from error
    return select_rollout(trainer.model(environment, network.to(target)), trainer, described["kind"], rollout)


def check_checkpoint(folder: Path, environment: Environment) -> tuple[dict[str, torch.Tensor], Any, dict[str, Any]]:
    """The weights of a checkpoint, the trainer that builds its network, and the `model` entry of its card.

    Raises BadInput for a checkpoint that is damaged or cannot be used in the environment. Builds no network.
    """
    weights, card = read_checkpoint(folder)
    described = card["model"]
    kind = trainer_class(described, folder)
    try:
        trainer = kind.of_card(described)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"the card of {folder} is not a valid card of kind {described['kind']}: {describe_error(error)}"
        ) from error
    trainer.check(environment, described)
    for key, values in weights.items():
        if values.dtype not in DTYPES:
            raise BadInput(f"the weights in {folder} cannot be used: {key} holds {values.dtype}")
        if not values.isfinite().all():
            raise BadInput(f"the weights in {folder} are damaged: {key} contains NaN or infinity")
    return weights, trainer, described


def _check_shapes(weights: dict[str, torch.Tensor], trainer: Trainer, environment: Environment) -> None:
    """Raises RuntimeError, before a network takes any memory, unless the weights have the shapes that a card describes.

    A network of a plugin that is not built without memory is left to `load_state_dict`.
    """
    try:
        with torch.device("meta"):
            expected = {name: value.shape for name, value in trainer.blank(environment).state_dict().items()}
    except (NotImplementedError, RuntimeError):
        return
    for name, shape in expected.items():
        if name in weights and weights[name].shape != shape:
            raise RuntimeError(f"{name} has shape {tuple(weights[name].shape)}, the card describes {tuple(shape)}")
    if len(expected) > len(weights):
        raise RuntimeError(f"it has {len(weights)} tensors, the card describes {len(expected)}")


def build_untrained(
    environment: Environment,
    trainer: Trainer,
    device: str = "cpu",
    rollout: str | None = None,
    trained_in: Environment | None = None,
) -> Any:
    """An untrained model of the same size as a trained one, on a device.

    `trained_in` is the environment of the training, by default the same. Raises BadInput if the trained model could not
    be used in `environment`.
    """
    home = environment if trained_in is None else trained_in
    resolved = trainer.resolve(home)
    if home is not environment:
        resolved.check(environment, describe_environment(home))
    network = resolved.blank(environment).to(parse_device(device))
    return select_rollout(resolved.model(environment, network), resolved, TRAINERS.name_of(resolved) or "", rollout)


def trainer_class(described: dict[str, Any], folder: Path) -> Any:
    """The trainer of the kind of model on a card."""
    name = described.get("kind")
    if not isinstance(name, str) or not TRAINERS.has(name):
        raise BadInput(f"{folder} contains a model of unknown kind {name!r}; known: {', '.join(TRAINERS.parts)}")
    return TRAINERS.load(name)


def select_rollout(model: Any, trainer: Any, kind: str, rollout: str | None) -> Any:
    """The model with a rollout method of its kind. None leaves it unchanged."""
    if rollout is None:
        return model
    if not trainer.rollouts:
        raise BadInput(f"a model of kind {kind} has only one rollout: leave out rollout {rollout!r}")
    if rollout not in trainer.rollouts:
        raise BadInput(f"a model of kind {kind} has no rollout {rollout!r}; known: {', '.join(trainer.rollouts)}")
    return replace(model, rollout_way=rollout)


def _first_detail(error: RuntimeError) -> str:
    """The first detail of an error of `load_state_dict`, which is on the second line."""
    return " ".join(str(error).split("\n")[1:2] or [str(error)]).strip()
