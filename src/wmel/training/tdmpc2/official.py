"""Checkpoints of the published TD-MPC2 code, read in both layouts and converted."""

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
from wmel.models.tdmpc2.layers import BINS
from wmel.models.tdmpc2.network import SIZES, TDMPC2, NetworkShape, Tasks
from wmel.training.tdmpc2.online import rewarded_actions
from wmel.training.tdmpc2.replay import enough_memory
from wmel.training.tdmpc2.train import measured
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

PARTS = ("weight", "bias", "ln.weight", "ln.bias")  # of a layer, in the order the older layout numbers them
RENAMED = {"_encoder.state.": "encoder.", "_dynamics.": "dynamics.", "_reward.": "reward.", "_pi.": "policy."}
IGNORED = re.compile(r"(_detach_Qs_params|_target_Qs|_target_Qs_params)\b|log_std_(min|dif)$|__\w+$")
UNREADABLE = (  # what torch raises at a file that is no checkpoint, or none it may read
    pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError,
    BadZipFile,
)  # fmt: skip


RENAMED |= {"_Qs.params.": "critics.layers.", "_task_emb.": "embedding.", "_action_masks": "masks"}


def read_official(path: Path) -> TDMPC2:
    """The network in a file of the published code; nothing in it is run."""
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from error
    except UNREADABLE as error:
        raise BadInput(f"{path} is broken, or would run code: only files of tensors are read") from error
    return official_network(stored, str(path))


def official_network(stored: Any, name: str = "the checkpoint") -> TDMPC2:
    """The network of a loaded state dict, its sizes inferred from the shapes of its tensors."""
    stored = stored["model"] if isinstance(stored, Mapping) and "model" in stored else stored
    if not isinstance(stored, Mapping):
        raise BadInput(f"{name} holds a {type(stored).__name__}, no dictionary of weights")
    weights = {
        _own_name(str(key)): _whole(value, str(key), name).float()
        for key, value in stored.items()
        if isinstance(value, Tensor) and not IGNORED.search(str(key))
    }
    network = _sized(weights, name)
    if network.embedding is not None:
        weights.setdefault("masks", network.masks)  # older files do not say: every task uses every number
    _fit(network, weights, name)
    return network.requires_grad_(False).eval()


def _whole(tensor: Tensor, key: str, name: str) -> Tensor:
    """Refuse a tensor that claims more numbers than the file holds: it would be made up in memory."""
    if tensor.untyped_storage().nbytes() < tensor.numel() * tensor.element_size():
        raise BadInput(f"{name} is no TD-MPC2: {key} says {tuple(tensor.shape)}, and holds fewer numbers")
    return tensor


def _own_name(key: str) -> str:
    """The older layout numbers the tensors of all critics; the newer one names them layer by layer."""
    numbered = re.fullmatch(r"_Qs\.params\.(\d+)", key)
    if numbered:
        layer, part = divmod(int(numbered.group(1)), len(PARTS))
        return f"critics.layers.{layer}.{PARTS[part]}"
    for theirs, ours in RENAMED.items():
        if key.startswith(theirs):
            return ours + key.removeprefix(theirs)
    return key


def _sized(weights: Mapping[str, Tensor], name: str) -> TDMPC2:
    """A network of the size the weights have."""
    try:
        layers = len({key.split(".")[1] for key in weights if key.startswith("encoder.")})
        tasks = weights.get("embedding.weight")
        several = None if tasks is None else Tasks(*_matrix(tasks))
        known = 0 if several is None else several.width
        latent, hidden = weights["dynamics.2.weight"].shape
        width, seen = weights["encoder.0.weight"].shape
        shape = NetworkShape(width, hidden, latent, layers, weights["critics.layers.0.weight"].shape[0])
        action = weights["dynamics.0.weight"].shape[1] - latent - known
        bins = weights["reward.2.weight"].shape[0]
    except KeyError as error:
        raise BadInput(f"{name} is no TD-MPC2 of states: it has no {error.args[0]} (by our names)") from error
    except (ValueError, IndexError) as error:
        raise BadInput(f"{name} is no TD-MPC2: a tensor has the wrong number of axes ({_line(error)})") from error
    if bins != BINS or action < 1 or seen <= known:
        raise BadInput(
            f"{name} is no TD-MPC2 of ours: {bins} bins, actions of {action} and observations of {seen - known}"
        )
    return TDMPC2(seen - known, action, shape, tasks=several)


def _matrix(numbers: Tensor) -> tuple[int, int]:
    rows, columns = numbers.shape
    return rows, columns


def _fit(network: TDMPC2, weights: Mapping[str, Tensor], name: str) -> None:
    wanted = network.state_dict()
    for key in sorted(set(wanted) | set(weights)):
        if key not in weights or key not in wanted:
            raise BadInput(f"{name} does not fit: {key} is {'missing' if key in wanted else 'more than a TD-MPC2 has'}")
        if wanted[key].shape != weights[key].shape:
            shapes = f"{tuple(weights[key].shape)} instead of {tuple(wanted[key].shape)}"
            raise BadInput(f"{name} does not fit: {key} has the shape {shapes}")
        if not weights[key].isfinite().all():
            raise BadInput(f"{name} is broken: {key} has numbers that are NaN or infinite")
    network.load_state_dict(dict(weights))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


LEARNING = tuple(
    name for name in TDMPC2Trainer().learning if name not in ("size", "decoder_steps", "half", "seed")
)  # settings that have no use here


def converted(path: Path, environment: Environment, device: torch.device, **finishing: Any) -> TrainedModel:
    """The network of a file in either published layout, for an environment as wide as the one it learned in.

    `finishing` are settings of the trainer: `decoder_steps` and `half`.
    """
    network = read_official(path)
    settings = TDMPC2Trainer(_size(network, path, environment), **finishing)
    weights = {name: value.to(device) for name, value in network.state_dict().items()}
    with limit_threads(settings.threads), enough_memory(settings, playing=False):
        return measured(
            environment,
            settings,
            device,
            weights,
            data={"transitions": None, "episodes": None},
            kept={"weights": f"of the published file {path.name}", "return": None},
            updates=0,
            curve=[],
            without=LEARNING,
        )


def _size(network: TDMPC2, path: Path, environment: Environment) -> int:
    """Its size by the table; one that does not fit the environment is refused."""
    spec, space = environment.spec, rewarded_actions(environment)
    if network.embedding is not None:
        raise BadInput(f"{path} is of several tasks, padded to the widest: read it with read_official and choose one")
    here, there = (len(spec.observation), space.width), (network.observation, network.action)
    if here != there:
        raise BadInput(
            f"{path} observes {there[0]} numbers and acts with {there[1]}; {spec.name} has {here[0]} and {here[1]}"
        )
    for size, shape in SIZES.items():
        if shape == network.shape:
            return size
    raise BadInput(f"{path} is of no published size: {network.shape}")
