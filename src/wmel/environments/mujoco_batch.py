"""MuJoCo as a function of rows: steps equal to the simulator's own, and whole rollouts at its own speed."""

# pyright: reportAttributeAccessIssue=false

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from wmel.environments.mujoco_rows import LARGEST, WHOLE, RowLayout
from wmel.errors import BadInput, BadStep
from wmel.machine import thread_limit

DIVERGED = [int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{what}")) for what in ("QPOS", "QVEL", "QACC")]
CHUNKS_PER_THREAD = 4


@dataclass(frozen=True, eq=False)
class MujocoBatch:
    """One model and one simulation, reused for every row; nothing is remembered between calls."""

    data: mujoco.MjData
    layout: RowLayout
    substeps: int

    @property
    def model(self) -> mujoco.MjModel:
        return self.layout.model

    def current(self) -> np.ndarray:
        """The simulation as it stands, after a reset: a row [S]"""
        row = np.empty(self.layout.width)
        self._read(row)
        row[self.layout.sensed] = self.data.sensordata[self.layout.sensors]
        row[self.layout.constant] = self.layout.constants.read(self.model)
        return row

    def place(self, row: np.ndarray) -> None:
        """Bring the simulation to where a row [S] is, as a step leaves it: positions, velocities and all sensors."""
        self.layout.constants.write(self.model, row[self.layout.constant])
        self._set(row)
        mujoco.mj_step1(self.model, self.data)
        late = self.layout.late_sensors
        self.data.sensordata[late] = row[self.layout.sensed][: len(late)]

    def step(self, states: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """states [B,S], controls [B,U] -> states [B,S]; one that diverges is an error, never a silent reset."""
        layout, model, data = self.layout, self.model, self.data
        self._check_executed(states)
        if not np.isfinite(controls).all():
            raise BadStep("a control is NaN or infinite")
        after = np.array(states, dtype=float)
        warnings, moves_things = data.warning.number, self._moves_things
        for row, control in zip(after, controls, strict=True):
            if moves_things:
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
                row[layout.sensed] = data.sensordata[layout.sensors]
        return after

    def rollout(self, states: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """states [M,S], controls [M,H,U] -> states [M,H+1,S] to look at; where one diverges, NaN from there on."""
        self._check_executed(states)
        if not controls.size:
            return np.repeat(states[:, None].astype(float), controls.shape[1] + 1, axis=1)
        steps, rows = controls.shape[1], np.empty((controls.shape[1] + 1, len(states), self.layout.width))
        rows[0] = states
        rows[1:] = np.nan
        rows[1:, :, self.layout.control] = controls.swapaxes(0, 1)
        rows[1:, :, self.layout.constant] = states[:, self.layout.constant]
        for group in self._groups(states):
            self._imagine(rows, group, np.repeat(controls[group], self.substeps, axis=1), steps)
        return rows.swapaxes(0, 1)

    def _imagine(self, rows: np.ndarray, group: slice | np.ndarray, controls: np.ndarray, steps: int) -> None:
        """Fill in rows [H+1,M,S] of the episodes `group`, which share a model."""
        layout, every = self.layout, self.substeps
        start = np.ascontiguousarray(rows[0, group])
        extra = len(layout.live_sensors) > 0 or steps * every == 1  # sensors of the last state, or the tell of a reset
        if extra:
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
        lost = self._diverged(start, state, ends)
        rows[1:, group, layout.state] = state[:, ends].swapaxes(0, 1)
        if len(layout.sensors):
            late = layout.sensed.start + len(layout.late_sensors)
            rows[1:, group, layout.sensed.start : late] = sensed[:, ends][:, :, layout.late_sensors].swapaxes(0, 1)
            if len(layout.live_sensors):
                live = sensed[:, every::every][:, :, layout.live_sensors]
                rows[1:, group, late : layout.sensed.stop] = live.swapaxes(0, 1)
        if lost.any():
            step, row = np.nonzero(lost)
            rows[1 + step, np.arange(rows.shape[1])[group][row], : layout.sensed.stop] = np.nan

    def _diverged(self, start: np.ndarray, state: np.ndarray, ends: slice) -> np.ndarray:
        """Which of [H,M] come after MuJoCo gave up on a row: its clock stops, or starts anew from zero."""
        time_step = self.model.opt.timestep
        clock = start[:, :1] + time_step * np.arange(1, state.shape[1] + 1)
        lost = np.abs(state[:, :, 0] - clock) > time_step / 2
        lost[:, :-1] |= lost[:, 1:]  # a reset at time zero shows one sub-step later, when the clock stands still
        lost[:, ends.stop - 1] |= ~(np.abs(state[:, ends.stop - 1]) < LARGEST).all(axis=1)
        return np.logical_or.accumulate(lost[:, ends], axis=1).T

    def _check_executed(self, states: np.ndarray) -> None:
        if np.isnan(states[:, self.layout.warm_start]).any():
            raise BadInput("a row imagined by a rollout can be observed, not stepped on: it has no warm start")

    def _groups(self, states: np.ndarray) -> Iterator[slice | np.ndarray]:
        """Rows that can share a model: all of them, unless constants move things; the model is then made theirs."""
        if not self._moves_things:
            yield slice(None)
            return
        constants, member = np.unique(states[:, self.layout.constant], axis=0, return_inverse=True)
        for one, values in enumerate(constants):
            self.layout.constants.write(self.model, values)
            yield np.flatnonzero(member.reshape(-1) == one)

    @cached_property
    def _moves_things(self) -> bool:
        return self.layout.constants.move_things(self.model)

    @cached_property
    def _spare(self) -> list[mujoco.MjData]:
        """Simulations for the threads of a rollout, made as they are needed."""
        return []

    def _simulations(self, count: int) -> list[mujoco.MjData]:
        self._spare.extend(mujoco.MjData(self.model) for _ in range(count - len(self._spare)))
        return self._spare[:count]

    def _set(self, row: np.ndarray) -> None:
        mujoco.mj_setState(self.model, self.data, row[self.layout.whole], WHOLE)

    def _read(self, row: np.ndarray) -> None:
        mujoco.mj_getState(self.model, self.data, row[self.layout.whole], WHOLE)


@lru_cache(maxsize=4)
def rollout_pool(count: int) -> Rollout:
    """The persistent pool of so many threads, one per process; a single thread needs none."""
    return Rollout(nthread=count if count > 1 else 0)
