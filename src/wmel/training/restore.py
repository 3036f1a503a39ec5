"""From a checkpoint folder to the model it holds."""

from pathlib import Path
from typing import Any

from wmel.contract.environment import Environment
from wmel.errors import BadInput
from wmel.errors import described as described_error
from wmel.training.checkpoints import read_checkpoint
from wmel.training.devices import usable_device
from wmel.training.kinds import KINDS, imagining


def restored(folder: Path, environment: Environment, device: str = "cpu", rollout: str | None = None) -> Any:
    """The model of a checkpoint, on a device, for an environment it was trained on or one that observes the same.

    `rollout` says how it imagines, where its kind has a choice.
    """
    where = usable_device(device)
    weights, card = read_checkpoint(folder)
    described = card["model"]
    name = described.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise BadInput(f"{folder} holds a model of kind {name!r}; known: {', '.join(KINDS)}")
    kind = KINDS[name]
    kind.check(environment, described)
    for key, values in weights.items():
        if not values.isfinite().all():
            raise BadInput(f"the weights in {folder} are broken: {key} has numbers that are NaN or infinite")
    try:
        network = kind.blank(environment, kind.settings.of_card(described))
        network.load_state_dict(weights)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"the card of the checkpoint describes no {name}: {described_error(error)}") from error
    except RuntimeError as error:
        raise BadInput(f"the weights do not fit the card of their checkpoint: {_first_line(error)}") from error
    return imagining(kind.model(environment, network.to(where)), name, rollout)


def _first_line(error: RuntimeError) -> str:
    return " ".join(str(error).split("\n")[1:2] or [str(error)]).strip()
