import mujoco
import numpy as np
import pytest

from wmel.environments.mujoco_rows import FixedFields, copy_fields, find_constants
from wmel.errors import BadStep

MODEL = """
<mujoco>
  <worldbody>
    <geom name="target" size=".1" contype="0" conaffinity="0"/>
    <geom name="wall" size=".1" pos="1 0 0"/>
    <site name="mark" pos="0 1 0"/>
    <body name="ball" pos="0 0 1"><freejoint/><geom size=".1"/></body>
  </worldbody>
</mujoco>
"""


def two_of(edit):
    model = mujoco.MjModel.from_xml_string(MODEL)
    before = copy_fields(model)
    edit(model)
    return model, before, find_constants([before, copy_fields(model)])


def move(kind, name):
    def edit(model):
        getattr(model, kind)(name).pos[0] += 0.5

    return edit


@pytest.mark.parametrize(
    ("edit", "field", "moves"),
    [
        (move("geom", "target"), "geom_pos", False),
        (move("site", "mark"), "site_pos", False),
        (move("geom", "wall"), "geom_pos", True),
        (move("body", "ball"), "body_pos", True),
        (lambda model: model.dof_damping.__setitem__(0, 0.5), "dof_damping", True),
    ],
)
def test_what_differs_is_found_and_whether_it_moves_anything(edit, field, moves):
    model, _, constants = two_of(edit)
    assert [name for name, _ in constants.entries] == [field]
    assert constants.affect_motion(model) == moves


def test_a_row_of_a_field_is_kept_whole_and_written_back():
    model, _, constants = two_of(move("geom", "target"))
    assert len(constants) == 3
    values = constants.read(model)
    other = mujoco.MjModel.from_xml_string(MODEL)
    constants.write(other, values)
    assert np.array_equal(other.geom_pos, model.geom_pos)


def test_a_change_that_no_row_holds_is_an_error():
    model, _, constants = two_of(move("geom", "target"))
    unchanged = FixedFields.of_model(constants, model)
    move("geom", "target")(model)
    model.site_rgba[0] = 0  # drawn only
    unchanged.check()
    model.geom_size[0, 0] = 0.3
    with pytest.raises(BadStep, match="geom_size"):
        unchanged.check()
