"""A study that sweeps a setting of its planner has curves in its report."""

import pytest

import wmel
from wmel.reports.study_curves import study_curves


def swept(**planner):
    return {
        "name": "swept",
        "episodes": 4,
        "horizon": 20,
        "environments": [{"name": "maze_toy"}],
        "models": [{"name": "still", "object": "tests.experiments.still:dynamics"}],
        "planners": [{"name": "cem", "candidates": 12, "iterations": 2, "plan_horizon": 5, **planner}],
    }


SWEPT = {"plan_horizon": [3, 6], "elites": [2, 4], "candidates": [8, 16], "smoothing": [0.1, 0.5]}


@pytest.mark.parametrize(("label", "values"), SWEPT.items())
def test_a_swept_setting_is_a_curve(tmp_path, label, values):
    study = swept(**{label: {"sweep": values}})
    result = wmel.study(study, output=tmp_path / "store", quiet=True)
    assert result.exit_code == 0 and len(result.rows) == 2
    (curve,) = [one for one in study_curves(result.record) if one.label == label]
    points_at = {point.at for points in curve.success.values() for point in points}
    assert points_at == set(values)
    shown = wmel.report(tmp_path / "store", quiet=True)
    assert label in (tmp_path / "store" / "report.md").read_text()
    assert shown.exit_code == 0 and (tmp_path / "store" / "report.html").exists()


def test_two_swept_settings_are_curves_at_each_value_of_the_other(tmp_path):
    study = swept(plan_horizon={"sweep": [3, 6]}, elites={"sweep": [2, 4]})
    result = wmel.study(study, output=tmp_path / "store", quiet=True)
    labels = [one.label for one in study_curves(result.record)]
    assert labels.count("plan_horizon") == 2 and labels.count("elites") == 2
