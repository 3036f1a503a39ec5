"""The layout of the state row of a MuJoCo environment."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import mujoco
import numpy as np

from wmel.errors import BadInput, BadStep

# pyright: reportAttributeAccessIssue=false


WITHOUT_FORCE = ("site_", "light_", "cam_", "mat_", "tex_", "vis_")  # rendered or sensed only
RENDERED = ("light_", "cam_", "mat_", "tex_", "vis_")
NOT_COMPARED = ("tex_data", "names", "text_data", "paths")


@dataclass(frozen=True, eq=False)
class ModelConstants:
    """Elements of model fields: the name of each field and indices into the flattened field."""

    entries: tuple[tuple[str, np.ndarray], ...] = ()

    def __len__(self) -> int:
        return sum(len(places) for _, places in self.entries)

    def read(self, model: mujoco.MjModel) -> np.ndarray:
        """The constants [C] of a model."""
        values = [getattr(model, field).reshape(-1)[places] for field, places in self.entries]
        return np.concatenate(values).astype(float) if values else np.empty(0)

    def write(self, model: mujoco.MjModel, values: np.ndarray) -> None:
        """Writes constants [C] into a model."""
        first = 0
        for field, places in self.entries:
            getattr(model, field).reshape(-1)[places] = values[first : first + len(places)]
            first += len(places)

    def index_of(self, field: str, place: int) -> int:
        """The index of the constant at a place in a flattened field."""
        first = 0
        for name, places in self.entries:
            if name == field and place in places:
                return first + int(np.flatnonzero(places == place)[0])
            first += len(places)
        raise KeyError(f"{field}[{place}] is the same in every episode")

    def affect_motion(self, model: mujoco.MjModel) -> bool:
        """Whether any constant changes the motion, and not only what is rendered, sensed or rewarded."""
        return any(_affects_motion(model, field, places) for field, places in self.entries)


def find_constants(models: Sequence[dict[str, np.ndarray]]) -> ModelConstants:
    """The constants that differ between copies of a model's fields. Rows are kept whole."""
    entries = []
    for field, first in models[0].items():
        changed = np.zeros(first.shape, bool)
        for other in models[1:]:
            changed |= other[field] != first
        if changed.any():
            changed[changed.reshape(len(changed), -1).any(axis=1)] = True
            entries.append((field, np.flatnonzero(changed)))
    return ModelConstants(tuple(entries))


def copy_fields(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """A copy of every numeric field of a model, by name."""
    return {name: getattr(model, name).copy() for name in _fields(model)}


@dataclass(frozen=True, eq=False)
class FixedFields:
    """The fields of a model that must not change, except for its constants. Rendering is ignored."""

    fields: tuple[tuple[str, np.ndarray, np.ndarray, np.ndarray], ...]  # name, view, original copy, constant places

    @classmethod
    def of_model(cls, constants: ModelConstants, model: mujoco.MjModel) -> "FixedFields":
        constant_places, fields = dict(constants.entries), []
        for name in _fields(model):
            live = getattr(model, name)
            if live.size and live.dtype.kind == "f" and not name.startswith(RENDERED) and not name.endswith("_rgba"):
                fields.append((name, live, live.copy(), constant_places.get(name, np.empty(0, np.int64))))
        return cls(tuple(fields))

    def check(self) -> None:
        """Raises BadStep if another number of the model has changed."""
        for name, live, before, may_change in self.fields:
            changed = live != before
            if changed.any() and not np.isin(np.flatnonzero(changed), may_change).all():
                raise BadStep(f"a reset changed {name} of the model, which is not part of the state row")


@cache
def _names(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_") and name not in NOT_COMPARED]


def _fields(model: mujoco.MjModel) -> list[str]:
    values = {name: getattr(model, name) for name in _names(type(model))}
    return [name for name, value in values.items() if isinstance(value, np.ndarray) and value.dtype.kind in "fiu"]


def _affects_motion(model: mujoco.MjModel, field: str, places: np.ndarray) -> bool:
    """Whether places of a field change the motion. Geoms without contacts and their fixed bodies do not."""
    if field.startswith(WITHOUT_FORCE) or field.endswith("_rgba"):
        return False
    rows = places // (getattr(model, field).size // len(getattr(model, field)))
    if field in ("geom_pos", "geom_size", "geom_quat"):
        return any(_collides(model, int(geom)) for geom in rows)
    if field in ("body_pos", "body_quat"):
        within = [body for body in range(model.nbody) if any(_is_inside(model, body, int(top)) for top in rows)]
        touching = any(_collides(model, geom) for geom in np.flatnonzero(np.isin(model.geom_bodyid, within)).tolist())
        return touching or bool(model.body_dofnum[within].any())
    return True


def _collides(model: mujoco.MjModel, geom: int) -> bool:
    contacts_off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT
    others = np.arange(model.ngeom) != geom
    met = (model.geom_contype[geom] & model.geom_conaffinity) | (model.geom_contype & model.geom_conaffinity[geom])
    return not contacts_off and bool(met[others].any())


def _is_inside(model: mujoco.MjModel, body: int, top: int) -> bool:
    while body not in (0, top):
        body = int(model.body_parentid[body])
    return body == top


# pyright: reportAttributeAccessIssue=false


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
