"""A task of the DeepMind Control Suite, loaded once per process, as functions of state rows."""

# pyright: reportAttributeAccessIssue=false

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
from absl import logging

from wmel.control_suite import NEEDS_GRAPHICS
from wmel.environments.dmc.formula import Formula, Rows
from wmel.environments.dmc.formulas import formula_for
from wmel.environments.model_constants import UnchangedConstants, copied_fields, differing
from wmel.environments.mujoco_batch import MujocoBatch
from wmel.environments.mujoco_rows import RowLayout
from wmel.errors import MissingExtra

with warnings.catch_warnings():  # dm_control looks for a display, and there need be none
    warnings.simplefilter("ignore")
    from dm_control import _render, suite

PROBES = range(1, 5)  # seeds whose resets show what of the model differs between episodes
BUILT_ANEW = ("lqr",)  # domains that draw their model when they are loaded, and not at reset
NO_BOUND = 1e9  # DeepMind Control writes 1e10 where an actuator has no limit


@dataclass(frozen=True, eq=False)
class SuiteTask:
    """dm_control's environment, used for its resets and, where wmel has no formula, for its own functions."""

    name: str
    environment: Any
    batch: MujocoBatch
    formula: Formula | None
    unchanged: UnchangedConstants  # but for its constants, the model a reset leaves

    def reset(self, seed: int) -> np.ndarray:
        """A start row [S], equal to that of an environment loaded with this task seed."""
        constants, random = self.batch.layout.constants, _random(seed)
        if self.name.split("-")[0] in BUILT_ANEW:
            drawn = _loaded(self.name, random)  # which goes on drawing from where loading left off
            constants.write(self.batch.model, constants.read(drawn.physics.model.ptr))
        _reset(self.environment, random)
        self.unchanged.check()
        return self.batch.current()

    def observe(self, states: np.ndarray) -> np.ndarray:
        """[B,O]: the observation, its keys sorted, laid flat"""
        if self.formula is not None:
            return self._where_it_holds(states, self.formula.observe(self.rows(states)))
        return self._by_row(states, len(self.names), lambda task: _flat(task.get_observation(self._physics)))

    def reward(self, states: np.ndarray) -> np.ndarray:
        """[B]: of the step that led to each row"""
        if self.formula is not None:
            return self._where_it_holds(states, self.formula.reward(self.rows(states)))
        return self._by_row(states, 1, lambda task: task.get_reward(self._physics))[:, 0]

    def rows(self, states: np.ndarray) -> Rows:
        return Rows(states, self.batch.layout)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the observation's components."""
        if self.formula is not None:
            return self.formula.names
        spec = self.environment.observation_spec()
        sizes = {key: int(np.prod(spec[key].shape)) for key in sorted(spec)}
        return tuple(f"{key}[{k}]" if size > 1 else key for key, size in sizes.items() for k in range(size))

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Of an action; -1 and 1 where the task sets none."""
        spec = self.environment.action_spec()
        low, high = np.broadcast_to(spec.minimum, spec.shape), np.broadcast_to(spec.maximum, spec.shape)
        return np.where(low < -NO_BOUND, -1, low), np.where(high > NO_BOUND, 1, high)

    @property
    def milliseconds(self) -> float:
        """That one step stands for."""
        return 1e3 * self.environment.control_timestep()

    @property
    def _physics(self) -> Any:
        return self.environment.physics

    def _where_it_holds(self, states: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """The numbers [B,...], and NaN for rows of a simulation that diverged, which a formula may not notice."""
        fine = self.batch.layout.is_finite(states)
        if not fine.all():
            numbers[~fine] = np.nan
        return numbers

    def _by_row(self, states: np.ndarray, width: int, read: Callable[[Any], Any]) -> np.ndarray:
        """What dm_control's task says [B,width], its simulation brought to each row; NaN where the row diverged."""
        numbers = np.full((len(states), width), np.nan)
        for place in np.flatnonzero(self.batch.layout.is_finite(states)):
            self.batch.place(states[place])
            numbers[place] = read(self.environment.task)
        return numbers


@cache
def suite_task(name: str) -> SuiteTask:
    """The task `domain-task`; its model is built here and nowhere else."""
    _check_graphics(name)
    logging.set_verbosity(logging.ERROR)  # what MuJoCo deprecates in dm_control's models is not the user's concern
    environment = _loaded(name, _random(0))
    model, data = environment.physics.model.ptr, environment.physics.data.ptr
    seen = []
    for seed in PROBES:
        drawn, random = environment, _random(seed)
        if name.split("-")[0] in BUILT_ANEW:
            drawn = _loaded(name, random)
        _reset(drawn, random)
        seen.append(copied_fields(drawn.physics.model.ptr))
    formula = formula_for(name, model)
    layout = RowLayout(model, differing(seen), formula.sensors if formula is not None else ())
    substeps = round(environment.control_timestep() / model.opt.timestep)
    unchanged = UnchangedConstants.but_for(layout.constants, model)
    return SuiteTask(name, environment, MujocoBatch(data, layout, substeps), formula, unchanged)


def _loaded(name: str, random: np.random.RandomState) -> Any:
    domain, task = name.split("-")
    return suite.load(domain, task, task_kwargs={"random": random})


def _reset(environment: Any, random: np.random.RandomState) -> None:
    environment.task._random = random
    environment.reset()


def _random(seed: int) -> np.random.RandomState:
    """dm_control's generator for a task seed; a seed beyond 32 bits is given in words."""
    return np.random.RandomState(seed if seed < 2**32 else [seed % 2**32, seed >> 32])


def _check_graphics(name: str) -> None:
    """Refuse a task that draws where nothing can be drawn with, before it tries and leaves half a context behind."""
    if name not in NEEDS_GRAPHICS:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            drawing = _render.BACKEND != "glfw" or import_module("glfw").init()
            _render.Renderer(max_width=64, max_height=64).free()
    except (AttributeError, ImportError, OSError, RuntimeError, TypeError):
        drawing = False
    if not drawing:
        raise MissingExtra(
            f"dmc:{name} draws its terrain and needs OpenGL, which is not there with MUJOCO_GL="
            f"{os.environ.get('MUJOCO_GL', '')}: install EGL or OSMesa, and set MUJOCO_GL=egl or MUJOCO_GL=osmesa"
        )


def _flat(observation: dict[str, Any]) -> np.ndarray:
    return np.concatenate([np.ravel(observation[key]) for key in sorted(observation)])
