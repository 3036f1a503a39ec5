"""A setting has one default, whichever way a part is asked for."""

import inspect
from dataclasses import fields

import pytest

import wmel
from tests.experiments.still import dynamics
from tests.experiments.studies import read_study, written
from wmel import catalog
from wmel.cli.main import app_for
from wmel.closed_loop.run import BenchmarkRunner
from wmel.errors import BadInput
from wmel.experiments.expand import study_of
from wmel.planners.random_shooting import RandomShooting

STUDY = """
name = "defaults"

[[environments]]
name = "maze_toy"

[[models]]
name = "still"
object = "tests.experiments.still:dynamics"

[[planners]]
name = "{planner}"
"""
BRIEF = {"episodes": 2, "horizon": 6, "quiet": True}
PLANNERS = list(catalog.PLANNERS.built_in)


def defaults_of(planner: str) -> dict:
    """By the constructor, which alone states them."""
    made = catalog.PLANNERS.load(planner)()
    return {one.name: getattr(made, one.name) for one in fields(made)}


def test_random_shooting_samples_fifty_sequences_of_fifteen_steps():
    assert (RandomShooting().candidates, RandomShooting().plan_horizon) == (50, 15)


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_policy_by_name_has_the_defaults_of_its_planner(planner, maze):
    policy = wmel.policy(planner, maze)
    assert {name: getattr(policy.planner, name) for name in defaults_of(planner)} == defaults_of(planner)
    assert policy.settings["planner"] == {"name": planner, **defaults_of(planner)}


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_run_has_the_defaults_of_its_planner(planner):
    found = wmel.run("maze_toy", planner, **BRIEF).record.metadata
    assert found.planner == {"name": planner, **defaults_of(planner)}
    assert found.plan_horizon == defaults_of(planner)["plan_horizon"]


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_gap_has_the_defaults_of_its_planner(planner):
    found = wmel.cpg("maze_toy", {"still": dynamics}, planner=planner, **BRIEF).record.setting
    assert found.planner == {"name": planner, **defaults_of(planner)}


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_study_has_the_defaults_of_its_planner(planner, tmp_path):
    text = "episodes = 2\nhorizon = 6\n" + STUDY.format(planner=planner)
    result = wmel.study(written(tmp_path, text), output=tmp_path / "store", quiet=True)
    (comparison,) = result.record.comparisons
    assert comparison.setting.planner == {"name": planner, **defaults_of(planner)}


def test_every_way_to_run_episodes_runs_as_many_and_as_long(maze, tmp_path):
    by_hand = BenchmarkRunner(maze, wmel.policy("random", maze), seed=0).run()
    by_verb = wmel.run("maze_toy", "random", quiet=True).record.metadata
    cell = study_of(read_study(written(tmp_path, STUDY.format(planner="random-shooting")))).cells[0]
    assert len(by_hand.table) == by_verb.episodes == cell.episodes == BenchmarkRunner.episodes
    assert by_hand.horizon == by_verb.horizon == maze.spec.max_steps


def test_no_verb_states_a_default_number_of_episodes_of_its_own():
    for verb in (wmel.run, wmel.cpg, wmel.sweep):
        assert inspect.signature(verb).parameters["episodes"].default is None, verb.__name__


def test_the_planner_called_as_a_preset_has_the_settings_of_the_preset():
    planner, plain = wmel.planner("tabular-world-model"), wmel.planner("random-shooting")
    stated = catalog.PRESETS["tabular-world-model"]["random-shooting"]
    assert {name: getattr(planner, name) for name in stated} == stated == {"plan_horizon": 20, "candidates": 200}
    assert {name: getattr(plain, name) for name in stated} != stated
    run = wmel.run("maze_toy", "random-shooting", preset="tabular-world-model", episodes=1, horizon=5, quiet=True)
    assert {name: run.record.metadata.planner[name] for name in stated} == stated


def test_a_study_with_the_preset_of_the_paper_adds_the_rule_of_the_paper_behind_the_strict_one(tmp_path):
    study = {
        "name": "p",
        "episodes": 2,
        "horizon": 5,
        "environments": [{"name": "maze_toy"}],
        "planners": [{"name": "cem"}],
        "models": [{"name": "still", "object": "tests.experiments.still:dynamics"}],
    }
    for preset, is_added in ((None, False), ("paper", True)):
        data = study if preset is None else {**study, "preset": preset}
        wmel.study(data, output=tmp_path / str(preset), quiet=True)
        done = wmel.load(tmp_path / str(preset))
        assert done.record.paper_first is is_added and ("(CPG paper)" in str(done)) is is_added
        strict, _, paper = done.answer.partition("By the rule of the CPG paper: ")
        assert "cannot see the model" in strict and paper == ("still PLANNER BOTTLENECK." if is_added else "")
        done.report(tmp_path / "report.md")
        summary = (tmp_path / "report.md").read_text().partition("## maze")[0]
        assert ("n | verdict (CPG paper) |" in summary) is is_added


def test_tau_is_set_from_python_by_a_flag_or_in_a_study_and_is_kept_in_the_store_and_the_records(tmp_path):
    """Over 5 steps no arm reaches the goal of the maze: both rates are 0, within any tau of 0."""
    episodes = {"episodes": 2, "horizon": 5}
    study = {"name": "p", **episodes, "environments": [{"name": "maze_toy"}], "planners": [{"name": "cem"}]}
    study["models"] = [{"name": "still", "object": "tests.experiments.still:dynamics"}]
    wmel.study({**study, "tau": 0.2}, output=tmp_path / "study", quiet=True)
    wmel.cpg("maze_toy", "tests.experiments.still:dynamics", tau=0.2, output=tmp_path / "cpg", quiet=True, **episodes)
    options = ["--episodes", "2", "--horizon", "5", "--tau", "0.2", "--quiet", "--out", str(tmp_path / "flag")]
    typed = ["cpg", "--env", "maze_toy", "--model", "tests.experiments.still:dynamics", *options]
    app_for(typed)(typed, standalone_mode=False)
    wmel.cpg("maze_toy", "tests.experiments.still:dynamics", output=tmp_path / "none", quiet=True, **episodes)
    for name in ("study", "cpg", "flag", "none"):
        done = wmel.load(tmp_path / name)
        assert done.record.tau == (0.05 if name == "none" else 0.2), name
        assert done.record.paper_first is (name != "none")
        (entry,) = done.record.comparisons[0].gaps.values() if name == "study" else done.record.cpgs.values()
        assert entry.verdicts["paper"].margins == {"tau": done.record.tau}
    record = wmel.load(tmp_path / "cpg" / "cpg.json").record  # computed again from the records of its arms
    assert record.tau == 0.2
    with pytest.raises(BadInput, match="tau"):
        wmel.study({**study, "tau": 0.6}, quiet=True)
    with pytest.raises(BadInput, match="tau"):
        wmel.cpg("maze_toy", "tests.experiments.still:dynamics", tau=-1, quiet=True, **episodes)
