"""A spec with a setting of another type is refused before it is used: the setting and the value are named."""

import re

import numpy as np
import pytest

from tests.closed_loop.worlds import Countdown
from wmel.contract.environment import EnvironmentSpec
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import BadInput
from wmel.models.callable_model import adapt_model

MODEL = {
    "name": [3, None, ""],
    "reads": [5, "all", None],
    "action_input": ["both", 4],
    "weights": [5, b"x"],
    "row_multiple": ["16", 0, 2.5, -1, True],
}
ENVIRONMENT = {
    "name": [3, None],
    "observation": [None, "xy", (1, 2), ()],
    "actions": [None, ("up", "down")],
    "max_steps": ["9", 0, 2.5],
    "objectives": [(), None],
    "step_ms": ["x"],
    "action_repeat": ["a", 0],
    "layout": [5],
    "init": [5],
    "branchable": ["yes"],
    "single_start": [1],
}


def model_of(spec):
    methods = dict.fromkeys(("encode", "step", "decode"), lambda self, *arguments: None)
    return type("Model", (), {"spec": spec, **methods})()


def cases(settings):
    return [(name, value) for name, values in settings.items() for value in values]


@pytest.mark.parametrize(("name", "value"), cases(MODEL))
def test_a_model_with_another_type_of_setting_is_refused(name, value):
    with pytest.raises(BadInput, match=re.escape(f"got {value!r}")) as caught:
        adapt_model(model_of(WorldModelSpec(**{"name": "mine", name: value})))
    assert name in str(caught.value)


@pytest.mark.parametrize(("name", "value"), cases(ENVIRONMENT))
def test_an_environment_with_another_type_of_setting_is_refused(name, value):
    sound = vars(Countdown().spec)
    with pytest.raises(BadInput, match=re.escape(f"got {value!r}")) as caught:
        EnvironmentSpec(**{**sound, name: value})
    assert name in str(caught.value)


def test_whole_numbers_of_numpy_are_whole():
    assert adapt_model(model_of(WorldModelSpec("mine", row_multiple=np.int64(4))))[0] == "batched"


def test_a_model_whose_spec_is_another_object_is_refused():
    with pytest.raises(BadInput, match="'duck'"):
        adapt_model(model_of("duck"))
