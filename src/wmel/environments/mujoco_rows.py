"""Where things lie in the state row of a MuJoCo environment."""

# pyright: reportAttributeAccessIssue=false

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from wmel.environments.model_constants import ModelConstants
from wmel.errors import BadInput

STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
LARGEST = 1e10  # MuJoCo resets a simulation in which a position or velocity grows beyond this
WHOLE = STATE | mujoco.mjtState.mjSTATE_WARMSTART | mujoco.mjtState.mjSTATE_CTRL


@dataclass(frozen=True, eq=False)
class RowLayout:
    """A row is: time, positions, velocities, activations | warm start | control | sensors | constants of the model.

    With these, observation, reward and the next step are functions of the row. Of the sensors it keeps those of the
    acceleration stage, which a state alone does not determine, and of the others the ones in `live`.
    """

    model: mujoco.MjModel
    constants: ModelConstants
    live: tuple[str, ...] = ()

    def __post_init__(self):
        if self.model.nplugin or self.model.nmocap or self.model.nuserdata:
            raise BadInput("models with plugins, mocap bodies or user data hold state that a row does not")

    @cached_property
    def state(self) -> slice:
        return slice(0, mujoco.mj_stateSize(self.model, STATE))

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
    def whole(self) -> slice:
        """All that MuJoCo sets and reads at once."""
        return slice(0, self.control.stop)

    @cached_property
    def late_sensors(self) -> np.ndarray:
        """Columns of sensordata that belong to the step taken: forces, touch."""
        return self._columns(self.model.sensor_needstage == mujoco.mjtStage.mjSTAGE_ACC)

    @cached_property
    def live_sensors(self) -> np.ndarray:
        """Columns of sensordata that belong to the state reached, as far as they are kept."""
        return self._columns(np.isin(np.arange(self.model.nsensor), [self._sensor(name) for name in self.live]))

    @cached_property
    def sensors(self) -> np.ndarray:
        """Columns of sensordata in the row, late ones first."""
        return np.concatenate([self.late_sensors, self.live_sensors])

    @cached_property
    def sensed(self) -> slice:
        return slice(self.control.stop, self.control.stop + len(self.sensors))

    @cached_property
    def constant(self) -> slice:
        return slice(self.sensed.stop, self.sensed.stop + len(self.constants))

    @property
    def width(self) -> int:
        return self.constant.stop

    def is_finite(self, states: np.ndarray) -> np.ndarray:
        """Which rows [B,S] hold a state that MuJoCo would go on from: bool [B]"""
        moving = np.abs(states[:, self.positions.start : self.velocities.stop])
        return np.asarray((moving < LARGEST).all(axis=1))

    def sensor(self, states: np.ndarray, name: str) -> np.ndarray:
        """states [B,S] -> the readings [B,k] of a sensor that the row keeps"""
        first = self.model.sensor_adr[self._sensor(name)]
        columns = [int(np.flatnonzero(self.sensors == first + k)[0]) for k in range(self._size(name))]
        return states[:, [self.sensed.start + column for column in columns]]

    def _size(self, name: str) -> int:
        return int(self.model.sensor_dim[self._sensor(name)])

    def _sensor(self, name: str) -> int:
        return self.model.sensor(name).id

    def _columns(self, chosen: np.ndarray) -> np.ndarray:
        spans = [
            np.arange(self.model.sensor_adr[one], self.model.sensor_adr[one] + self.model.sensor_dim[one])
            for one in np.flatnonzero(chosen)
        ]
        return np.concatenate(spans) if spans else np.empty(0, np.int64)
