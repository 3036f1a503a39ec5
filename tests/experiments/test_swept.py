"""Whatever is swept, of whatever kind, is a label, a column and an axis; whatever was run or read is reported."""

import json
from pathlib import Path

import pytest

import wmel
from wmel.experiments.expand import study_of
from wmel.experiments.spec import parse_study
from wmel.reports.study_curves import study_curves
from wmel.reports.study_readings import reading_curves

PARTS = "tests.experiments.swept_parts"
MAZE = {"name": "maze_toy"}
CEM = {"name": "cem", "candidates": 4, "iterations": 1, "plan_horizon": 3}
STILL = {"name": "still", "object": "tests.experiments.still:dynamics"}


def study_data(**lists):
    return {"name": "swept", "episodes": 2, "horizon": 5, "environments": [MAZE], **lists}


@pytest.fixture
def reported(tmp_path):
    """A study, run and reported: its result, results.json, report.md and report.html."""

    def run(**lists):
        wmel.study(study_data(**lists), output=tmp_path / "store", quiet=True)
        result = wmel.report(tmp_path / "store", quiet=True)
        record, text, page = (tmp_path / "store" / name for name in ("results.json", "report.md", "report.html"))
        return result, json.loads(record.read_text()), text.read_text(), page.read_text()

    return run


def names_of(**lists):
    return [cell.setting_name for cell in study_of(parse_study(study_data(**lists))).cells if cell.arm.name == "oracle"]


ESNR = {"name": "esnr", "states": 2, "samples": 4, "plan_horizon": 2}
CHECKPOINT = Path(__file__).parents[1] / "golden" / "version_2_0" / "checkpoint_latent"
POLE = {
    "environments": [{"name": "dmc:cartpole-swingup"}],
    "criteria": [{"criterion": "reward>=0.1"}],
    "models": [{"name": "latent", "checkpoint": str(CHECKPOINT)}],
}


def test_a_swept_diagnostic_has_a_reading_of_each_model_and_of_the_oracle_at_every_value(reported):
    swept = {**ESNR, "methods": ["zog"], "sigma": {"sweep": [0.2, 0.5]}}
    result, record, text, page = reported(**POLE, diagnostics=[swept])
    found = [(one["arm"], one["labels"]["diagnostic_sigma"]) for one in record["readings"]]
    assert sorted(found) == [("latent", 0.2), ("latent", 0.5), ("oracle", 0.2), ("oracle", 0.5)]
    assert [one.readings[0].settings["sigma"] for one in result.readings] == [0.2, 0.5]
    assert result.table.filter(diagnostic="esnr")["diagnostic_sigma"].to_list() == [0.2, 0.2, 0.5, 0.5]
    assert "| 0.2 | latent | zog |" in text and ">Readings</h2>" in page and 'id="reading-0"' in page
    (curve,) = reading_curves(result.record)
    assert curve.values == [0.2, 0.5] and {len(points) for points in curve.lines.values()} == {2}


def test_the_oracle_is_read_by_every_swept_method(reported):
    _, record, *_ = reported(**POLE, diagnostics=[{**ESNR, "methods": {"sweep": [["zog"], ["cem"]]}}])
    methods = {arm: [one["words"]["method"] for one in record["readings"] if one["arm"] == arm] for arm in
               ("oracle", "latent")}  # fmt: skip
    assert methods == {"oracle": ["zog", "cem"], "latent": ["zog", "cem"]}


def test_a_reading_that_failed_is_missing_with_its_reason(reported):
    _, record, *_ = reported(diagnostics=[{"name": f"{PARTS}:Unreadable"}])
    (missing,) = record["missing"]
    assert "Unreadable" in missing["cell"] and "nothing to read" in missing["reason"]


def test_the_numbers_a_plugin_diagnostic_returns_are_reported(reported):
    swept = {"name": f"{PARTS}:Lengths", "factor": {"sweep": [1.0, 3.0]}}
    result, record, text, page = reported(diagnostics=[swept])
    assert [one["values"]["length"]["value"] for one in record["readings"]] == [60, 180]
    assert record["readings"][0]["values"]["unknown"]["value"] is None
    assert result.table["length"].to_list() == [60, 180] and result.table["diagnostic_factor"].to_list() == [1, 3]
    assert "| 3.0 | oracle | 180 |" in text and "reading-0" in page


def test_policies_are_reported_with_their_scorecards(reported):
    march = {"name": f"{PARTS}:March", "action": {"sweep": [1, 2]}}
    result, record, text, page = reported(policies=[march], planners=[CEM])
    (alone,) = record["uncompared"]
    assert set(alone["scorecards"]) == {f"{PARTS}:March[action=1]", f"{PARTS}:March[action=2]", "random"}
    assert result.table["action"].drop_nulls().to_list() == [1, 2]
    assert "| action |" in text and "March[action=2]" in text and "March[action=2]" in page.replace("<wbr>", "")
    assert "policy: march\n" in text  # the swept setting is that of an arm, not of all
    (curve,) = study_curves(result.record)
    assert curve.label == "action" and [point.at for point in curve.success[f"{PARTS}:March"]] == [1, 2]


def test_one_name_swept_by_two_kinds_is_qualified_by_the_kind(reported):
    planner = {"name": f"{PARTS}:Weighted", "weight": {"sweep": [1, 2]}, "plan_horizon": {"sweep": [3]}}
    objective = {"name": f"{PARTS}:Near", "weight": {"sweep": [1.0, 3.0]}}
    result, record, *_ = reported(planners=[planner], objectives=[objective])
    labels = [one["labels"] for one in record["comparisons"]]
    assert {(one["planner.weight"], one["objective.weight"]) for one in labels} == {(1, 1), (1, 3), (2, 1), (2, 3)}
    assert all(one["plan_horizon"] == 3 for one in labels)
    assert len({one["name"] for one in record["comparisons"]}) == 4
    assert {"planner.weight", "objective.weight"} <= set(result.table.columns) & set(result.to_polars().columns)
    curve_labels = [curve.label for curve in study_curves(result.record)]
    assert sorted(curve_labels) == ["objective.weight"] * 2 + ["planner.weight"] * 2


def test_a_setting_of_a_plugin_environment_is_an_axis(reported):
    world = {"name": f"{PARTS}:corridor", "length": {"sweep": [4, 5]}, "max_steps": {"sweep": [4, 6]}}
    result, *_ = reported(environments=[world], planners=[CEM])
    curve_labels = [(curve.label, curve.values) for curve in study_curves(result.record)]
    assert curve_labels == [("length", [4, 5])] * 2 + [("max_steps", [4, 6])] * 2


def test_words_are_places_on_an_axis_without_a_line(reported):
    judged = [{"criterion": {"sweep": ["distance<=1", "distance<=9"]}}]
    result, _, _, page = reported(planners=[CEM], criteria=judged)
    (curve,) = study_curves(result.record)
    assert curve.values == ["distance<=1", "distance<=9"] and "curve-0" in page
    from wmel.reports.figures import curves

    (figure,) = curves(result.record)
    assert figure.layout.xaxis.type == "category" and {trace.mode for trace in figure.data} == {"markers"}


def test_lists_and_numbers_swept_of_a_recipe_are_lines_of_one_model(reported):
    recipe = {"trainer": "mlp", "epochs": 1, "hidden": {"sweep": [[4], [8, 8]]}, "batch": {"sweep": [8, 16]}}
    result, record, *_ = reported(models=[{"name": "m", **recipe}], planners=[CEM])
    (comparison,) = record["comparisons"]
    assert set(comparison["gaps"]) == {f"m[hidden={one},batch={size}]" for one in ("4", "8-8") for size in (8, 16)}
    curve_labels = {curve.label: curve for curve in study_curves(result.record)}
    assert set(curve_labels["batch"].gap) == {"m, hidden=4", "m, hidden=8-8"}
    assert curve_labels["hidden"].values == ["4", "8-8"] and {
        len(points) for points in curve_labels["hidden"].gap.values()
    } == {2}
    assert set(result.table["hidden"]) == {"4", "8-8"} and set(result.table["batch"]) == {8, 16}


def test_swept_tables_are_named_without_a_repr():
    policy = {"sweep": [{"name": "random"}, {"name": "native", "candidates": 16}]}
    cells = study_of(parse_study(study_data(models=[{**STILL, "policy": policy}]))).cells
    named = {cell.arm.name: cell.labels["policy"] for cell in cells if cell.arm.model}
    assert named == {"still[policy=random]": "random", "still[policy=native-candidates=16]": "native-candidates=16"}


def test_swept_settings_are_columns_of_gaps_cells_and_episodes(reported):
    planner = {**CEM, "plan_horizon": {"sweep": [3, 4]}, "elites": {"sweep": [1, 2]}}
    result, *_ = reported(models=[STILL], planners=[planner])
    for table in (result.table, result.cells, result.episodes, result.to_polars()):
        assert set(table["plan_horizon"].drop_nulls()) == {3, 4} and set(table["elites"].drop_nulls()) == {1, 2}


def test_a_swept_setting_at_its_default_is_in_the_name():
    struck = {"name": "drop-next", "k": {"sweep": [1, 2]}}
    first, second = names_of(planners=[CEM], perturbations=[struck])
    assert first.endswith("drop-next/perturbation_k=1") and second.endswith("drop-next-k=2")
