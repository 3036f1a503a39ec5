"""Settings of metrics: as text, as data, by class, by function, swept; refused by name."""

import numpy as np
import pytest

import wmel
from wmel import Estimate
from wmel.analysis.scorecard import metric, metric_data, metric_texts
from wmel.errors import BadInput

TINY = {"episodes": 4, "horizon": 40, "quiet": True}


class LongerThan:
    """A metric that is made of a setting."""

    def __init__(self, steps: int = 10):
        self.steps = steps

    def __call__(self, table):
        return Estimate(float(np.mean(table["steps"] > self.steps)))


def longer_than(table, *, steps: int = 10):
    """The same as a function."""
    return LongerThan(steps)(table)


@pytest.fixture(scope="module")
def run():
    return wmel.run("maze_toy", "cem", metrics=["success@20", {"name": "success@", "steps": 30}], **TINY)


def test_text_and_data_name_the_same_metric(run):
    assert metric_data("success@20") == {"name": "success@", "steps": 20}
    assert run.record.metadata.metrics == ["success@20", "success@30"]
    first = run.run.table["first_success_step"]
    for steps in (20, 30):
        expected = np.mean(run.run.table["success"] & (first <= steps))
        assert run.scorecard[f"success@{steps}"].value == expected


@pytest.mark.parametrize("kind", ["LongerThan", "longer_than"])
def test_a_metric_of_your_own_takes_settings(run, kind):
    name = f"{__name__}:{kind}"
    for spelling in (f"{name}@3", f"{name}@steps=3", {"name": name, "steps": 3}):
        (text,) = metric_texts([spelling])
        assert metric(text)(run.run.table).value == LongerThan(3)(run.run.table).value
    assert metric(name)(run.run.table).value == LongerThan()(run.run.table).value


def test_a_swept_setting_is_one_metric_for_each_value():
    spelling = [{"name": "success@", "steps": {"sweep": [5, 10]}}, "error_rate"]
    assert metric_texts(spelling) == ["success@5", "success@10", "error_rate"]


@pytest.mark.parametrize(
    ("spelling", "value"),
    [("success@0", "got 0"), ("success@x", "'x'"), ("deadline@-1", "got -1"), ("error_rate@3", "error_rate"),
     ({"name": "success@"}, "steps"), ({"name": "success@", "stps": 3}, "stps"), ({"steps": 3}, "3"),
     ("sucess_rate", "success_rate")],
)  # fmt: skip
def test_what_is_wrong_is_named(spelling, value):
    with pytest.raises(BadInput, match=value):
        metric(spelling)
