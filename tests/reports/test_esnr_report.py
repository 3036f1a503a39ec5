"""ESNR readings as words, tables and a page."""

import pytest

from wmel.reports.analysis_record_types import EsnrRecord
from wmel.reports.esnr_report import esnr_document, esnr_sentences
from wmel.reports.html import render_html
from wmel.reports.markdown import render_markdown


def estimate(value, low=None, high=None, reason=""):
    return {"value": value, "low": low, "high": high, "n": 4, "method": "", "reason": reason}


def reading(model, method, per_rollout, cosine=None, **changed):
    aligned = cosine and {"cosine": estimate(*cosine), "against_share": 0.5, "unresolved_share": 0.0}
    settings = {"samples": 8, "horizon": 3, "actions": "clamped", "sigma": 0.5}
    numbers = {"raw": 1.0, "gaussian": 1.0, "jackknife": 1.0, "median": 1.0, "dominance": 0.1, "effective_elites": None}
    shares = dict.fromkeys(("dead_share", "infinite_share", "broken_share", "flat_share", "out_of_range_share"), 0.0)
    entry = {
        "model": model, "weights": None, "method": method, "settings": settings, "esnr": estimate(*per_rollout),
        "esnr_per_rollout": estimate(*per_rollout), "pooled": estimate(1.0), "alignment": aligned or None,
        "rollouts_per_gradient": 1, "model_steps": 10, "seconds": 0.1, "per_state": [1.0, None],
        "cosine_per_state": [0.5, -0.5] if aligned else None,
    }  # fmt: skip
    return {**numbers, **shares, **entry, **changed}


def record(*readings, differences=()):
    return EsnrRecord.model_validate(
        {
            "schema_version": "2.0", "wmel_version": "0", "generated_at": "2026-01-01T00:00:00Z", "kind": "esnr",
            "environment": "<b>world</b>", "objective": "o", "source": "s", "versions": {},
            "states": [{"episode_seed": 1, "step": 2}, {"episode_seed": 2, "step": 0}],
            "readings": list(readings), "differences": list(differences),
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([reading("m", "fog", (5, 4, 6)), reading("m", "zog", (1, 0.5, 2))], "fog) carry the most usable signal"),
        ([reading("m", "fog", (5, 1, 9)), reading("m", "zog", (3, 2, 4))], "fog is not told apart from zog"),
        ([reading("m", "fog", (0.1, -1, 1)), reading("m", "zog", (0, -1, 1))], "no interval lies above 0"),
        ([reading("m", "fog", (None, None, None, "dead")), reading("m", "zog", (3, 2, 4))], "only zog has a ratio"),
        (
            [
                reading("m", "fog", (0.5, 0.4, 0.6)),
                reading("m", "zog", (0.2, 0.1, 0.3)),
                reading("m", "cem", (0.1, 0, 0.9)),
            ],
            "fog is not told apart from cem",
        ),
        (
            [reading("m", "fog", (0.5, -0.1, 1)), reading("m", "zog", (0.05, 0.04, 0.06))],
            "fog is not told apart from zog",
        ),
        ([reading("m", "fog", (5,)), reading("m", "zog", (1,))], "without an interval for fog and zog: fog 5, zog 1"),
        ([reading("m", "fog", (5,), (-0.2,))], "too few episodes to say where its gradients point"),
        ([reading("m", "zog", (5, 4, 6))], "too few to correct the bias"),
        ([reading("oracle", "zog", (5, 4, 6))], "levels have no slope"),
        ([reading("m", "fog", (5, 4, 6), (-0.5, -0.8, -0.2))], "point against the truth"),
        ([reading("m", "fog", (5, 4, 6), (0.1, -0.2, 0.4))], "not shown to point the way"),
        ([reading("m", "fog", (5, 4, 6), (0.8, 0.7, 0.9))], "way of the truth on average"),
        ([reading("m", "fog", (5, 4, 6), (0.8, 0.7, 0.9))], "against it at 50% of the resolved states"),
        ([reading("m", "fog", (5, 4, 6), dead_share=0.25)], "25% of the coordinates never have a gradient"),
        ([reading("m", "zog", (5, 4, 6), broken_share=0.005)], "0.50% of the gradients are NaN"),
        ([reading("m", "fog", (5, 4, 6))], "no truth here to compare directions with"),
    ],
)
def test_sentences_claim_what_the_intervals_allow(rows, words):
    assert any(words in sentence for sentence in esnr_sentences(record(*rows)))


@pytest.mark.parametrize(
    ("interval", "words"), [((1, 2), "gradients of a carry more"), ((-2, -1), "of b carry"), ((-1, 1), "not told")]
)
def test_a_difference_is_named_only_if_its_interval_leaves_0(interval, words):
    one = {"model": "a", "other": "b", "method": "fog", "estimate": estimate(0.0, *interval)}
    rows = [reading("a", "fog", (5, 4, 6)), reading("b", "fog", (5, 4, 6))]
    assert any(words in sentence for sentence in esnr_sentences(record(*rows, differences=[one])))


def test_markup_in_names_is_text():
    made = record(reading("<i>m</i>", "fog", (5, 4, 6), (0.8, 0.7, 0.9)), reading("n", "zog", (-1, -2, 0)))
    page, markdown = render_html(esnr_document(made)), render_markdown(esnr_document(made))
    assert "<b>world" not in page and "<i>m" not in page
    assert "<b>" not in markdown.replace("\\<b>", "") and "<i>" not in markdown.replace("\\<i>", "")


@pytest.mark.slow
def test_the_page_draws_its_figures(opened):
    made = record(
        reading("m", "fog", (5, 4, 6), (0.8, 0.7, 0.9)),
        reading("oracle", "fog(fd)", (9, -1, 12), (1.0, 1.0, 1.0)),
        reading("m", "zog", (None, None, None, "dead"), (None, None, None, "dead")),
    )
    tab, noticed, address = opened(render_html(esnr_document(made)))
    tab.wait_for_selector("#states .main-svg")
    assert tab.locator(".js-plotly-plot").count() == 3
    assert noticed == {"complaints": [], "requests": [address]}
