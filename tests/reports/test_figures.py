import json
import math
from typing import Any

import pytest

from tests.reports.study_records import HOSTILE, many_gaps, one_gap, study, trained_on_more
from wmel.analysis.verdict import Label

pytest.importorskip("plotly", reason="the figures need plotly: install wmel[report]")

from wmel.reports.figure_style import MARKS
from wmel.reports.figures import curves, forest, intervals_figure
from wmel.reports.html import figure_json
from wmel.reports.small_svg import Intervals
from wmel.reports.study_curves import study_curves
from wmel.stats.estimate import Estimate


def traces(figure) -> list[Any]:
    return list(figure.data)


def perturbed(name: str | None, probability: float):
    """The first comparison under a perturbation that strikes so often."""
    first = study().comparisons[0]
    metadata = {"perturbation": name, "perturb_prob": probability, "plan_horizon": 15}
    return first.model_copy(
        update={
            "labels": {"perturbation_probability": probability},
            "setting": first.setting.model_copy(update=metadata),
            "name": f"{name}-{probability}",
        }
    )


@pytest.mark.parametrize(("record", "count"), [(one_gap, 1), (study, 12), (lambda: many_gaps(100), 100)])
def test_a_forest_has_one_row_for_each_gap_and_grows_with_them(record, count):
    figure = forest(record())
    assert sorted(row for trace in traces(figure) for row in trace.y) == list(range(count))
    assert len(figure.layout.yaxis.ticktext) == count
    assert figure.layout.height >= 26 * count


def test_the_points_and_bars_of_a_forest_are_the_gaps_and_their_intervals():
    (trace,) = traces(forest(one_gap()))
    gap = one_gap().comparisons[0].gaps["mlp"]
    assert trace.x[0] == gap.gap
    assert math.isclose(trace.x[0] + trace.error_x.array[0], gap.gap_ci_high)
    assert math.isclose(trace.x[0] - trace.error_x.arrayminus[0], gap.gap_ci_low)


def test_verdicts_differ_in_colour_or_symbol_and_every_label_has_a_mark():
    assert set(MARKS) == set(Label)
    assert len(set(MARKS.values())) == len(Label)
    names = [trace.name for trace in traces(forest(study()))]
    assert len(names) == len(set(names)) == 5


def test_zero_lies_within_every_forest():
    for record in (one_gap(), study()):
        low, high = forest(record).layout.xaxis.range
        assert low < 0 < high


def test_a_study_without_gaps_draws_nothing_and_does_not_break():
    empty = study(comparisons=[])
    assert not forest(empty).data and not curves(empty)


def test_there_is_one_curve_for_each_environment_with_a_line_for_each_arm():
    figures = curves(study())
    assert len(figures) == 2
    for figure in figures:
        names = [trace.name for trace in traces(figure)]
        assert names == ["oracle", "mlp", "large-mlp", "random", "mlp", "large-mlp"]
        assert all(tuple(trace.x) == (5, 15, 200) for trace in traces(figure))
        assert "steps" in figure.layout.xaxis.title.text
        assert "share of episodes" in figure.layout.yaxis.title.text and figure.layout.yaxis2.title.text


def test_a_label_that_does_not_move_or_is_no_number_has_no_curve():
    assert curves(one_gap()) == []
    named = [one.model_copy(update={"labels": {"plan_horizon": "far"}}) for one in study().comparisons]
    assert curves(study(comparisons=named)) == []


def test_comparisons_that_differ_elsewhere_are_not_joined():
    first, second, _ = study().comparisons[:3]
    assert len(study_curves(study(comparisons=[first, second]))) == 1
    assert study_curves(study(comparisons=[first, said_of(second, evaluations=999)])) == []


def said_of(comparison, **changes):
    return comparison.model_copy(update={"setting": comparison.setting.model_copy(update=changes)})


@pytest.mark.parametrize(("candidates", "is_joined"), [(24, 1), (333, 0)])
def test_comparisons_of_planners_as_data_are_joined_where_only_the_swept_setting_differs(candidates, is_joined):
    first, second, _ = study().comparisons[:3]
    one = said_of(first, planner={"name": "cem", "plan_horizon": 5, "candidates": 24})
    other = said_of(second, planner={"name": "cem", "plan_horizon": 15, "candidates": candidates})
    assert len(study_curves(study(comparisons=[one, other]))) == is_joined


def test_models_trained_on_more_are_a_curve_with_the_oracle_flat_beside_them():
    (curve,) = study_curves(trained_on_more())
    assert curve.label == "transitions" and curve.values == [500, 50_000]
    assert list(curve.success) == ["oracle", "mlp", "random"] and list(curve.gap) == ["mlp"]
    assert len({point.value for point in curve.success["oracle"]}) == 1
    assert curves(trained_on_more())[0].layout.xaxis.type == "log"


def test_what_nothing_strikes_is_the_start_of_every_perturbations_curve():
    comparisons = [perturbed(None, 0.0), perturbed("drop-next-5", 1.0), perturbed("hold-last-3", 1.0)]
    is_joined = study_curves(study(comparisons=comparisons))
    assert [curve.values for curve in is_joined] == [[0, 1], [0, 1]]
    assert "drop-next-5" in is_joined[0].where and "hold-last-3" in is_joined[1].where


def test_an_undefined_success_is_left_out_and_not_drawn_as_zero():
    first, second, third = study().comparisons[:3]
    card = second.scorecards["mlp"]
    undefined = card.estimates["success_rate"].model_copy(update={"value": None, "low": None, "high": None})
    card = card.model_copy(update={"estimates": {**card.estimates, "success_rate": undefined}})
    second = second.model_copy(update={"scorecards": {**second.scorecards, "mlp": card}})
    (curve,) = study_curves(study(comparisons=[first, second, third]))
    assert [point.at for point in curve.success["mlp"]] == [5, 200]


def test_hostile_names_cannot_leave_a_script_element():
    record = study(models=(HOSTILE, "mlp"))
    for figure in (forest(record), *curves(record)):
        text = figure_json(figure)
        assert "<" not in text
        assert json.loads(text)["layout"]["height"] == figure.layout.height


def test_intervals_stand_in_the_order_of_their_table_from_the_top():
    rows = {name: Estimate(share, share - 0.1, share + 0.1) for name, share in (("oracle", 0.9), ("mlp", 0.2))}
    axis = intervals_figure(Intervals(rows, "success")).layout.yaxis
    assert axis.ticktext == ("oracle", "mlp") and axis.tickvals == (0, 1) and axis.autorange == "reversed"
