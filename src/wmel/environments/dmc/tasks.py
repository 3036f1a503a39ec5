"""dmc:<domain>-<task>, and the documents' three tasks: few actions, 500 steps, a threshold of success."""

from itertools import product
from typing import Annotated

import numpy as np

from wmel.contract.criterion import Criterion
from wmel.contract.environment import Finite, MaxSteps
from wmel.control_suite import RECOVERABLE, REWARD_OF_OBSERVATION, VECTORISED, objectives_of
from wmel.environments.action_repeat import Repeated, repeated
from wmel.environments.dmc.environment import (
    DmcEnvironment,
    Init,
    RecoverableByObservation,
    RewardedByObservation,
)
from wmel.parts import Meaning

ActionRepeat = Annotated[int, Meaning("control steps that one step is, their rewards added up", at_least=1)]
LEVELS = (-1.0, -0.5, 0.0, 0.5, 1.0)
CORNERS = tuple(product((-1.0, 0.0, 1.0), repeat=2))


def dmc_task(
    task: str, init: Init = "task", max_steps: MaxSteps = 1000, action_repeat: ActionRepeat = 1
) -> DmcEnvironment | Repeated:
    """A task as it is in dm_control: its own actions, no criterion of success, episodes of 1,000 control steps.

    A decision is `action_repeat` control steps with one action, and its reward the sum of theirs.
    """
    make = DmcEnvironment
    if task in REWARD_OF_OBSERVATION:
        recoverable = task.split("-")[0] in RECOVERABLE and task in VECTORISED
        make = RecoverableByObservation if recoverable else RewardedByObservation
    return repeated(make(f"dmc:{task}", task, init, max_steps, objectives=objectives_of(task)), action_repeat)


def dmc_acrobot(init: Init = "task", max_steps: MaxSteps = 500) -> DmcEnvironment:
    """Five elbow torques; success is a reward of .6 at one step, the tip within .671 of the target."""
    return _documented("dmc_acrobot", "acrobot-swingup", init, max_steps, [(level,) for level in LEVELS], 0.6)


def dmc_cartpole(init: Init = "task", max_steps: MaxSteps = 500) -> DmcEnvironment:
    """Five forces on the cart; success is a reward of .6 at one step."""
    return _documented("dmc_cartpole", "cartpole-swingup", init, max_steps, [(level,) for level in LEVELS], 0.6)


def dmc_reacher(init: Init = "task", max_steps: MaxSteps = 500) -> DmcEnvironment:
    """Nine pairs of torques, the first joint's changing slowest; success is to touch the target at one step."""
    return _documented("dmc_reacher", "reacher-easy", init, max_steps, CORNERS, 0.5)


def _documented(name: str, task: str, init: Init, max_steps: int, actions: object, reward: float) -> DmcEnvironment:
    values = np.array(actions)
    names = tuple(",".join(f"{number:g}" for number in value) for value in values)
    scores = objectives_of(task)
    return RecoverableByObservation(
        name,
        task,
        init,
        max_steps,
        Finite(names, values),
        Criterion("reward", at_least=reward),
        (scores[1], scores[0], *scores[2:]),  # the documents' score first
    )
