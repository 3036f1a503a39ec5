"""Tasks of the DeepMind Control Suite, loaded once per process, as functions of state rows."""

# pyright: reportAttributeAccessIssue=false

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import mujoco
import numpy as np
from absl import logging

from wmel.control_suite import NEEDS_GRAPHICS
from wmel.environments.dmc.formula import Formula, Rows
from wmel.environments.dmc.locomotion import Cheetah, Hopper, Walker
from wmel.environments.dmc.poles import Acrobot, Cartpole, Pendulum
from wmel.environments.dmc.targets import BallInCup, FingerSpin, FingerTurn, PointMass, Reacher
from wmel.environments.mujoco_batch import MujocoBatch
from wmel.environments.mujoco_rows import FixedFields, RowLayout, copy_fields, find_constants
from wmel.errors import MissingExtra

with warnings.catch_warnings():  # dm_control looks for a display, which is not required
    warnings.simplefilter("ignore")
    from dm_control import _render, suite

PROBE_SEEDS = range(1, 5)  # resets with these seeds show which model constants differ between episodes
SAMPLED_AT_LOADING = ("lqr",)  # domains that sample their model at loading, and not at reset
NO_BOUND = 1e9  # dm_control uses 1e10 for an actuator without limit


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


@dataclass(frozen=True, eq=False)
class SuiteTask:
    """dm_control's environment, used for its resets and, where there is no formula, for observations and rewards."""

    name: str
    environment: Any
    batch: MujocoBatch
    formula: Formula | None
    fixed: FixedFields  # of the model, except for its constants

    def reset(self, seed: int) -> np.ndarray:
        """A start row [S], equal to that of a dm_control environment with this task seed."""
        constants, random = self.batch.layout.constants, _random_state(seed)
        if self.name.split("-")[0] in SAMPLED_AT_LOADING:
            sampled = _load_task(self.name, random)  # the reset below continues this random state
            constants.write(self.batch.model, constants.read(sampled.physics.model.ptr))
        _reset(self.environment, random)
        self.fixed.check()
        return self.batch.read()

    def observe(self, states: np.ndarray) -> np.ndarray:
        """The observations [B,O]: the arrays of all keys, sorted by key and flattened."""
        if self.formula is not None:
            return self._mask_diverged(states, self.formula.observe(self.rows(states)))
        return self._read_rows(states, len(self.names), lambda task: _flatten(task.get_observation(self._physics)))

    def reward(self, states: np.ndarray) -> np.ndarray:
        """The rewards [B] of the steps that led to the rows."""
        if self.formula is not None:
            return self._mask_diverged(states, self.formula.reward(self.rows(states)))
        return self._read_rows(states, 1, lambda task: task.get_reward(self._physics))[:, 0]

    def rows(self, states: np.ndarray) -> Rows:
        return Rows(states, self.batch.layout)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the components of the observation."""
        if self.formula is not None:
            return self.formula.names
        spec = self.environment.observation_spec()
        sizes = {key: int(np.prod(spec[key].shape)) for key in sorted(spec)}
        return tuple(f"{key}[{k}]" if size > 1 else key for key, size in sizes.items() for k in range(size))

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of an action, -1 and 1 where the task sets none."""
        spec = self.environment.action_spec()
        low, high = np.broadcast_to(spec.minimum, spec.shape), np.broadcast_to(spec.maximum, spec.shape)
        return np.where(low < -NO_BOUND, -1, low), np.where(high > NO_BOUND, 1, high)

    @property
    def milliseconds(self) -> float:
        """The simulated time of one step."""
        return 1e3 * self.environment.control_timestep()

    @property
    def _physics(self) -> Any:
        return self.environment.physics

    def _mask_diverged(self, states: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """The numbers [B,...], with NaN for diverged rows, because a formula may not be NaN there."""
        is_finite = self.batch.layout.is_finite(states)
        if not is_finite.all():
            numbers[~is_finite] = np.nan
        return numbers

    def _read_rows(self, states: np.ndarray, width: int, read: Callable[[Any], Any]) -> np.ndarray:
        """The numbers [B,width] that dm_control computes row by row, with NaN for diverged rows."""
        numbers = np.full((len(states), width), np.nan)
        for row in np.flatnonzero(self.batch.layout.is_finite(states)):
            self.batch.restore(states[row])
            numbers[row] = read(self.environment.task)
        return numbers


@cache
def suite_task(name: str) -> SuiteTask:
    """Loads the task `domain-task`."""
    _check_graphics(name)
    logging.set_verbosity(logging.ERROR)  # hides deprecation warnings about dm_control's own models
    environment = _load_task(name, _random_state(0))
    model, data = environment.physics.model.ptr, environment.physics.data.ptr
    samples = []
    for seed in PROBE_SEEDS:
        sampled, random = environment, _random_state(seed)
        if name.split("-")[0] in SAMPLED_AT_LOADING:
            sampled = _load_task(name, random)
        _reset(sampled, random)
        samples.append(copy_fields(sampled.physics.model.ptr))
    formula = FORMULAS[name](model) if name in FORMULAS else None
    layout = RowLayout(model, find_constants(samples), formula.sensors if formula is not None else ())
    substeps = round(environment.control_timestep() / model.opt.timestep)
    fixed = FixedFields.of_model(layout.constants, model)
    return SuiteTask(name, environment, MujocoBatch(data, layout, substeps), formula, fixed)


def _load_task(name: str, random: np.random.RandomState) -> Any:
    domain, task = name.split("-")
    return suite.load(domain, task, task_kwargs={"random": random})


def _reset(environment: Any, random: np.random.RandomState) -> None:
    environment.task._random = random
    environment.reset()


def _random_state(seed: int) -> np.random.RandomState:
    """The generator of a task seed, as in dm_control. A seed of more than 32 bits is split in two."""
    return np.random.RandomState(seed if seed < 2**32 else [seed % 2**32, seed >> 32])


def _check_graphics(name: str) -> None:
    """Raises MissingExtra for a task that renders without OpenGL, before it creates an incomplete context."""
    if name not in NEEDS_GRAPHICS:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            can_render = _render.BACKEND != "glfw" or import_module("glfw").init()
            _render.Renderer(max_width=64, max_height=64).free()
    except (AttributeError, ImportError, OSError, RuntimeError, TypeError):
        can_render = False
    if not can_render:
        raise MissingExtra(
            f"dmc:{name} renders its terrain and requires OpenGL, which is not available with MUJOCO_GL="
            f"{os.environ.get('MUJOCO_GL', '')}: install EGL or OSMesa, and set MUJOCO_GL=egl or MUJOCO_GL=osmesa"
        )


def _flatten(observation: dict[str, Any]) -> np.ndarray:
    return np.concatenate([np.ravel(observation[key]) for key in sorted(observation)])
