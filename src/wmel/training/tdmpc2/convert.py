"""A published checkpoint as one of ours: a decoder is fitted to episodes of its policy, nothing else is learned."""

from pathlib import Path

import torch

from wmel.contract.environment import Environment
from wmel.contract.trainer import Trained
from wmel.errors import BadInput
from wmel.models.tdmpc2.network import SIZES, TDMPC2
from wmel.threads import limited_to
from wmel.training.tdmpc2.memory import enough_memory
from wmel.training.tdmpc2.official import read_official
from wmel.training.tdmpc2.online import rewarded_actions
from wmel.training.tdmpc2.train import measured
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

LEARNING = tuple(
    name for name in TDMPC2Trainer().learning if name not in ("size", "decoder_steps", "half", "seed")
)  # settings that have no use here


def converted(
    path: Path, environment: Environment, device: torch.device, *, half: bool = False, decoder_steps: int = 5_000
) -> Trained:
    """The network of a file in either published layout, for an environment as wide as the one it learned in."""
    network = read_official(path)
    settings = TDMPC2Trainer(_size(network, path, environment), decoder_steps=decoder_steps, half=half)
    weights = {name: value.to(device) for name, value in network.state_dict().items()}
    with limited_to(settings.threads), enough_memory(settings, playing=False):
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
