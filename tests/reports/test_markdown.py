from tests.analysis.tables import table
from wmel.analysis.horizon import HorizonSweep
from wmel.analysis.scorecard import scorecard
from wmel.reports.markdown import to_markdown_horizon_sweep, to_markdown_scorecard

CARD = scorecard(
    "tabular-world-model",
    table(success=[True] * 30, steps=[31] * 30, first_success_step=[31] * 30, declared_compute=[8000.0] * 30),
)


def test_a_sweep_has_the_documents_columns():
    text = to_markdown_horizon_sweep(HorizonSweep("tabular-world-model", (15,), (CARD,)))
    lines = text.splitlines()
    assert lines[0] == "### Horizon sweep: `tabular-world-model`"
    assert lines[2] == (
        "| plan_horizon | success_rate | success_95ci | avg_steps | latency_ms_per_call | latency_95ci "
        "| compute_per_decision |"
    )
    assert lines[4] == "| 15 | 1.000 | [0.886, 1.000] | 31.0 | n/a | n/a | 258.065 |"
    assert "H* = 15" in lines[-1]


def test_a_scorecard_says_n_a_and_why():
    text = to_markdown_scorecard(CARD)
    assert "| success_rate | 1.000 | [0.886, 1.000] | 30 | wilson |" in text
    assert "| average_planning_latency_ms | n/a | n/a | 0 | no decision was timed |" in text
