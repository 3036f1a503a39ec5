"""The layout of the state row of a MuJoCo environment."""

# pyright: reportAttributeAccessIssue=false

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from wmel.environments.model_constants import ModelConstants
from wmel.errors import BadInput

PHYSICS_STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
DIVERGENCE_LIMIT = 1e10  # MuJoCo resets a simulation with a larger position or velocity
FULL_STATE = PHYSICS_STATE | mujoco.mjtState.mjSTATE_WARMSTART | mujoco.mjtState.mjSTATE_CTRL


@dataclass(frozen=True, eq=False)
class RowLayout:
    """A row is: time, positions, velocities, activations | warm start | control | sensors | constants of the model.

    The observation, the reward and the next step are functions of the row. It has the sensors of the acceleration
    stage, which a state does not determine, and the named state sensors.
    """

    model: mujoco.MjModel
    constants: ModelConstants
    state_sensor_names: tuple[str, ...] = ()

    def __post_init__(self):
        if self.model.nplugin or self.model.nmocap or self.model.nuserdata:
            raise BadInput("models with plugins, mocap bodies or user data have state that is not part of the row")

    @cached_property
    def state(self) -> slice:
        return slice(0, mujoco.mj_stateSize(self.model, PHYSICS_STATE))

    @cached_property
    def positions(self) -> slice:
        return slice(1, 1 + self.model.nq)

    @cached_property
    def velocities(self) -> slice:
        return slice(self.positions.stop, self.positions.stop + self.model.nv)

    @cached_property
    def warm_start(self) -> slice:
        return slice(self.state.stop, self.state.stop + self.model.nv)

    @cached_property
    def control(self) -> slice:
        return slice(self.warm_start.stop, self.warm_start.stop + self.model.nu)

    @property
    def simulator_state(self) -> slice:
        """The part that MuJoCo sets and reads at once."""
        return slice(0, self.control.stop)

    @cached_property
    def step_sensors(self) -> np.ndarray:
        """Columns of sensordata that depend on the last step: forces, touch."""
        return self._columns(self.model.sensor_needstage == mujoco.mjtStage.mjSTAGE_ACC)

    @cached_property
    def state_sensors(self) -> np.ndarray:
        """Columns of sensordata of the named sensors, which depend on the state only."""
        names = self.state_sensor_names
        return self._columns(np.isin(np.arange(self.model.nsensor), [self._sensor_id(name) for name in names]))

    @cached_property
    def sensors(self) -> np.ndarray:
        """Columns of sensordata in the row, those of the step first."""
        return np.concatenate([self.step_sensors, self.state_sensors])

    @cached_property
    def sensor_values(self) -> slice:
        return slice(self.control.stop, self.control.stop + len(self.sensors))

    @cached_property
    def constant(self) -> slice:
        return slice(self.sensor_values.stop, self.sensor_values.stop + len(self.constants))

    @property
    def width(self) -> int:
        return self.constant.stop

    def is_finite(self, states: np.ndarray) -> np.ndarray:
        """Which rows [B,S] have not diverged: bool [B]"""
        moving = np.abs(states[:, self.positions.start : self.velocities.stop])
        return np.asarray((moving < DIVERGENCE_LIMIT).all(axis=1))

    def sensor(self, states: np.ndarray, name: str) -> np.ndarray:
        """states [B,S] -> the readings [B,k] of a sensor of the row"""
        sensor = self._sensor_id(name)
        first, size = self.model.sensor_adr[sensor], int(self.model.sensor_dim[sensor])
        columns = [int(np.flatnonzero(self.sensors == first + k)[0]) for k in range(size)]
        return states[:, [self.sensor_values.start + column for column in columns]]

    def _sensor_id(self, name: str) -> int:
        return self.model.sensor(name).id

    def _columns(self, selected: np.ndarray) -> np.ndarray:
        """The columns of sensordata of the selected sensors [nsensor]."""
        spans = [
            np.arange(self.model.sensor_adr[one], self.model.sensor_adr[one] + self.model.sensor_dim[one])
            for one in np.flatnonzero(selected)
        ]
        return np.concatenate(spans) if spans else np.empty(0, np.int64)
