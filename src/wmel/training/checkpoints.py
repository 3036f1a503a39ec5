"""Checkpoints: weights and a card that describes them, written, checked, restored and moved to a device."""

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
from wmel.errors import BadInput, CannotWrite, describe_error
from wmel.files import hash_files, replace_atomically
from wmel.machine import versions_in_use
from wmel.training.data import Collected
from wmel.training.fit import Fitted

WEIGHTS, CARD = "weights.safetensors", "card.json"
CHECKPOINTS = "checkpoints"  # where those on the way are kept, each in a folder named by its updates or epochs
CURVE = 100  # points of a training curve on a card
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin")


def current(device: torch.device) -> AbstractContextManager[object]:
    """While graphs and streams are made on a device: torch makes them on the current one."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def usable_device(name: str) -> torch.device:
    """The device of a name; one that is not here is refused."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise BadInput(f"no device is called {name!r}; known: cpu, cuda, cuda:1") from None
    if device.type not in ("cpu", "cuda"):
        raise BadInput(f"wmel plans on cpu and cuda, not on {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BadInput(f"{name} was asked for, and torch sees {torch.cuda.device_count()} CUDA devices here")
    return device


def card_of(
    environment: Environment,
    collected: Collected,
    trainer: Any,
    fitted: Fitted,
    errors: dict[str, Any],
) -> dict[str, Any]:
    """The card of a model that a trainer fitted to collected data."""
    spec, data, recorded = environment.spec, collected.training, collected.held_out
    seen = coverage(spec.observation, data.observations)
    return {
        "model": {"kind": trainer.kind, **trained_for(environment), **trainer.described},
        "environment": spec.name,
        "init": spec.init,
        "data": {
            "transitions": len(data),
            "episodes": collected.episodes,
            "sha256": data.sha256,
            "held_out_transitions": 0 if recorded is None else int(recorded["steps"].sum()),
        },
        "coverage": None if seen is None else asdict(seen),
        "errors": errors,
        "fit": {
            **trainer.fitting,
            "epochs_taken": fitted.epochs,
            "interrupted": fitted.interrupted,
            "seconds": round(fitted.seconds, 3),
        },
        "curve": _curve(fitted.losses),
        "versions": versions_in_use(),
    }


def _curve(losses: list[float]) -> list[dict[str, Any]]:
    """The loss over epochs, at most about CURVE of them, the last among these."""
    stride = max(1, len(losses) // CURVE)
    shown = range(len(losses) - 1, -1, -stride)[::-1]
    return [{"epochs": place + 1, "losses": {"training": losses[place]}} for place in shown]


def trained_for(environment: Environment) -> dict[str, Any]:
    """What of an environment a model depends on."""
    spec = environment.spec
    space = spec.actions
    bounds = [space.low.tolist(), space.high.tolist()] if isinstance(space, Box) else None
    values = space.values.tolist() if isinstance(space, Finite) and space.values is not None else None
    names = list(space.names) if isinstance(space, Finite) else None
    actions = {"names": names, "values": values, "bounds": bounds}
    repeat = {} if spec.action_repeat == 1 else {"action_repeat": spec.action_repeat}
    return {"environment": spec.name, "observation": list(spec.observation), "actions": actions, **repeat}


def check_trained_for(environment: Environment, described: dict[str, Any]) -> None:
    """Refuse an environment that differs from the one a card describes."""
    check_action_repeat(environment, described)
    for name, wanted in trained_for(environment).items():
        if described.get(name) != wanted:
            raise BadInput(
                f"the checkpoint was trained on {described.get('environment')}, and this is {environment.spec.name}: "
                f"its {name} is {described.get(name)}, here it is {wanted}"
            )


def check_action_repeat(environment: Environment, described: dict[str, Any]) -> None:
    """Refuse an environment whose decisions are of other length than those a card describes; none said means 1."""
    then, now = described.get("action_repeat") or 1, environment.spec.action_repeat
    if then != now:
        way_out = "leave out --action-repeat" if then == 1 else f"add --action-repeat {then}"
        raise BadInput(f"the checkpoint was trained with action repeat {then}; here it is {now}: {way_out}")


def write_checkpoint(folder: Path, weights: dict[str, torch.Tensor], card: dict[str, Any]) -> None:
    """Write both files, the card last: a folder with a card is a whole checkpoint."""
    stored = _bytes_of(weights)
    card = {**card, "weights_sha256": sha256(stored).hexdigest()}
    try:
        replace_atomically(folder / WEIGHTS, lambda path: path.write_bytes(stored))
        replace_atomically(
            folder / CARD, lambda path: path.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
        )
    except OSError as error:
        raise CannotWrite(f"cannot write the checkpoint {folder}: {error.strerror or error}") from error


def copy_checkpoint(source: Path, folder: Path) -> None:
    """A checkpoint in another folder; one that is there already is not written over."""
    weights, card = read_checkpoint(source)
    if (folder / CARD).exists() and read_card(folder) != card:
        raise BadInput(f"{folder} holds another checkpoint: give another folder")
    write_checkpoint(folder, weights, card)


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], said: dict[str, str]) -> None:
    """Tensors and what is said of them as one file."""
    stored = _bytes_of(tensors, said)
    try:
        replace_atomically(path, lambda draft: draft.write_bytes(stored))
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
    if said != hash_files(folder / WEIGHTS):
        raise BadInput(f"{folder / WEIGHTS} are not the weights {CARD} describes: their SHA-256 is another")
    try:
        return load(stored), card
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise BadInput(f"cannot read the weights {folder / WEIGHTS}: {describe_error(error)}") from error


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


def restore(folder: Path, environment: Environment, device: str = "cpu", rollout: str | None = None) -> Any:
    """The model of a checkpoint, on a device, for an environment it was trained on or one that observes the same.

    `rollout` says how it imagines, where its kind has a choice.
    """
    where = usable_device(device)
    weights, trainer, described = checked_checkpoint(folder, environment)
    try:
        network = trainer.blank(environment)
        network.load_state_dict(weights)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"the card of {folder} describes no {described['kind']}: {describe_error(error)}") from error
    except RuntimeError as error:
        raise BadInput(f"the weights in {folder} do not fit the card beside them: {_first_line(error)}") from error
    return choose_rollout(trainer.model(environment, network.to(where)), trainer, described["kind"], rollout)


def checked_checkpoint(folder: Path, environment: Environment) -> tuple[dict[str, torch.Tensor], Any, dict[str, Any]]:
    """The weights of a checkpoint, the trainer whose network they fit, and the card's words on the model.

    One that is damaged, or cannot be used in the environment, is refused; no network is built.
    """
    weights, card = read_checkpoint(folder)
    described = card["model"]
    kind = trainer_class(described, folder)
    try:
        trainer = kind.of_card(described)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"the card of {folder} describes no {described['kind']}: {describe_error(error)}") from error
    trainer.check(environment, described)
    for key, values in weights.items():
        if not values.isfinite().all():
            raise BadInput(f"the weights in {folder} are broken: {key} has numbers that are NaN or infinite")
    return weights, trainer, described


def untrained(
    environment: Environment,
    trainer: Trainer,
    device: str = "cpu",
    rollout: str | None = None,
    trained_in: Environment | None = None,
) -> Any:
    """A model as large as the one a trainer makes, on a device, that imagines in the same way.

    `trained_in` is where it will be trained, if elsewhere; an environment it could not be used in is refused.
    """
    home = environment if trained_in is None else trained_in
    how = trainer.resolve(home)
    if home is not environment:
        how.check(environment, trained_for(home))
    network = how.blank(environment).to(usable_device(device))
    return choose_rollout(how.model(environment, network), how, TRAINERS.name_of(how) or "", rollout)


def trainer_class(described: dict[str, Any], folder: Path) -> Any:
    """The trainer that makes models of the kind a card describes."""
    name = described.get("kind")
    if not isinstance(name, str) or not TRAINERS.has(name):
        raise BadInput(f"{folder} holds a model of kind {name!r}; known: {', '.join(TRAINERS.parts)}")
    return TRAINERS.load(name)


def choose_rollout(model: Any, trainer: Any, kind: str, rollout: str | None) -> Any:
    """A model that imagines in one of the ways of its kind; None: as it is."""
    if rollout is None:
        return model
    if not trainer.rollouts:
        raise BadInput(f"a model of kind {kind} imagines in one way: leave out rollout {rollout!r}")
    if rollout not in trainer.rollouts:
        raise BadInput(f"a model of kind {kind} has no rollout {rollout!r}; known: {', '.join(trainer.rollouts)}")
    return replace(model, rollout_way=rollout)


def _first_line(error: RuntimeError) -> str:
    return " ".join(str(error).split("\n")[1:2] or [str(error)]).strip()
