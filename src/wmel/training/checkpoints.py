"""Checkpoints: weights as safetensors and a card as JSON, in a folder of their own."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from wmel.errors import BadInput, CannotWrite
from wmel.files import write_whole

WEIGHTS, CARD = "weights.safetensors", "card.json"
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin")


def write_checkpoint(folder: Path, weights: dict[str, torch.Tensor], card: dict[str, Any]) -> None:
    """Write both files, the card last: a folder with a card is a whole checkpoint."""
    owned = {name: value.detach().cpu().contiguous() for name, value in weights.items()}
    try:
        write_whole(folder / WEIGHTS, lambda path: save_file(owned, path))
        card = {**card, "weights_sha256": sha256((folder / WEIGHTS).read_bytes()).hexdigest()}
        write_whole(folder / CARD, lambda path: path.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8"))
    except OSError as error:
        raise CannotWrite(f"cannot write the checkpoint {folder}: {error.strerror or error}") from error


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], said: dict[str, str]) -> None:
    """Tensors and what is said of them as one file."""
    owned = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    try:
        write_whole(path, lambda draft: save_file(owned, draft, said))
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error


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
    if folder.suffix in PICKLES or (folder.is_file() and folder.name != CARD):
        raise BadInput(
            f"{folder} is no checkpoint folder; a pickle could run code and is never loaded: train or convert it"
        )
    folder = folder.parent if folder.name == CARD else folder
    card = read_card(folder)
    try:
        return load_file(folder / WEIGHTS), card
    except (OSError, SafetensorError) as error:
        raise BadInput(f"cannot read the weights {folder / WEIGHTS}: {' '.join(str(error).split())}") from error


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a checkpoint."""
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{folder} is no checkpoint: cannot read {CARD}: {error.strerror or error}") from error
    except ValueError as error:
        raise BadInput(f"{folder} is no checkpoint: {CARD} is not JSON: {error}") from error
    if not isinstance(card, dict) or not isinstance(card.get("model"), dict):
        raise BadInput(f"{folder} is no checkpoint of wmel: its card describes no model")
    return card
