"""What a verb, or a part made directly, was given wrong: always a WmelError that has the offending value."""

import numpy as np
import pytest

import wmel
from tests.experiments.swept_parts import Executing
from wmel import catalog
from wmel.api.study_entries import EntryBuilder
from wmel.errors import BadInput, WmelError
from wmel.parts import Part

BAD = {  # what -> call, the offending word
    "an unknown setting of a planner": (lambda: wmel.CEM(elits=8), "did you mean 'elites'?"),
    "an unknown setting of an executor": (lambda: wmel.Processes(wrkers=1), "did you mean 'workers'?"),
    "a setting's old and new name": (lambda: wmel.CEM(horizon=8, plan_horizon=9), "8 and 9"),
    "too many values": (lambda: wmel.Serial(1, 2), "Serial"),
    "a setting as a parameter of a verb": (lambda: wmel.run(policy="cem", smoothing=0), '"planner.smoothing": 0'),
    "a keyword and a setting that are one": (
        lambda: wmel.run(policy="cem", elites=4, settings={"planner.elites": 5}),
        "planner 'cem': elites is given twice: 5 and 4",
    ),
    "an element given twice": (
        lambda: wmel.run(policy={"name": "cem", "elites": 3}, elites=4), "planner 'cem': elites is given twice: 3 and 4"
    ),
    "a strength given twice": (
        lambda: wmel.run(perturbation="drop-next-5", settings={"perturbation.k": 4}),
        "perturbation 'drop-next': k is given twice: 5 and 4",
    ),
    "a share given twice": (
        lambda: wmel.run(perturbation="drop-next-5", perturb_prob=0.5, settings={"perturbation.probability": 1}),
        "perturbation 'drop-next': probability is given twice: 0.5 and 1",
    ),
    "steps of a metric given twice": (
        lambda: wmel.run(metrics=["success@5"], settings={"metric.steps": 4}),
        "metric 'success@': steps is given twice: 5 and 4",
    ),
    "samples of a diagnostic given twice": (
        lambda: wmel.esnr("maze_toy", "oracle", samples=4, settings={"diagnostic.samples": 8}),
        "diagnostic 'esnr': samples is given twice: 4 and 8",
    ),
    "a planner's text for a number": (lambda: wmel.CEM(elites="3"), "CEM: elites"),
    "no workers": (lambda: wmel.Processes(workers=0), "Processes: workers"),
    "nothing is executed": (
        lambda: wmel.run(policy="cem", execute=0),
        "planner 'cem': execute must be a whole number of at least 1, or none, got 0",
    ),
    "a class for an executor": (lambda: wmel.run(executor=wmel.Serial), "not an executor"),
    "a live planner's own execute": (lambda: wmel.run(policy=Executing()), "'execute' has the name of a key"),
    "a flag of the command line": (lambda: wmel.run(env="maze_toy"), "did you mean 'environment'?"),
    "a flag that is no truth value": (lambda: wmel.run(rewards="no"), "rewards takes true or false, got 'no'"),
    "a diagnostic's setting given twice": (
        lambda: wmel.diagnose({"name": "prediction-error", "steps": 2}, "maze_toy", steps=3), "given twice: 2 and 3"
    ),
    "readings in one file": (lambda: wmel.diagnose("prediction-error", "maze_toy", output="r.json"), "r.json"),
    "seeds that are no numbers": (lambda: wmel.run(seeds="0,x"), "'0,x'"),
    "a layout that is not there": (lambda: wmel.run(layout="absent.txt"), "absent.txt"),
    "a gap in one file": (lambda: wmel.cpg("maze_toy", {"m": _still}, output="gap.json"), "gap.json"),
    "one file of steps for several arms": (
        lambda: wmel.cpg("maze_toy", {"m": _still}, episodes=1, trajectories="steps.npz"), "steps.npz"
    ),
    "an unknown parameter": (lambda: wmel.run(polcy="cem"), "did you mean 'policy'?"),
    "a missing parameter": (lambda: wmel.cpg("maze_toy"), "models"),
    "settings that are no texts": (lambda: wmel.run(settings=["planner.elites"]), "'planner.elites'"),
    "settings given twice": (lambda: wmel.run(settings=["planner.elites=1", "planner.elites=2"]), "twice"),
    "settings without names": (lambda: wmel.run(settings={1: 8}), "1"),
    "settings that are a number": (lambda: wmel.run(settings=3), "3"),
    "a policy without a name": (lambda: wmel.run(policy={"elites": 4}), "{'elites': 4}"),
    "a perturbation without a name": (lambda: wmel.run(perturbation={"k": 2}, perturb_prob=1.0), "{'k': 2}"),
    "a model without a name": (lambda: wmel.cpg("maze_toy", [{"checkpoint": "m"}]), "None"),
    "a model with two names": (lambda: wmel.cpg("maze_toy", {"a": {"name": "b", "object": "x:y"}}), "'a' and 'b'"),
    "one value to sweep": (lambda: wmel.sweep(policy="cem", sweep={"planner.elites": 4}), "4"),
    "a text to sweep": (lambda: wmel.sweep(policy="cem", sweep="planner.elites=4"), "planner.elites=4"),
    "a sweep of nothing named": (lambda: wmel.sweep(policy="cem", sweep=["planner.elites"]), "planner.elites"),
    "a value that cannot be swept": (
        lambda: wmel.sweep(policy="cem", sweep={"planner.elites": [4, "x"]}), "planner 'cem'"
    ),
    "an environment that is a number": (lambda: wmel.environment(3), "3"),
    "no environment": (lambda: wmel.environment(None), "None"),
    "a run in a number": (lambda: wmel.run(3), "3"),
    "a gap in nothing": (lambda: wmel.cpg(None, "tests.experiments.still:dynamics"), "None"),
    "no policy": (lambda: wmel.run(policy=None), "None"),
    "a policy that is a number": (lambda: wmel.run(policy=3), "3"),
    "an objective that is a number": (lambda: wmel.run(policy="cem", objective=3), "3"),
    "an executor that is a number": (lambda: wmel.run(executor=3), "3"),
    "an executor of no name": (lambda: wmel.run(executor={"workers": 2}), "{'workers': 2}"),
    "workers of an object": (lambda: wmel.run(executor=wmel.Serial(), workers=2), "workers"),
    "workers given twice": (
        lambda: wmel.run(executor="processes", workers=1, settings={"executor.workers": 2}), "2 and 1"
    ),
    "a preset that is a number": (lambda: wmel.run(preset=3), "3"),
    "a preset that is a list": (lambda: wmel.run(preset=["paper"]), "paper"),
    "settings against a preset's": (
        lambda: wmel.run(policy="cem", preset="paper", settings={"planner.candidates": 4}), "the preset sets elites = 6"
    ),
    "no study": (lambda: wmel.study(None), "None"),
    "a live part in a study": (
        lambda: wmel.study({"name": "x", "environments": [{"name": "maze_toy", "given": True}]}), "'given'"
    ),
    "a live policy by name": (lambda: wmel.run(policy={"name": "cem", "given": True}), "'given'"),
    "a trainer that is not spelled right": (lambda: wmel.run(policy="cem", model="mlpp"), "did you mean 'mlp'?"),
    "a metric that is a number": (lambda: wmel.run(metrics=[3]), "3"),
    "metrics that are a number": (lambda: wmel.run(metrics=3), "3"),
    "a trainer that is a number": (lambda: wmel.train(3, "maze_toy", output="x"), "3"),
    "a trainer without a name": (lambda: wmel.train({"epochs": 3}, "maze_toy", output="x"), "{'epochs': 3}"),
    "a trainer's setting twice": (
        lambda: wmel.train({"name": "mlp", "epochs": 3}, "maze_toy", output="x", epochs=4), "3 and 4"
    ),
    "settings of parts a training has not": (
        lambda: wmel.train("mlp", "maze_toy", output="x", settings={"planner.elites": 3}), "planner.elites"
    ),
    "a training of nothing": (lambda: wmel.train("mlp", output="x"), "mlp"),
    "an output that is a number": (lambda: wmel.run(output=3), "3"),
    "a deadline that is text": (lambda: wmel.run(deadline_ms="x"), "'x'"),
    "nothing to load": (lambda: wmel.load(3), "3"),
    "nothing to report": (lambda: wmel.report(None), "None"),
    "nothing to show": (lambda: wmel.show(3), "3"),
    "nothing to compare": (lambda: wmel.compare(3, 4), "3"),
    "nothing to check": (lambda: wmel.check(3), "3"),
    "a check in a number": (lambda: wmel.check("cem", environment=3), "3"),
    "a policy for a number": (lambda: wmel.policy("cem", 3), "3"),
    "a policy of a number": (lambda: wmel.policy(3, catalog.environment("maze_toy")), "3"),
    "an objective of a number": (lambda: wmel.objective(3, catalog.environment("maze_toy")), "3"),
    "a training in a number": (lambda: wmel.train("mlp", 3, output="x"), "3"),
}  # fmt: skip


def _still(state, action):
    return state


@pytest.mark.parametrize(("call", "offending"), BAD.values(), ids=list(BAD))
def test_bad_input_is_refused_with_what_is_wrong(call, offending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WmelError) as refused:
        call()
    assert isinstance(refused.value, BadInput) and offending in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("settings", [{"planner": {"elites": 3}}, ["planner.=3"]])
def test_a_kind_that_is_spelled_right_is_not_suggested(settings):
    with pytest.raises(BadInput, match="is written as") as refused:
        wmel.run(policy="cem", settings=settings)
    assert "did you mean" not in str(refused.value)


def no_policy(environment):
    return 3


def needs_two(first, second):
    return first


@pytest.mark.parametrize("name", ["no_policy", "needs_two"])
def test_a_function_that_makes_no_policy_is_named(name):
    with pytest.raises(BadInput) as refused:
        wmel.policy(f"{__name__}:{name}", catalog.environment("maze_toy"))
    assert f"{__name__}:{name}" in str(refused.value)


def test_settings_may_be_texts_as_on_the_command_line():
    assert EntryBuilder.of(["planner.elites=8"]).settings["planner"] == {"elites": "8"}
    found = wmel.run(policy="cem", episodes=1, horizon=2, settings=["planner.elites=2", "planner.candidates=8"])
    assert found.record.metadata.planner["elites"] == 2


def test_none_can_be_swept():
    how = {"policy": "cem", "episodes": 1, "horizon": 2, "quiet": True, "settings": ["planner.candidates=8"]}
    found = wmel.sweep(sweep={"planner.elites": [2, "none"]}, **how)
    assert [row["elites"] for row in found.rows] == [None, 2]


def test_the_key_of_a_mapping_is_the_name_of_a_model():
    (entry,) = EntryBuilder.of(None).models({"m": {"checkpoint": "folder"}})
    assert entry == {"name": "m", "checkpoint": "folder"}


@pytest.mark.parametrize("executor", [{"name": "serial"}, wmel.Serial()])
def test_an_executor_is_a_table_or_an_object(executor):
    assert wmel.run(policy="random", episodes=2, executor=executor, quiet=True).exit_code == 0


def test_a_trainer_is_a_table_or_an_object(tmp_path):
    from wmel.training.mlp import MLPTrainer

    how = {"transitions": 60, "episode_steps": 20, "epochs": 1}
    for place, trainer in enumerate([{"name": "mlp", **how}, MLPTrainer(**how)]):
        wmel.train(trainer, "dmc_cartpole", output=tmp_path / f"{place}", quiet=True)
    weights = [(tmp_path / f"{place}" / "weights.safetensors").read_bytes() for place in range(2)]
    assert weights[0] == weights[1]


def test_a_sweep_of_horizons_runs_as_long_as_the_environment_allows(maze):
    (point,) = wmel.horizon_sweep(maze, lambda h: wmel.policy("random", maze), [3], episodes_per_point=1)
    assert point.run.horizon == maze.spec.max_steps and np.all(point.run.table["steps"] <= maze.spec.max_steps)


def test_an_environment_with_settings_of_its_own_runs_as_it_was_made(monkeypatch):
    offered = {"room": Part("tests.experiments.swept_parts:Room", "", "a plugin")}
    monkeypatch.setattr("wmel.parts._plugins", lambda group: offered if group == "wmel.environments" else {})
    world = wmel.environment("room", length=6)
    found = wmel.run(world, "cem", episodes=1, horizon=8, quiet=True)
    assert found.record.metadata.layout == "S....G"
