"""Parts given as objects run as they are: nothing is rebuilt from a guess."""

import sys
from dataclasses import dataclass
from functools import partial

import pytest

import wmel
from tests.experiments.swept_parts import Lengths
from wmel.contract.objective import ClosestApproach, DiscountedSum
from wmel.errors import BadInput
from wmel.objectives import GoalDistance, SmoothUpright

TINY = {"episodes": 2, "horizon": 6, "quiet": True}


class FirstCandidates:
    """A planner that is no dataclass and keeps its setting under another name."""

    def __init__(self, draws: int = 3):
        self.candidates = wmel.RandomShooting(candidates=draws, plan_horizon=4)

    plan_horizon = 4
    warm_start = False

    @property
    def evaluations(self):
        return self.candidates.evaluations

    def plan(self, problem, previous):
        return self.candidates.plan(problem, previous)


def test_a_planner_object_that_is_no_dataclass_runs_as_it_was_made():
    made = wmel.run("maze_toy", FirstCandidates(draws=9), **TINY)
    assert made.record.metadata.evaluations == 9


def test_a_planner_dataclass_is_data_with_the_settings_that_differ():
    swept = wmel.sweep("maze_toy", wmel.CEM(candidates=8), plan_horizons=[2, 4], **TINY)
    assert [row["plan_horizon"] for row in swept.rows] == [2, 4]
    assert swept.record.metadata.planner["candidates"] == 8


def test_an_objective_object_keeps_its_reduction():
    world = wmel.environment("dmc:cartpole-swingup")
    assert wmel.objective("smooth-upright", world).reduction == DiscountedSum(1.0)
    closest = SmoothUpright((1,), ClosestApproach())
    how = {"policy": "random-shooting", "settings": {"planner.plan_horizon": 5, "planner.candidates": 8}, **TINY}
    one = wmel.run(world, objective=closest, **how).episodes["steps"]
    assert one.shape == (2,)
    assert wmel.run("maze_toy", "cem", objective=GoalDistance(DiscountedSum(0.9)), **TINY).exit_code == 0


@pytest.mark.parametrize("name", ["hold-last-2", "composite:drop-next-2+hold-last-1", "drop-next-2"])
def test_a_perturbation_object_strikes_as_its_text_does(name):
    by_name = wmel.run("maze_toy", "cem", perturbation=name, **TINY)
    by_object = wmel.run("maze_toy", "cem", perturbation=wmel.perturbation(name), **TINY)
    assert by_name.episodes["perturbed"].any()
    for column in ("success", "steps", "perturbed"):
        assert (by_name.episodes[column] == by_object.episodes[column]).all()
    assert by_object.record.metadata.perturbation == by_name.record.metadata.perturbation


def test_a_policy_object_acts_as_its_name_does():
    world = wmel.environment("maze_toy")
    for name in ("random", "greedy", "cem"):
        one, other = (wmel.run(world, policy_part, **TINY).episodes for policy_part in (name, wmel.policy(name, world)))
        assert (one["steps"] == other["steps"]).all() and (one["success"] == other["success"]).all()


def test_a_preset_leaves_an_object_alone():
    pytest.importorskip("dm_control")
    world = wmel.environment("dmc_cartpole", init="task")
    planner = {"name": "cem", "candidates": 8}
    assert wmel.run(world, planner, preset="paper", **TINY).record.metadata.init == "task"
    assert wmel.run("dmc_cartpole", "random", preset="paper", **TINY).record.metadata.init == "fixed"


@pytest.mark.parametrize("kind", ["environment", "policy", "perturbation", "objective"])
def test_an_object_of_another_kind_is_refused(kind):
    policy_part = {"environment": "maze_toy", "policy": "cem", kind: object()}
    with pytest.raises(BadInput, match="planner" if kind == "policy" else kind):
        wmel.run(**policy_part, **TINY)


def test_the_discount_of_the_objective_is_that_of_esnr():
    pytest.importorskip("dm_control")
    how = {"models": ["oracle"], "states": 3, "samples": 8, "plan_horizon": 4, "methods": ("zog",), "quiet": True}

    def read(**more):
        return wmel.esnr("dmc:cartpole-swingup", objective="task-reward", **how, **more).rows[0]["esnr"]

    assert read(settings={"objective.discount": 0.1}) == read(discount=0.1) != read()
    with pytest.raises(BadInput, match=r"0\.5.*0\.1"):
        read(settings={"objective.discount": 0.1}, discount=0.5)


def longest(table, scale: float = 1.0):
    return wmel.Estimate(scale * float(table["steps"].max()))


def rows(table):
    return wmel.Estimate(float(len(table["steps"])))


@dataclass(frozen=True)
class Longest:
    """A metric that is an object with a setting."""

    scale: float = 1.0

    def __call__(self, table):
        return longest(table, self.scale)


HERE = __name__


@pytest.mark.parametrize(
    ("metric", "name", "scale"),
    [
        (longest, f"{HERE}:longest", 1),
        (partial(longest, scale=2.0), f"{HERE}:longest@2.0", 2),
        (Longest(3.0), f"{HERE}:Longest@3.0", 3),
    ],
)
def test_a_metric_may_be_a_function_or_an_object(metric, name, scale):
    result = wmel.run("maze_toy", "cem", metrics=[metric], **TINY)
    assert result.scorecard[name].value == scale * result.episodes["steps"].max()
    assert wmel.run("maze_toy", "cem", metrics=metric, **TINY).scorecard[name] == result.scorecard[name]


@pytest.mark.parametrize("metric", [rows, {"name": f"{HERE}:rows"}, f"{HERE}:rows"])
def test_a_metric_without_settings_is_a_function_a_table_or_a_name(metric):
    assert wmel.run("maze_toy", "cem", metrics=[metric], **TINY).scorecard[f"{HERE}:rows"].value == 2
    assert wmel.run("maze_toy", "cem", metrics=[{"name": "success_rate"}], **TINY).exit_code == 0


@pytest.mark.parametrize("metric", [lambda table: wmel.Estimate(1.0), object(), 3])
def test_a_metric_that_no_name_leads_to_is_refused(metric):
    with pytest.raises(BadInput, match="metric"):
        wmel.run("maze_toy", "cem", metrics=[metric], **TINY)


def test_stored_rows_are_read_without_the_metric_that_was_added(tmp_path, monkeypatch):
    wmel.run("maze_toy", "cem", metrics=[longest], output=tmp_path / "run", **TINY)
    monkeypatch.delattr(sys.modules[HERE], "longest")
    found = wmel.load(tmp_path / "run")
    assert not found.scorecard[f"{HERE}:longest"].is_defined and found.scorecard["success_rate"].is_defined


def test_a_diagnostic_may_be_an_object():
    result = wmel.diagnose(Lengths(3.0), "maze_toy", seeds="0,1", quiet=True)
    assert result.table["length"].to_list() == [180.0, 180.0] and result.table["seed"].to_list() == [0, 1]
    with pytest.raises(BadInput, match="leave out factor"):
        wmel.diagnose(Lengths(3.0), "maze_toy", factor=2.0, quiet=True)


def test_a_study_of_objects_has_the_rows_of_the_same_study_by_names(tmp_path):
    shared = {"name": "live", "episodes": 2, "horizon": 6}
    objects = {
        "environments": [wmel.environment("maze_toy")],
        "planners": [wmel.CEM(elites=5), FirstCandidates(draws=9)],
        "models": {"still": Still()},
        "diagnostics": [Lengths(3.0)],
        "metrics": [longest],
        "criteria": [wmel.Criterion.parse("distance<=1")],
        "executor": wmel.Processes(2),
    }
    names = {
        "environments": ["maze_toy"],
        "planners": [{"name": "cem", "elites": 5}, {"name": f"{HERE}:FirstCandidates", "draws": 9}],
        "models": [{"name": "still", "object": f"{HERE}:Still"}],
        "diagnostics": [{"name": "tests.experiments.swept_parts:Lengths", "factor": 3.0}],
        "metrics": [f"{HERE}:longest"],
        "criteria": [{"criterion": "distance<=1"}],
    }
    live, named = (
        wmel.study({**shared, **parts}, output=tmp_path / str(place), quiet=True)
        for place, parts in enumerate((objects, names))
    )
    assert live.exit_code == named.exit_code == 0
    columns = ["arm", "episode_seed", "success", "steps"]
    assert live.episodes.select(columns).sort(columns).equals(named.episodes.select(columns).sort(columns))
    assert [one.values["length"].value for one in live.record.readings] == [180.0]


class Still:
    """A model in which nothing moves."""

    spec = wmel.WorldModelSpec("still")

    def encode(self, percept, previous):
        return percept.observation

    def step(self, latents, actions):
        return latents

    def decode(self, latents):
        return latents
