"""From a checkpoint folder to the model it holds."""

from pathlib import Path
from typing import Any

from wmel.contract.environment import Environment
from wmel.errors import BadInput
from wmel.training.checkpoints import read_checkpoint
from wmel.training.devices import usable_device
from wmel.training.mlp import restored_mlp

KINDS = {"mlp": restored_mlp}


def restored(folder: Path, environment: Environment, device: str = "cpu") -> Any:
    """The model of a checkpoint, on a device, for an environment it was trained on or one that observes the same."""
    where = usable_device(device)
    weights, card = read_checkpoint(folder)
    kind = card["model"].get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadInput(f"{folder} holds a model of kind {kind!r}; known: {', '.join(KINDS)}")
    return KINDS[kind](environment, weights, card, where)
