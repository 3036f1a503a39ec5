"""MuJoCo as a batched function of state rows: single steps that equal the simulator's, and multi-threaded rollouts."""

# pyright: reportAttributeAccessIssue=false

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from wmel.environments.mujoco_rows import DIVERGENCE_LIMIT, FULL_STATE, RowLayout
from wmel.errors import BadInput, BadStep
from wmel.machine import thread_limit

DIVERGED = [int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{what}")) for what in ("QPOS", "QVEL", "QACC")]
CHUNKS_PER_THREAD = 4


@dataclass(frozen=True, eq=False)
class MujocoBatch:
    """A model and a simulation that are reused for every row. No state is kept between calls."""

    data: mujoco.MjData
    layout: RowLayout
    substeps: int

    @property
    def model(self) -> mujoco.MjModel:
        return self.layout.model

    def read(self) -> np.ndarray:
        """The state row [S] of the simulation after a reset."""
        row = np.empty(self.layout.width)
        self._read(row)
        row[self.layout.sensor_values] = self.data.sensordata[self.layout.sensors]
        row[self.layout.constant] = self.layout.constants.read(self.model)
        return row

    def restore(self, row: np.ndarray) -> None:
        """Sets the simulation to a state row [S]: positions, velocities and all sensors, as after a step."""
        self.layout.constants.write(self.model, row[self.layout.constant])
        self._set(row)
        mujoco.mj_step1(self.model, self.data)
        sensors = self.layout.step_sensors
        self.data.sensordata[sensors] = row[self.layout.sensor_values][: len(sensors)]

    def step(self, states: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """states [B,S], controls [B,U] -> states [B,S]. Raises BadStep if a simulation diverges: MuJoCo resets it."""
        layout, model, data = self.layout, self.model, self.data
        self._check_warm_start(states)
        if not np.isfinite(controls).all():
            raise BadStep("a control is NaN or infinite")
        after = np.array(states, dtype=float)
        warnings, are_constants_written = data.warning.number, self._constants_affect_motion
        for row, control in zip(after, controls, strict=True):
            if are_constants_written:
                layout.constants.write(model, row[layout.constant])
            row[layout.control] = control
            self._set(row)
            warnings[DIVERGED] = 0
            mujoco.mj_step(model, data, self.substeps)
            self._read(row)
            if warnings[DIVERGED].any() or not layout.is_finite(row[None]).all():
                raise BadStep("the simulation diverged: a position, velocity or acceleration became huge or NaN")
            if len(layout.sensors):
                mujoco.mj_step1(model, data)
                row[layout.sensor_values] = data.sensordata[layout.sensors]
        return after

    def rollout(self, states: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """states [M,S], controls [M,H,U] -> states [M,H+1,S], which can be observed but not stepped.

        A row that diverges is NaN from that step on.
        """
        self._check_warm_start(states)
        if not controls.size:
            return np.repeat(states[:, None].astype(float), controls.shape[1] + 1, axis=1)
        steps, rows = controls.shape[1], np.empty((controls.shape[1] + 1, len(states), self.layout.width))
        rows[0] = states
        rows[1:] = np.nan
        rows[1:, :, self.layout.control] = controls.swapaxes(0, 1)
        rows[1:, :, self.layout.constant] = states[:, self.layout.constant]
        for group in self._group_by_constants(states):
            self._roll_group(rows, group, np.repeat(controls[group], self.substeps, axis=1), steps)
        return rows.swapaxes(0, 1)

    def _roll_group(self, rows: np.ndarray, group: slice | np.ndarray, controls: np.ndarray, steps: int) -> None:
        """Fills in rows [H+1,M,S] of the episodes `group`, which share the constants of the model."""
        layout, every = self.layout, self.substeps
        start = np.ascontiguousarray(rows[0, group])
        if len(layout.state_sensors) > 0 or steps * every == 1:  # one more step: sensors of the last state, clock check
            controls = np.concatenate([controls, controls[:, -1:]], axis=1)
        count, total, pool = len(start), controls.shape[1], thread_limit()
        state = np.empty((count, total, layout.state.stop))
        sensed = np.empty((count, total, self.model.nsensordata))
        rollout_pool(pool).rollout(
            [self.model] * count,
            self._simulations(pool),
            np.ascontiguousarray(start[:, layout.state]),
            np.ascontiguousarray(controls, dtype=float),
            skip_checks=True,
            nstep=total,
            initial_warmstart=np.ascontiguousarray(start[:, layout.warm_start]),
            state=state,
            sensordata=sensed,
            chunk_size=max(1, count // (CHUNKS_PER_THREAD * pool)),
        )
        ends = slice(every - 1, steps * every, every)
        diverged = self._find_diverged(start, state, ends)
        rows[1:, group, layout.state] = state[:, ends].swapaxes(0, 1)
        if len(layout.sensors):
            first, last = layout.sensor_values.start, layout.sensor_values.stop
            middle = first + len(layout.step_sensors)
            rows[1:, group, first:middle] = sensed[:, ends][:, :, layout.step_sensors].swapaxes(0, 1)
            if len(layout.state_sensors):
                of_states = sensed[:, every::every][:, :, layout.state_sensors]
                rows[1:, group, middle:last] = of_states.swapaxes(0, 1)
        if diverged.any():
            step, row = np.nonzero(diverged)
            rows[1 + step, np.arange(rows.shape[1])[group][row], : layout.sensor_values.stop] = np.nan

    def _find_diverged(self, start: np.ndarray, state: np.ndarray, ends: slice) -> np.ndarray:
        """Which states [H,M] follow a divergence. MuJoCo then stops the clock of the row or resets it to zero."""
        time_step = self.model.opt.timestep
        clock = start[:, :1] + time_step * np.arange(1, state.shape[1] + 1)
        diverged = np.abs(state[:, :, 0] - clock) > time_step / 2
        diverged[:, :-1] |= diverged[:, 1:]  # a reset at time zero shows one sub-step later, when the clock stops
        diverged[:, ends.stop - 1] |= ~(np.abs(state[:, ends.stop - 1]) < DIVERGENCE_LIMIT).all(axis=1)
        return np.logical_or.accumulate(diverged[:, ends], axis=1).T

    def _check_warm_start(self, states: np.ndarray) -> None:
        if np.isnan(states[:, self.layout.warm_start]).any():
            raise BadInput("a state row from a rollout can be observed but not stepped: it has no warm start")

    def _group_by_constants(self, states: np.ndarray) -> Iterator[slice | np.ndarray]:
        """Groups of rows with equal constants, which are written into the model. One group if they do not matter."""
        if not self._constants_affect_motion:
            yield slice(None)
            return
        constants, member = np.unique(states[:, self.layout.constant], axis=0, return_inverse=True)
        for one, values in enumerate(constants):
            self.layout.constants.write(self.model, values)
            yield np.flatnonzero(member.reshape(-1) == one)

    @cached_property
    def _constants_affect_motion(self) -> bool:
        return self.layout.constants.affect_motion(self.model)

    @cached_property
    def _thread_data(self) -> list[mujoco.MjData]:
        """Simulations for the threads of a rollout, created when they are first needed."""
        return []

    def _simulations(self, count: int) -> list[mujoco.MjData]:
        self._thread_data.extend(mujoco.MjData(self.model) for _ in range(count - len(self._thread_data)))
        return self._thread_data[:count]

    def _set(self, row: np.ndarray) -> None:
        mujoco.mj_setState(self.model, self.data, row[self.layout.simulator_state], FULL_STATE)

    def _read(self, row: np.ndarray) -> None:
        mujoco.mj_getState(self.model, self.data, row[self.layout.simulator_state], FULL_STATE)


@lru_cache(maxsize=4)
def rollout_pool(count: int) -> Rollout:
    """A persistent pool of threads, shared by the process. A single thread requires no pool."""
    return Rollout(nthread=count if count > 1 else 0)
