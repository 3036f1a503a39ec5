"""Reading and converting checkpoints of the published TD-MPC2 code, in both of its layouts."""

import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import torch
from torch import Tensor

from wmel.contract.environment import Environment
from wmel.contract.trainer import TrainedModel
from wmel.errors import BadInput
from wmel.machine import limit_threads
from wmel.models.tdmpc2.network import BINS, SIZES, TDMPC2, NetworkShape, Tasks
from wmel.training.tdmpc2.online import require_action_box
from wmel.training.tdmpc2.replay import explain_out_of_memory
from wmel.training.tdmpc2.train import finish_model
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

PARTS = ("weight", "bias", "ln.weight", "ln.bias")  # of a layer, in the order of their numbers in the older layout
PREFIXES = {  # published prefix -> prefix here
    "_encoder.state.": "encoder.", "_dynamics.": "dynamics.", "_reward.": "reward.", "_pi.": "policy.",
    "_Qs.params.": "critics.layers.", "_task_emb.": "embedding.", "_action_masks": "masks",
}  # fmt: skip
IGNORED = re.compile(r"(_detach_Qs_params|_target_Qs|_target_Qs_params)\b|log_std_(min|dif)$|__\w+$")
READ_ERRORS = (  # errors of torch for a file that is not a checkpoint, or contains code
    pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError,
    BadZipFile,
)  # fmt: skip
DECODER_SETTINGS = ("size", "decoder_steps", "half", "seed")
UNUSED_SETTINGS = tuple(name for name in TDMPC2Trainer().learning_settings if name not in DECODER_SETTINGS)


def read_official(path: Path) -> TDMPC2:
    """Reads the network from a file of the published code. Never runs code of the file."""
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from error
    except READ_ERRORS as error:
        raise BadInput(f"{path} is damaged or contains code: only files of tensors are read") from error
    return official_network(stored, str(path))


def official_network(stored: Any, name: str = "the checkpoint") -> TDMPC2:
    """The network of a loaded state dict. Its sizes are inferred from the shapes of the tensors."""
    stored = stored["model"] if isinstance(stored, Mapping) and "model" in stored else stored
    if not isinstance(stored, Mapping):
        raise BadInput(f"{name} contains a {type(stored).__name__}, not a dictionary of weights")
    weights = {
        _rename(str(key)): _check_storage(value, str(key), name).float()
        for key, value in stored.items()
        if isinstance(value, Tensor) and not IGNORED.search(str(key))
    }
    network = _build_network(weights, name)
    if network.embedding is not None:
        weights.setdefault("masks", network.masks)  # older files have no masks: every task uses the whole action
    _load_weights(network, weights, name)
    return network.requires_grad_(False).eval()


def _check_storage(tensor: Tensor, key: str, name: str) -> Tensor:
    """Raises BadInput for an expanded tensor, which could need far more memory than the file."""
    if tensor.untyped_storage().nbytes() < tensor.numel() * tensor.element_size():
        raise BadInput(f"{name} is not a TD-MPC2: {key} has shape {tuple(tensor.shape)}, but stores fewer numbers")
    return tensor


def _rename(key: str) -> str:
    """The name of a tensor here. The older layout numbers the tensors of the critics, the newer one names layers."""
    numbered = re.fullmatch(r"_Qs\.params\.(\d+)", key)
    if numbered:
        layer, part = divmod(int(numbered.group(1)), len(PARTS))
        return f"critics.layers.{layer}.{PARTS[part]}"
    for published, prefix in PREFIXES.items():
        if key.startswith(published):
            return prefix + key.removeprefix(published)
    return key


def _build_network(weights: Mapping[str, Tensor], name: str) -> TDMPC2:
    """An untrained network of the size of the weights."""
    try:
        layers = len({key.split(".")[1] for key in weights if key.startswith("encoder.")})
        tasks = weights.get("embedding.weight")
        embedding = None if tasks is None else Tasks(*_matrix_shape(tasks))
        task_width = 0 if embedding is None else embedding.width
        latent, hidden = weights["dynamics.2.weight"].shape
        width, inputs = weights["encoder.0.weight"].shape
        shape = NetworkShape(width, hidden, latent, layers, weights["critics.layers.0.weight"].shape[0])
        observation = inputs - task_width
        action = weights["dynamics.0.weight"].shape[1] - latent - task_width
        bins = weights["reward.2.weight"].shape[0]
    except KeyError as error:
        raise BadInput(f"{name} is not a TD-MPC2 of states: it has no {error.args[0]} (as renamed here)") from error
    except (ValueError, IndexError) as error:
        raise BadInput(
            f"{name} is not a TD-MPC2: a tensor has the wrong number of axes ({_one_line(error)})"
        ) from error
    if bins != BINS or action < 1 or observation < 1:
        raise BadInput(
            f"{name} is not a supported TD-MPC2: {bins} bins, actions of width {action}, observations of width "
            f"{observation}"
        )
    return TDMPC2(observation, action, shape, tasks=embedding)


def _matrix_shape(numbers: Tensor) -> tuple[int, int]:
    rows, columns = numbers.shape
    return rows, columns


def _load_weights(network: TDMPC2, weights: Mapping[str, Tensor], name: str) -> None:
    expected = network.state_dict()
    for key in sorted(set(expected) | set(weights)):
        if key not in weights or key not in expected:
            raise BadInput(f"{name} does not match a TD-MPC2: {key} is {'missing' if key in expected else 'unknown'}")
        if expected[key].shape != weights[key].shape:
            shapes = f"{tuple(weights[key].shape)} instead of {tuple(expected[key].shape)}"
            raise BadInput(f"{name} does not match a TD-MPC2: {key} has shape {shapes}")
        if not weights[key].isfinite().all():
            raise BadInput(f"{name} is damaged: {key} contains NaN or infinity")
    network.load_state_dict(dict(weights))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def convert_checkpoint(
    path: Path, environment: Environment, device: torch.device, **decoder_settings: Any
) -> TrainedModel:
    """Converts a file in either published layout, for an environment with the same widths.

    `decoder_settings` are settings of the trainer: `decoder_steps` and `half`.
    """
    network = read_official(path)
    settings = TDMPC2Trainer(_find_size(network, path, environment), **decoder_settings)
    weights = {name: value.to(device) for name, value in network.state_dict().items()}
    with limit_threads(settings.threads), explain_out_of_memory(settings, online=False):
        return finish_model(
            environment,
            settings,
            device,
            weights,
            data={"transitions": None, "episodes": None},
            kept={"weights": f"of the published file {path.name}", "return": None},
            updates=0,
            curve=[],
            without=UNUSED_SETTINGS,
        )


def _find_size(network: TDMPC2, path: Path, environment: Environment) -> int:
    """The published size of a network. Raises BadInput if its widths differ from those of the environment."""
    spec, space = environment.spec, require_action_box(environment)
    if network.embedding is not None:
        raise BadInput(f"{path} is of several tasks, which cannot be converted: read it with read_official")
    here, there = (len(spec.observation), space.width), (network.observation, network.action)
    if here != there:
        raise BadInput(
            f"{path} has {there[0]} observations and actions of width {there[1]}; {spec.name} has {here[0]} and "
            f"{here[1]}"
        )
    for size, shape in SIZES.items():
        if shape == network.shape:
            return size
    raise BadInput(f"{path} does not have a published size: {network.shape}")
