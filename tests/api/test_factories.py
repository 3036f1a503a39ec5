"""A class or a function of settings builds a part where its name is given, and is refused where a part is expected."""

import pytest

import wmel
from wmel import catalog
from wmel.errors import BadInput

HERE = __name__
TINY = {"episodes": 2, "horizon": 4, "quiet": True}


def plain(plan_horizon=4):
    return wmel.CEM(plan_horizon=plan_horizon, candidates=8)


def annotated(plan_horizon: int = 4) -> wmel.CEM:
    return wmel.CEM(plan_horizon=plan_horizon, candidates=8)


def random_policy(environment, pace=1):
    return wmel.policy("random", environment)


def distance(environment, weight=1.0):
    return wmel.objective("goal-distance", environment)


class Still:
    spec = wmel.WorldModelSpec("still")

    def encode(self, percept, previous):
        return percept.observation

    def step(self, latents, actions):
        return latents

    def decode(self, latents):
        return latents


def model():
    return Still()


@pytest.mark.parametrize("function", [plain, annotated])
def test_a_function_of_settings_builds_a_planner_by_name_everywhere(function, tmp_path, wmel_command):
    name = f"{HERE}:{function.__name__}"
    assert catalog.is_planner(name)
    found = wmel.run("maze_toy", name, settings={"planner.plan_horizon": 3}, **TINY)
    assert found.record.metadata.planner == {"name": name, "plan_horizon": 3}
    swept = wmel.sweep("maze_toy", name, plan_horizons=[2, 3], **TINY)
    assert [row["plan_horizon"] for row in swept.rows] == [2, 3]
    study = {"name": "x", "environments": ["maze_toy"], "planners": [{"name": name, "plan_horizon": 2}], "episodes": 1}
    assert wmel.study(study, output=tmp_path / "s", quiet=True).exit_code == 0
    assert wmel.check(name).record.part == wmel.check(function).record.part == "planner"
    assert wmel.list_parts(name).entries[name]["settings"]["plan_horizon"]["default"] == 4
    line = ("run", "--policy", name, "--plan-horizon", "2", "--episodes", "1", "--quiet")
    assert wmel_command(*line, cwd=tmp_path).returncode == 0


def test_a_function_of_an_environment_builds_a_policy_or_an_objective_by_name():
    assert not catalog.is_planner(f"{HERE}:random_policy")
    assert wmel.run("maze_toy", f"{HERE}:random_policy", settings={"policy.pace": 2}, **TINY).exit_code == 0
    assert wmel.run("maze_toy", f"{HERE}:plain", objective=f"{HERE}:distance", **TINY).exit_code == 0
    for function in (random_policy, distance):
        with pytest.raises(BadInput, match=function.__name__):
            wmel.check(function)


def test_a_function_of_no_arguments_is_a_model_by_name_and_as_an_object():
    by_name, by_object = (wmel.run("maze_toy", plain(), model={"m": one}, **TINY) for one in (f"{HERE}:model", model))
    assert (by_name.episodes["steps"] == by_object.episodes["steps"]).all()


@pytest.mark.parametrize(
    ("call", "offending"),
    [
        (lambda: wmel.run("maze_toy", plain, **TINY), f"{HERE}:plain"),
        (lambda: wmel.run("maze_toy", annotated, **TINY), f"{HERE}:annotated"),
        (lambda: wmel.run("maze_toy", random_policy, **TINY), f"{HERE}:random_policy"),
        (lambda: wmel.run("maze_toy", "cem", objective=distance, **TINY), f"{HERE}:distance"),
        (lambda: wmel.cpg("maze_toy", {"m": model}, planner=plain, **TINY), f"{HERE}:plain"),
        (lambda: wmel.policy(plain, wmel.environment("maze_toy")), f"{HERE}:plain"),
        (lambda: wmel.study({"name": "x", "environments": ["maze_toy"], "planners": [plain]}), f"{HERE}:plain"),
        (lambda: wmel.run("maze_toy", wmel.CEM, **TINY), "CEM is a class"),
    ],
)
def test_the_function_itself_is_no_part(call, offending):
    with pytest.raises(BadInput) as refused:
        call()
    assert offending in str(refused.value)
