"""From a checkpoint folder, or from a trainer, to a model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from wmel.catalog import TRAINERS
from wmel.contract.environment import Environment
from wmel.contract.trainer import Trainer
from wmel.errors import BadInput
from wmel.errors import described as describe_error
from wmel.training.checkpoints import read_checkpoint
from wmel.training.devices import usable_device


def restore(folder: Path, environment: Environment, device: str = "cpu", rollout: str | None = None) -> Any:
    """The model of a checkpoint, on a device, for an environment it was trained on or one that observes the same.

    `rollout` says how it imagines, where its kind has a choice.
    """
    where = usable_device(device)
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
    try:
        network = trainer.blank(environment)
        network.load_state_dict(weights)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"the card of {folder} describes no {described['kind']}: {describe_error(error)}") from error
    except RuntimeError as error:
        raise BadInput(f"the weights in {folder} do not fit the card beside them: {_first_line(error)}") from error
    return choose_rollout(trainer.model(environment, network.to(where)), kind, described["kind"], rollout)


def untrained(environment: Environment, trainer: Trainer, device: str = "cpu", rollout: str | None = None) -> Any:
    """A model as large as the one a trainer makes, on a device, that imagines in the same way."""
    how = trainer.resolve(environment)
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
