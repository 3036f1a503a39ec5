"""ESNR over training as words, tables and a page."""

import numpy as np
import pytest

from tests.reports.test_esnr_report import reading, record
from wmel.reports.html import render_html
from wmel.reports.markdown import render_markdown
from wmel.reports.over_training_curves import TrainingReadings, correlations
from wmel.reports.over_training_report import (
    correlation_table,
    over_training_document,
    training_sentences,
    training_table,
)

UPDATES = (1, 4, 16, 64, 256, 1024, 4096)
V = (8, 4, 1, 1, 1, 4, 9)
UNKNOWN = (None, None, None, "NaN")
DEAD = (None, None, None, "every gradient is zero (dead)")


def training(name="seed0", ratios=V, beside=None) -> TrainingReadings:
    """A run read by fog at the oracle's side, which wavers."""

    def read(place, ratio):
        found = {0: DEAD, None: UNKNOWN}.get(ratio) or (ratio, ratio / 1.2, ratio * 1.2)
        own = reading(name, "fog", found, (0.1 * place, 0.0, 0.9), dead_share=float(ratio == 0))
        return record(own, reading("oracle", "fog(fd)", (3 + np.sin(place),), (1.0, 1.0, 1.0)))

    records = {updates: read(place, ratio) for place, (updates, ratio) in enumerate(zip(UPDATES, ratios, strict=True))}
    return TrainingReadings(name, records, beside or {})


def with_returns(name, returns, ratios=V) -> TrainingReadings:
    return training(name, ratios, {"<i>return</i>": dict(zip(UPDATES, returns, strict=True))})


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        (
            V,
            "seed0, fog: U-shape: ESNR falls 8-fold to 1 after 16 updates and rises 9-fold to the last; the",
        ),
        (
            (1, 2, 3, 4, 5, 6, 7),
            "no U-shape: smoothed, it is lowest after 1 update, with 0 of 7 checkpoints before that",
        ),
        ((0, *V[1:]), "it is lowest after 1 update (0: every gradient is zero there)"),
        ((0, *V[1:]), "as where a reward head starts at zero"),
        ((8, 4, 0, 0, 0, 4, 9), "U-shape: ESNR falls to 0 after 16 updates and rises again"),
        ((8, None, None, None, 1, 4, 9), "too few checkpoints: 4 of 7 checkpoints have an ESNR, 5 are needed"),
        ((8, None, None, None, 1, 4, 9), "3 readings have no ESNR and are left out"),
    ],
)
def test_the_verdict_is_one_plain_sentence(ratios, words):
    assert sum(words in sentence for sentence in training_sentences([training(ratios=ratios)])) == 1


def test_the_table_has_every_checkpoint_and_says_what_is_dead():
    rows = training_table([training(ratios=(0, *V[1:])), training("seed1")]).rows
    assert [(row[0].text, row[1].text) for row in rows] == [
        (name, str(updates)) for name in ("seed0", "seed1") for updates in UPDATES
    ]
    assert [cell.text for cell in rows[0][2:]] == ["0 (dead)", "0.00"]
    assert [cell.text for cell in rows[1][2:]] == ["4 [3.33, 4.8]", "0.10"]


def test_correlations_begin_at_the_minimum_and_have_no_interval_over_three_runs():
    falling_then_rising = [9, 9, 0, 1, 2, 3, 4]  # with ESNR only from the minimum on
    runs = [with_returns(f"seed{seed}", falling_then_rising) for seed in range(3)]
    found = {one.predictor: one.found for one in correlations(runs)}
    assert list(found) == ["fog ESNR", "fog alignment", "fog ESNR of the oracle (placebo)"]
    assert found["fog alignment"].rho.value == pytest.approx(1)
    assert found["fog ESNR"].rho.value > 0.8 and found["fog ESNR"].rho.low is None
    two = correlation_table(runs[:2]).rows[0]
    assert "[" not in two[2].text and two[4].text.count(",") == 1


def test_a_run_without_numbers_counts_in_no_correlation():
    found = correlations([with_returns("a", V), training("b")])[0].found
    assert found.rho.n == 1 and found.by_run[1].value is None


def test_markup_is_text():
    made = [with_returns("<b>x</b>", V)]
    page, markdown = render_html(over_training_document(made)), render_markdown(over_training_document(made))
    assert "<b>x" not in page and "<i>return" not in page and "<b>world" not in page
    assert "<b>" not in markdown.replace("\\<b>", "") and "given updates" in markdown


@pytest.mark.slow
def test_the_page_draws_its_figures(opened):
    made = [with_returns("seed0", V), training("seed1", (0, *V[1:])), training("seed2", [None] * 7)]
    tab, noticed, address = opened(render_html(over_training_document(made)))
    tab.wait_for_selector("#beside-1 .main-svg")
    assert tab.locator(".js-plotly-plot").count() == 4
    assert noticed == {"complaints": [], "requests": [address]}
