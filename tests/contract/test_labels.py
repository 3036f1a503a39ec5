"""Labels name what is swept, and say where it stands in one word or number."""

import pytest

from wmel.contract.cell import Arm, Cell, Task, label_columns, label_value, swept_setting


@pytest.mark.parametrize(
    ("value", "shown"),
    [([4, 8], "4-8"), ([4], "4"), (3, 3), (None, None), ({"name": "native", "candidates": 16}, "native-candidates=16")],
)
def test_a_label_is_one_word_or_number(value, shown):
    assert label_value(value) == shown


def test_a_column_has_one_type_and_no_name_that_is_taken():
    rows = label_columns([{"steps": 3, "elites": "all"}, {"elites": 4}], {"steps": "environment.steps"}, ["steps"])
    assert rows == [{"environment.steps": 3, "elites": "all"}, {"environment.steps": None, "elites": "4"}]


@pytest.mark.parametrize(
    ("label", "setting"),
    [
        ("perturbation_k", ("perturbation", "k")),
        ("criterion_success", ("criterion", "criterion")),
        ("init", ("environment", "init")),
        ("elites", ("planner", "elites")),
    ],
)
def test_a_label_of_an_earlier_store_is_of_the_setting_it_is_named_after(label, setting):
    parts = {"environment": {"name": "maze_toy", "init": "fixed"}, "planner": {"name": "cem"}}
    assert swept_setting(label, parts, {}) == setting


def test_a_cell_is_read_with_spaces_and_stored_with_its_name():
    planner = {"name": "cem", "plan_horizon": 5, "candidates": 16}
    push = {"name": "action-noise", "sigma": 0.2}
    task = Task({"name": "maze_toy"}, perturbation=push, probability=0.5, step=3)
    cell = Cell(task, Arm("oracle", planner, execute=2), seed=1, episodes=4)
    assert cell.label == (
        "maze_toy cem plan_horizon=5 candidates=16 execute=2 action-noise sigma=0.2 with 0.5 from 3, oracle"
    )
    assert cell.name == (
        "maze_toy/cem-plan_horizon=5-candidates=16-execute=2/action-noise-sigma=0.2-with-0.5-from-3/oracle/seed-1"
    )
    assert Cell(task, Arm("random", policy={"name": "random"}), 0, 4).label.endswith("from 3, random")
