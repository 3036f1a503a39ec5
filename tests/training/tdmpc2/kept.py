"""Trainings of a second in the point's world, whole and stopped, and what of them can be compared."""

from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file

from tests.training.tdmpc2.point import Point
from wmel.training.checkpoints import WEIGHTS
from wmel.training.tdmpc2.resume import Keeper
from wmel.training.tdmpc2.train import train_tdmpc2
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

LENGTH, ENVS = 6, 4
WORLD, CPU = Point(LENGTH), torch.device("cpu")
SETTINGS = TDMPC2Trainer(
    updates=15, envs=ENVS, updates_per_step=1, seed_steps=ENVS * LENGTH, batch=4, decoder_steps=3, learning_rate=1e-3
)  # one round to seed, two whole ones, and half of one


class Stopped(BaseException):
    """As Ctrl-C is."""


def finished(folder: Path, settings=SETTINGS, checkpoints: int = 0, world=WORLD):
    """A training that keeps everything, or goes on, to its end."""
    keeper = Keeper(folder, checkpoints, seconds=0.0)
    made = train_tdmpc2(world, settings, CPU, keeper=keeper)
    keeper.finish(made)
    return made


def stopped(folder: Path, after: int, settings=SETTINGS, checkpoints: int = 0, saved: int | None = None) -> Keeper:
    """One that is left after so many rounds; where it stands is saved in the first `saved` of them, or all."""
    keeper, told = Keeper(folder, checkpoints, seconds=0.0), []

    def tell(moment):
        told.append(moment)
        if len(told) == saved:
            keeper.seconds = 1e9
        if len(told) == after:
            raise Stopped

    try:
        train_tdmpc2(WORLD, settings, CPU, tell, keeper)
    except Stopped:
        return keeper
    raise AssertionError("it was over before it was stopped")


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / WEIGHTS)


def same_weights(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def without_time(card: dict) -> dict:
    """A card but for how long things took."""
    return {**card, "curve": [{**moment, "seconds": 0.0} for moment in card["curve"]]}


def other_than(settings: TDMPC2Trainer) -> dict[str, TDMPC2Trainer]:
    """By name, settings of which one differs."""
    changes = {"activation": "relu", "latent_norm": "none", "size": 5, "half": True}
    names = [name for name in settings.learning if name not in changes]
    halved = {name: getattr(settings, name) / 2 for name in names if isinstance(getattr(settings, name), float)}
    more = {name: getattr(settings, name) + 1 for name in names if name not in halved}
    return {name: replace(settings, **{name: value}) for name, value in (changes | halved | more).items()}
