"""Which tasks have a formula."""

# pyright: reportAttributeAccessIssue=false

from collections.abc import Callable
from typing import Any

import mujoco

from wmel.environments.dmc.acrobot import Acrobot
from wmel.environments.dmc.ball_in_cup import BallInCup
from wmel.environments.dmc.cartpole import Cartpole
from wmel.environments.dmc.cheetah import Cheetah
from wmel.environments.dmc.finger import FingerSpin, FingerTurn
from wmel.environments.dmc.formula import Formula
from wmel.environments.dmc.hopper import Hopper
from wmel.environments.dmc.pendulum import Pendulum
from wmel.environments.dmc.point_mass import PointMass
from wmel.environments.dmc.reacher import Reacher
from wmel.environments.dmc.walker import Walker


def _reacher(model: mujoco.MjModel) -> Reacher:
    target = model.geom("target").id
    return Reacher(float(model.geom_size[target, 0]), target)


def _finger_turn(model: mujoco.MjModel) -> FingerTurn:
    target = model.site("target").id
    return FingerTurn(float(model.site_size[target, 0]), target)


def _hopper(model: mujoco.MjModel, hopping: bool) -> Hopper:
    chain = [model.body(name).id for name in ("pelvis", "thigh", "calf", "foot")]
    centres = [model.body("torso").id, model.body("foot").id]
    return Hopper(hopping, model.body_pos[chain][:, [0, 2]].copy(), model.body_ipos[centres][:, [0, 2]].copy())


FORMULAS: dict[str, Callable[[mujoco.MjModel], Any]] = {
    "acrobot-swingup": lambda model: Acrobot(),
    "acrobot-swingup_sparse": lambda model: Acrobot(sparse=True),
    "ball_in_cup-catch": lambda model: BallInCup(),
    "cartpole-balance": lambda model: Cartpole(),
    "cartpole-balance_sparse": lambda model: Cartpole(sparse=True),
    "cartpole-swingup": lambda model: Cartpole(),
    "cartpole-swingup_sparse": lambda model: Cartpole(sparse=True),
    "cheetah-run": lambda model: Cheetah(),
    "finger-spin": lambda model: FingerSpin(),
    "finger-turn_easy": _finger_turn,
    "finger-turn_hard": _finger_turn,
    "hopper-hop": lambda model: _hopper(model, hopping=True),
    "hopper-stand": lambda model: _hopper(model, hopping=False),
    "pendulum-swingup": lambda model: Pendulum(),
    "point_mass-easy": lambda model: PointMass(),
    "point_mass-hard": lambda model: PointMass(),
    "reacher-easy": _reacher,
    "reacher-hard": _reacher,
    "walker-run": lambda model: Walker(speed=8),
    "walker-stand": lambda model: Walker(speed=0),
    "walker-walk": lambda model: Walker(speed=1),
}


def formula_for(task: str, model: mujoco.MjModel) -> Formula | None:
    """The formula of a task, given its model as it is after a reset."""
    return FORMULAS[task](model) if task in FORMULAS else None
