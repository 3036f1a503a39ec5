"""The environments dmc:<domain>-<task>, and three tasks with finite actions, 500 steps and a success threshold.

Acrobot and cartpole with finite actions are from the CPG paper, reacher is from the wmel 0.18 repository.
"""

from itertools import product
from typing import Annotated

import numpy as np

from wmel.contract.criterion import Criterion
from wmel.contract.environment import Finite, MaxSteps
from wmel.control_suite import RECOVERABLE, REWARD_OF_OBSERVATION, VECTORISED, objectives_of
from wmel.environments.action_repeat import ActionRepeatEnvironment, repeat_actions
from wmel.environments.dmc.environment import (
    DmcEnvironment,
    Init,
    RecoverableEnvironment,
    RewardFormulaEnvironment,
)
from wmel.parts import Meaning

ActionRepeat = Annotated[int, Meaning("control steps per step; their rewards are summed", at_least=1)]
LEVELS = (-1.0, -0.5, 0.0, 0.5, 1.0)
CORNERS = tuple(product((-1.0, 0.0, 1.0), repeat=2))


def dmc_task(
    task: str, init: Init = "task", max_steps: MaxSteps = 1000, action_repeat: ActionRepeat = 1
) -> DmcEnvironment | ActionRepeatEnvironment:
    """A task of dm_control with its own actions and episodes of 1,000 steps. It has no default success criterion."""
    make = DmcEnvironment
    if task in REWARD_OF_OBSERVATION:
        recoverable = task.split("-")[0] in RECOVERABLE and task in VECTORISED
        make = RecoverableEnvironment if recoverable else RewardFormulaEnvironment
    return repeat_actions(make(f"dmc:{task}", task, init, max_steps, objectives=objectives_of(task)), action_repeat)


def dmc_acrobot(init: Init = "task", max_steps: MaxSteps = 500) -> DmcEnvironment:
    """Five elbow torques. Success: a reward of at least 0.6 at one step (the tip is within 0.671 of the target)."""
    return _finite_task("dmc_acrobot", "acrobot-swingup", init, max_steps, [(level,) for level in LEVELS], 0.6)


def dmc_cartpole(init: Init = "task", max_steps: MaxSteps = 500) -> DmcEnvironment:
    """Five forces on the cart. Success: a reward of at least 0.6 at one step."""
    return _finite_task("dmc_cartpole", "cartpole-swingup", init, max_steps, [(level,) for level in LEVELS], 0.6)


def dmc_reacher(init: Init = "task", max_steps: MaxSteps = 500) -> DmcEnvironment:
    """Nine pairs of torques. Success: the finger touches the target at one step."""
    return _finite_task("dmc_reacher", "reacher-easy", init, max_steps, CORNERS, 0.5)


def _finite_task(name: str, task: str, init: Init, max_steps: int, actions: object, reward: float) -> DmcEnvironment:
    values = np.array(actions)
    names = tuple(",".join(f"{number:g}" for number in value) for value in values)
    reward_objective, paper_objective, *others = objectives_of(task)
    return RecoverableEnvironment(
        name,
        task,
        init,
        max_steps,
        Finite(names, values),
        Criterion("reward", at_least=reward),
        (paper_objective, reward_objective, *others),
    )
