"""A sweep of any settings is sorted, recorded, described and drawn."""

import pytest

import wmel
from wmel.reports.terminal import sweep_lines

PARTS = "tests.experiments.swept_parts"
CEM = {"planner.candidates": 4, "planner.iterations": 1, "planner.plan_horizon": 3}


def swept(sweep, settings=CEM, policy="cem", episodes=2, **more):
    return wmel.sweep(policy=policy, sweep=sweep, episodes=episodes, settings=settings, quiet=True, **more)


def test_none_is_swept_before_numbers():
    result = swept({"planner.elites": [2, "none"]}, horizon=5)
    assert result.table["elites"].to_list() == [None, 2]
    (line,) = result.plot().data
    assert list(line.x) == ["none", "2"] and line.mode == "markers"


def test_the_steps_of_an_episode_are_swept(tmp_path):
    result = swept({"environment.max_steps": [4, 6]}, output=tmp_path / "sweep.json")
    assert result.record.metadata.episode_horizon == 6
    assert list(wmel.load(tmp_path / "sweep.json").plot().data[0].x) == [4, 6]


def test_two_swept_settings_are_a_line_for_each_value_of_the_second():
    result = swept({"planner.smoothing": [0.1, 0.2], "planner.elites": [1, 2]}, horizon=5)
    assert [(line.name, list(line.x)) for line in result.plot().data] == [
        ("elites=1", [0.1, 0.2]),
        ("elites=2", [0.1, 0.2]),
    ]


def test_one_name_swept_by_two_kinds_is_qualified_by_the_kind():
    sweep = {"planner.weight": [1, 2], "objective.weight": [1.0, 3.0]}
    result = swept(sweep, None, f"{PARTS}:Weighted", horizon=5, objective=f"{PARTS}:Near")
    rows = result.table.select("planner.weight", "objective.weight").rows()
    assert rows == [(1, 1), (1, 3), (2, 1), (2, 3)]


@pytest.mark.parametrize(
    ("sweep", "words"),
    [({"environment.init": ["task", "fixed"]}, "fixed start"), ({"planner.candidates": [2, 4]}, "candidates")],
)
def test_what_is_swept_is_not_in_the_headline(sweep, words):
    settings = {"planner.iterations": 1, "planner.plan_horizon": 2}
    result = swept(sweep, settings, environment="dmc:cartpole-swingup", horizon=3, criterion="reward>=0.1")
    headline, *_ = sweep_lines(result.record, result.sweep)
    assert words not in headline
    assert next(iter(sweep)).partition(".")[2] not in result.record.metadata.planner
