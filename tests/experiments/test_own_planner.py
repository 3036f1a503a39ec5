"""A planner that is no dataclass, by its path or as an object: it is built, run and recorded as data."""

import json

import numpy as np
import pytest

import wmel
from tests.experiments.plain_planner import Plain
from tests.experiments.still import dynamics
from tests.experiments.studies import written
from wmel import catalog
from wmel.errors import BadInput
from wmel.reports.records import read_record

PATH = "tests.experiments.plain_planner:Plain"
SETTINGS = {"plan_horizon": 4, "candidates": 7, "note": None}
BRIEF = {"episodes": 3, "horizon": 12, "quiet": True}
STUDY = f"""
name = "own"
episodes = 3
horizon = 12

[[environments]]
name = "maze_toy"

[[models]]
name = "still"
object = "tests.experiments.still:dynamics"

[[planners]]
name = "{PATH}"
plan_horizon = 4
candidates = 7
"""


@pytest.mark.parametrize(
    ("planner_part", "name"),
    [({"name": PATH, "plan_horizon": 4, "candidates": 7}, PATH), (Plain(4, 7), "Plain")],
    ids=["by path", "as an object"],
)
def test_a_gap_records_a_planner_that_is_no_dataclass_as_data(planner_part, name):
    result = wmel.cpg("maze_toy", {"still": dynamics}, planner=planner_part, **BRIEF)
    assert result.failures == []
    assert result.record.setting.planner == {"name": name, **SETTINGS}
    json.dumps(result.record.setting.planner)


def test_a_study_records_a_planner_that_is_no_dataclass_as_data(tmp_path):
    result = wmel.study(written(tmp_path, STUDY), output=tmp_path / "store", quiet=True)
    assert result.failures == []
    (comparison,) = result.record.comparisons
    assert comparison.setting.planner == {"name": PATH, **SETTINGS}
    wmel.report(tmp_path / "store", quiet=True)
    again = read_record(tmp_path / "store" / "results.json")
    assert again.comparisons[0].setting.planner == {"name": PATH, **SETTINGS}


def test_a_planner_class_given_as_the_policy_is_built_and_plans(maze):
    policy = catalog.policy(PATH, maze, candidates=5)
    assert isinstance(policy.planner, Plain) and policy.planner.candidates == 5
    result = wmel.run("maze_toy", PATH, settings={"planner.candidates": "5"}, **BRIEF)
    assert result.failures == [] and not (result.episodes["error"] != "").any()
    assert result.record.metadata.planner == {"name": PATH, "plan_horizon": 6, "candidates": 5, "note": None}
    assert (result.episodes["model_steps"] > 0).all()


def test_a_planner_class_given_as_the_policy_does_as_the_planner_itself():
    by_path = wmel.run("maze_toy", PATH, **BRIEF).episodes
    as_object = wmel.run("maze_toy", Plain(), **BRIEF).episodes
    assert np.array_equal(by_path["steps"], as_object["steps"])


def test_a_setting_it_does_not_have_is_named_with_the_nearest():
    with pytest.raises(BadInput, match=r"'candidate'; did you.*'candidates'"):
        wmel.run("maze_toy", PATH, settings={"planner.candidate": 5}, **BRIEF)
