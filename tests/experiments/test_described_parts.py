"""Records hold every part as {name, **settings}: what was run can be built again from them."""

import pytest

import wmel
from wmel import catalog

TINY = {"episodes": 2, "horizon": 8, "quiet": True}


def test_a_record_of_a_run_holds_its_parts_in_full():
    made = wmel.run("maze_toy", {"name": "cem", "elites": 4}, perturbation="drop-next-3", **TINY)
    parts = made.record.metadata.parts
    assert parts["planner"] == {**catalog.PLANNERS.spec("cem", {"elites": 4}).resolved}
    assert parts["environment"]["name"] == "maze_toy"
    assert parts["perturbation"] == {"name": "drop-next", "k": 3, "probability": 1.0, "step": None}
    again = wmel.run(parts["environment"], parts["planner"], perturbation="drop-next-3", **TINY)
    assert (again.episodes["steps"] == made.episodes["steps"]).all()


def test_settings_of_an_environment_are_in_the_record():
    pytest.importorskip("dm_control")
    made = wmel.run("dmc:cartpole-swingup", "random", settings={"environment.action_repeat": 2}, **TINY)
    world = made.record.metadata.parts["environment"]
    assert world["name"] == "dmc:cartpole-swingup" and world["action_repeat"] == 2
    assert made.record.metadata.parts["policy"] == {"name": "random"}


def test_a_reading_and_a_card_hold_theirs(tmp_path):
    pytest.importorskip("dm_control")
    from wmel.training.checkpoints import read_card

    wmel.train("mlp", "dmc:cartpole-swingup", transitions=40, epochs=1, output=tmp_path / "m", quiet=True)
    trainer = read_card(tmp_path / "m")["trainer"]
    assert trainer["name"] == "mlp" and trainer["epochs"] == 1 and trainer["hidden"] == [64, 64]
    how = {"states": 2, "samples": 4, "plan_horizon": 3, "methods": ("zog",), "oracle": False}
    made = wmel.esnr("dmc:cartpole-swingup", {"m": tmp_path / "m"}, objective="task-reward", quiet=True, **how)
    assert made.record.parts["diagnostic"]["plan_horizon"] == 3
    assert made.record.parts["objective"] == {"name": "task-reward", "discount": 1.0, "action_weight": 0.0}
