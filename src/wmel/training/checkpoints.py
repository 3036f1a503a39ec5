"""Checkpoints: weights as safetensors and a card as JSON, in a folder of their own."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from wmel.errors import BadInput, CannotWrite, described
from wmel.files import write_whole

WEIGHTS, CARD = "weights.safetensors", "card.json"
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin")


def write_checkpoint(folder: Path, weights: dict[str, torch.Tensor], card: dict[str, Any]) -> None:
    """Write both files, the card last: a folder with a card is a whole checkpoint."""
    stored = _bytes_of(weights)
    card = {**card, "weights_sha256": sha256(stored).hexdigest()}
    try:
        write_whole(folder / WEIGHTS, lambda path: path.write_bytes(stored))
        write_whole(folder / CARD, lambda path: path.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8"))
    except OSError as error:
        raise CannotWrite(f"cannot write the checkpoint {folder}: {error.strerror or error}") from error


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], said: dict[str, str]) -> None:
    """Tensors and what is said of them as one file."""
    stored = _bytes_of(tensors, said)
    try:
        write_whole(path, lambda draft: draft.write_bytes(stored))
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error


def _bytes_of(tensors: dict[str, torch.Tensor], said: dict[str, str] | None = None) -> bytes:
    """A file as Python then writes it: safetensors itself says a full disk by an error of its own, and hides files."""
    return save({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, said)


def remove(path: Path) -> None:
    """A file that has served."""
    path.unlink(missing_ok=True)


def remove_checkpoint(folder: Path) -> None:
    """One of another training; whatever else is in its folder stays."""
    if folder.is_dir():
        for name in (CARD, WEIGHTS):
            remove(folder / name)
        if not any(folder.iterdir()):
            folder.rmdir()


def read_checkpoint(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Weights and card of a folder; anything else is refused, and nothing of it is run."""
    if folder.name == WEIGHTS:
        raise BadInput(f"{folder} is a part of a checkpoint: give its folder")
    if folder.suffix in PICKLES or (folder.is_file() and folder.name != CARD):
        raise BadInput(
            f"{folder} is no checkpoint folder; a pickle could run code and is never loaded: train or convert it"
        )
    card = read_card(folder)
    folder = _folder(folder)
    said = card.get("weights_sha256")
    if not isinstance(said, str):
        raise BadInput(f"{folder} is no checkpoint of wmel: its card has no weights_sha256")
    try:
        stored = (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read the weights {folder / WEIGHTS}: {error.strerror or error}") from error
    if said != sha256(stored).hexdigest():
        raise BadInput(f"{folder / WEIGHTS} are not the weights {CARD} describes: their SHA-256 is another")
    try:
        return load(stored), card
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise BadInput(f"cannot read the weights {folder / WEIGHTS}: {described(error)}") from error


def refuse_another(folder: Path, kind: str) -> None:
    """A folder that holds a model of another kind is not written over."""
    if (folder / CARD).exists():
        found = read_card(folder)["model"].get("kind")
        if found != kind:
            raise BadInput(f"{folder} holds a {found}: give another --output, or remove it first")


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a checkpoint, given by its folder or by itself."""
    folder = _folder(folder)
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{folder} is no checkpoint: cannot read {CARD}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{folder} is no checkpoint: {CARD} is not JSON: {error}") from error
    if not isinstance(card, dict) or not isinstance(card.get("model"), dict):
        raise BadInput(f"{folder} is no checkpoint of wmel: its card describes no model")
    return card


def _folder(given: Path) -> Path:
    """Of a checkpoint that may be given by its card."""
    return given.parent if given.name == CARD else given
