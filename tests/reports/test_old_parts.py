"""Records of schema 2.0 hold planners and objectives as text, which no reader should see."""

import json
from pathlib import Path

import pytest

from wmel.reports.cells import part_data
from wmel.reports.markdown import render_markdown
from wmel.reports.records import RECORD
from wmel.reports.study_gaps import study_gaps
from wmel.reports.study_report import study_document

GOLDEN = Path(__file__).parents[1] / "golden" / "version_2_0"


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("Upright(cosines=(1,), reduction=ClosestApproach(), name='upright')", {"name": "upright"}),
        ("SmoothUpright(cosines=(1,), reduction=DiscountedSum(rate=1.0), name='smooth-upright')",
         {"name": "smooth-upright"}),
        ("RandomShooting(horizon=6, candidates=8, knots=None, warm_start=False)",
         {"name": "random-shooting", "plan_horizon": 6, "candidates": 8}),
        ("CEM(horizon=100, elites=None, smoothing=0.1, knots=20, warm_start=True)",
         {"name": "cem", "plan_horizon": 100, "smoothing": 0.1, "knots": 20, "warm_start": True}),
        ("MyPlanner(depth=3)", {"name": "MyPlanner", "depth": 3}),
        ("model-reward", {"name": "model-reward"}),
        ("a (b", {"name": "a (b"}),
    ],
)  # fmt: skip
def test_the_text_of_a_part_is_its_name_with_its_settings(text, data):
    assert part_data(text) == data and part_data(data) is data


def test_a_report_of_an_old_record_shows_no_python():
    record = RECORD.validate_json((GOLDEN / "results.json").read_text())
    assert "RandomShooting(" in json.dumps(record.model_dump(mode="json"))
    page = render_markdown(study_document(record))
    assert "reduction=" not in page and "RandomShooting" not in page and "random-shooting" in page
    assert all("planned with random-shooting" in gap.judged.where for gap in study_gaps(record))
