"""Trainings of a second in the environment `Point`, finished and interrupted, and comparisons of their results."""

from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file

from tests.training.tdmpc2.point import Point
from wmel.training.checkpoints import WEIGHTS
from wmel.training.tdmpc2.resume import TrainingHooks, TrainingState
from wmel.training.tdmpc2.train import train_tdmpc2
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

LENGTH, ENVS = 6, 4
WORLD, CPU = Point(LENGTH), torch.device("cpu")
SETTINGS = TDMPC2Trainer(
    updates=15, envs=ENVS, updates_per_step=1, seed_steps=ENVS * LENGTH, batch=4, decoder_steps=3, learning_rate=1e-3
)  # one round to seed, two whole ones, and half of one


class Stopped(BaseException):
    """Interrupts a training, like Ctrl-C."""


def finish_training(folder: Path, settings=SETTINGS, checkpoints: int = 0, world=WORLD):
    """Runs or resumes a training in a folder to its end, and stores everything."""
    state = TrainingState(folder, checkpoints, seconds=0.0)
    trained = train_tdmpc2(world, settings, CPU, TrainingHooks(state=state))
    state.finish(trained)
    return trained


def interrupt_training(
    folder: Path, after: int, settings=SETTINGS, checkpoints: int = 0, saved: int | None = None
) -> TrainingState:
    """Interrupts a training after some rounds. Snapshots are written after the first `saved` rounds, or after all."""
    state, reported = TrainingState(folder, checkpoints, seconds=0.0), []

    def report(point):
        reported.append(point)
        if len(reported) == saved:
            state.seconds = 1e9
        if len(reported) == after:
            raise Stopped

    try:
        train_tdmpc2(WORLD, settings, CPU, TrainingHooks(report, state=state))
    except Stopped:
        return state
    raise AssertionError("the training ended before it was interrupted")


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / WEIGHTS)


def same_weights(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def without_time(card: dict) -> dict:
    """A card without the times of its curve, and without the hash that covers them."""
    return {**card, "card_sha256": None, "curve": [{**point, "seconds": 0.0} for point in card["curve"]]}


def other_than(settings: TDMPC2Trainer) -> dict[str, TDMPC2Trainer]:
    """Settings in which one value differs, by the name of the setting."""
    changes = {"activation": "relu", "latent_norm": "none", "size": 5, "half": True}
    names = [name for name in settings.learning_settings if name not in changes]
    halved = {name: getattr(settings, name) / 2 for name in names if isinstance(getattr(settings, name), float)}
    more = {name: getattr(settings, name) + 1 for name in names if name not in halved}
    return {name: replace(settings, **{name: value}) for name, value in (changes | halved | more).items()}
