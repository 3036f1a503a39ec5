"""A TD-MPC2 that has learned nothing, as a checkpoint."""

from pathlib import Path

from tests.models.tdmpc2.by_hand import random_network
from wmel.contract.environment import Environment
from wmel.models.tdmpc2.network import SIZES
from wmel.training.checkpoints import describe_environment, write_checkpoint
from wmel.training.tdmpc2.train import blank_tdmpc2
from wmel.training.tdmpc2.trainer import TDMPC2Trainer


def untrained_checkpoint(folder: Path, environment: Environment) -> Path:
    """A folder as `wmel train tdmpc2` makes it, its weights drawn at random."""
    settings = TDMPC2Trainer()
    network = blank_tdmpc2(environment, settings)
    observation, action = len(environment.spec.observation), environment.spec.actions.width
    network.agent.load_state_dict(random_network(observation, action, SIZES[settings.size]).state_dict())
    shape = {name: getattr(settings, name) for name in ("size", "activation", "latent_norm")}
    card = {"model": {"kind": "tdmpc2", **describe_environment(environment), **shape}}
    write_checkpoint(folder, network.state_dict(), card)
    return folder
