"""A sweep of any settings is sorted, recorded, described and drawn."""

from dataclasses import replace

import pytest

import wmel
from tests.conftest import says
from tests.experiments.plain_planner import Plain
from tests.experiments.swept_parts import Near, corridor
from wmel.errors import BadInput
from wmel.reports.records import recorded_sweep, sweep_record
from wmel.reports.run_report import sweep_document
from wmel.schema import SweepPoint

PARTS = "tests.experiments.swept_parts"
CEM = {"planner.candidates": 4, "planner.iterations": 1, "planner.plan_horizon": 3}


def swept(sweep, settings=CEM, policy="cem", episodes=2, **more):
    return wmel.sweep(policy=policy, sweep=sweep, episodes=episodes, settings=settings, quiet=True, **more)


def headline_of(result) -> str:
    """What all points share, in a line."""
    (shared,) = result.document().shared
    return shared.words


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
    headline = headline_of(result)
    assert words not in headline
    assert next(iter(sweep)).partition(".")[2] not in result.record.metadata.planner


LIVE = {  # kind -> a live part of it, and a setting to sweep
    "planner": ({"policy": Plain()}, "candidates"),
    "environment": ({"environment": corridor()}, "length"),
    "objective": ({"objective": Near(wmel.environment("maze_toy"))}, "weight"),
    "perturbation": ({"perturbation": wmel.perturbation("composite:drop-next-2+hold-last-1")}, "k"),
}


@pytest.mark.parametrize("kind", LIVE)
@pytest.mark.parametrize("name", ["setting", "unknown"])
def test_an_object_has_its_settings_and_none_is_swept(kind, name):
    part, known = LIVE[kind]
    setting = known if name == "setting" else name
    with pytest.raises(BadInput) as refused:
        wmel.sweep(**{"policy": "cem", **part}, sweep={f"{kind}.{setting}": [1, 2]}, episodes=1, quiet=True)
    assert says(str(refused.value), f"{kind} is an object ... {setting}")


def test_a_sweep_overrides_what_comes_from_the_preset():
    result = wmel.sweep(policy="cem", preset="paper", plan_horizons=[2, 3], episodes=1, horizon=3, quiet=True)
    assert [row["plan_horizon"] for row in result.rows] == [2, 3]
    with pytest.raises(BadInput, match="given and swept: leave out 4"):
        wmel.sweep(policy="cem", preset="paper", plan_horizons=[2, 3], settings={"planner.plan_horizon": 4})


def test_a_setting_with_the_name_of_a_column_is_qualified(tmp_path):
    result = swept({"planner.steps": [1, 2]}, None, f"{PARTS}:Stepped", horizon=5, output=tmp_path / "s.json")
    for one in (result, wmel.load(tmp_path / "s.json")):
        assert one.table["planner.steps"].to_list() == [1, 2] and "steps" in one.table.columns
        assert "planner.steps" in str(one)
        assert [point.swept for point in one.record.points] == [{"planner.steps": 1}, {"planner.steps": 2}]


@pytest.mark.parametrize("values", ["1,01", ["1", 1], ["none", None]])
def test_values_are_parsed_before_they_are_compared(values):
    with pytest.raises(BadInput, match=r"planner\.elites must differ"):
        swept({"planner.elites": values})


def test_how_often_and_when_a_perturbation_strikes_is_swept():
    sweep = {"perturbation.probability": "0.5,1", "perturbation.step": "1,4"}
    result = swept(sweep, perturbation="drop-next-2", episodes=1, horizon=5)
    assert [list(point.swept.values()) for point in result.points] == [[0.5, 1], [0.5, 4], [1, 1], [1, 4]]
    assert (
        swept({"perturbation.probability": "0.5,1"}, episodes=1, horizon=5).rows[0]["perturbation_probability"] == 0.5
    )
    with pytest.raises(BadInput, match=r"'drop-next': probability.*got 2"):
        swept({"perturbation.probability": "0.5,2"}, perturbation="drop-next-2")


def test_a_swept_length_of_episodes_is_not_in_the_headline():
    headline = headline_of(swept({"environment.max_steps": [4, 6]}))
    assert "per point" in headline and "at most" not in headline
    assert "at most 3 steps" in headline_of(swept({"environment.max_steps": [4, 6]}, horizon=3))


def test_a_swept_share_of_episodes_is_not_in_the_headline():
    result = swept({"perturbation.probability": [0.5, 1]}, perturbation="drop-next-2", episodes=1, horizon=5)
    headline = headline_of(result)
    assert "drop-next" in headline and "%" not in headline


def test_settings_of_the_environments_own_objective_are_given_and_swept():
    how = {"environment": "dmc_cartpole", "policy": "cem", "episodes": 1, "horizon": 2, "quiet": True}
    pytest.importorskip("dm_control")
    made = wmel.run(**how, settings={**CEM, "objective.action_weight": 3})
    assert made.record.metadata.objective["action_weight"] == 3
    assert made.record.metadata.objective["name"] == wmel.environment("dmc_cartpole").spec.objectives[0]
    found = wmel.sweep(**how, settings=CEM, sweep={"objective.action_weight": "0,1"})
    assert [row["action_weight"] for row in found.rows] == [0, 1]
    with pytest.raises(BadInput, match="objective"):
        wmel.run("dmc_cartpole", "random", settings={"objective.action_weight": 3})


def test_a_swept_model_is_not_in_the_headline():
    points = swept({"planner.elites": [1, 2]}, horizon=3).points
    runs = [
        replace(one.run, policy_settings={**one.run.policy_settings, "model": f"m{n}"}) for n, one in enumerate(points)
    ]
    named = [SweepPoint({"rollout": word}, run) for word, run in zip(("latent", "decoded"), runs, strict=True)]
    record = sweep_record(named, epsilon=0.01)
    assert record.metadata.model is None
    (headline,) = sweep_document(record, recorded_sweep(record)).shared
    assert "model:" not in headline.words


@pytest.mark.parametrize("criterion", ["criterion", "criterion.criterion"])
def test_the_criterion_is_swept_and_is_not_in_the_headline(criterion):
    result = swept({criterion: ["distance<=0", "distance<=3"]}, CEM)
    assert result.table["criterion"].to_list() == ["distance<=0", "distance<=3"]
    assert result.table["success"][0] <= result.table["success"][1]
    assert "success:" not in headline_of(result)


def test_a_trainer_is_a_model_and_its_settings_are_given_and_swept(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("dm_control")
    settings = {**CEM, "trainer.epochs": 1, "trainer.transitions": 60}
    how = {"environment": "dmc_cartpole", "model": "mlp", "episodes": 1, "horizon": 3}
    result = swept({"trainer.hidden": "4;4,4"}, settings, output=tmp_path, **how)
    assert result.table["hidden"].to_list() == ["4", "4-4"]
    trained = [dict(cell.arm.model["trainer"]) for cell in result.store.manifest().cells]
    assert [one["hidden"] for one in trained] == [[4], [4, 4]]
    assert all(one["epochs"] == 1 and one["transitions"] == 60 for one in trained)
    with pytest.raises(BadInput, match="did you mean 'hidden'"):
        swept({"trainer.hiden": [[4], [5]]}, settings, **how)
    with pytest.raises(BadInput, match="no trainer"):
        swept({"trainer.hidden": [[4], [5]]}, CEM)


def test_a_swept_metric_is_a_column_for_each_value_beside_the_horizons():
    result = wmel.sweep(metrics=["success@"], sweep={"metric.steps": "10,60"}, plan_horizons=[2, 20], episodes=2)
    cards = result.sweep.scorecards
    assert [point.plan_horizon for point in result.points] == [2, 20]
    assert all(card["success@60"] == card["success_rate"] or card["success@60"].value == card["success_rate"].value
               for card in cards)  # fmt: skip
    assert all({"success@10", "success@60"} <= card.estimates.keys() for card in cards)


def test_an_executor_is_not_swept():
    with pytest.raises(BadInput, match=r"executor\.workers cannot be swept"):
        swept({"executor.workers": [1, 2]})
