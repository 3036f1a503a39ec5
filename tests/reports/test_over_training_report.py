"""ESNR over training as words, tables and a page."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reports.test_esnr_report import reading, record
from wmel.reports.esnr_record import TrainingReadings, correlations
from wmel.reports.html import render_html
from wmel.reports.markdown import render_markdown
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
            "fog: U-shape: smoothed, ESNR falls 8-fold to 1 after 16 updates and rises 9-fold to the last; the",
        ),
        (
            (1, 2, 3, 4, 5, 6, 7),
            "no U-shape: smoothed, it is lowest after 1 update, with 0 of 7 checkpoints before that",
        ),
        ((0, *V[1:]), "it is lowest after 1 update (0: every gradient is zero there)"),
        ((0, *V[1:]), "as where a reward head starts at zero"),
        ((8, 4, 0, 0, 0, 4, 9), "U-shape: smoothed, ESNR falls to 0 after 16 updates and rises again"),
        ((8, None, None, None, 1, 4, 9), "too few checkpoints: 4 of 7 checkpoints have an ESNR, 5 are needed"),
        ((8, None, None, None, 1, 4, 9), "3 readings have no ESNR and are left out"),
    ],
)
def test_the_verdict_is_one_plain_sentence(ratios, words):
    assert sum(words in sentence for sentence in training_sentences([training(ratios=ratios)])) == 1


READ = st.one_of(
    st.none(),
    st.just((0.0, 0.0, 0.0)),
    st.tuples(st.floats(0.01, 9), st.floats(1.05, 2)).map(lambda one: (one[0], one[0] / one[1], one[0] * one[1])),
    st.floats(0.1, 2).map(lambda one: (-0.01, -one, one)),
)


def of(name: str, found) -> TrainingReadings:
    """A run with these values and intervals; None is unknown, 0 dead."""
    records = {}
    for updates, one in zip(UPDATES, found, strict=False):
        dead = one == (0.0, 0.0, 0.0)
        estimate = UNKNOWN if one is None else DEAD if dead else one
        records[updates] = record(reading(name, "fog", estimate, dead_share=float(dead)))
    return TrainingReadings(name, records, {})


def levels_of(found):
    """Updates, raw values and what is smoothed: the value, 0 if dead, or the upper end where the interval holds 0."""
    known = [(at, *one) for at, one in zip(UPDATES, found, strict=False) if one is not None]
    return [(at, value, high if low <= 0 < high else value) for at, value, low, high in known]


@settings(deadline=None, max_examples=300)
@given(st.lists(READ, min_size=5, max_size=7) | st.just([(one, one / 1.2, one * 1.2) for one in V]))
def test_every_verdict_is_true_of_the_numbers(found):
    """Computed again: the median of 3 neighbours, its minimum, the fall to it and the rise from it."""
    printed, known = training_sentences([of("run", found)])[0], levels_of(found)
    assert ("too few checkpoints" in printed) == (len(known) < 5)
    if len(known) < 5:
        return
    values = [one[2] for one in known]
    smoothed = [values[0], *(sorted(values[at - 1 : at + 2])[1] for at in range(1, len(values) - 1)), values[-1]]
    lowest = min(smoothed)
    named = {
        int(one) for one in re.findall(r"(?:lowest|smoothed, its fall to|from) (?:after )?(\d+) updates?", printed)
    }
    named -= {int(one) for one in re.findall(r"its lowest reading is \S+ after (\d+)", printed)}
    minima = {at for (at, *_), one in zip(known, smoothed, strict=True) if one == lowest}
    assert named <= minima
    assert "smoothed" in printed
    single = re.search(r"its lowest reading is (\S+) after (\d+) updates?", printed)
    least = min(known, key=lambda one: one[1])
    if single:
        assert (float(single[1]), int(single[2])) == (pytest.approx(least[1], rel=0.01), least[0])
    else:
        assert least[0] in minima
    fell = re.search(r"falls (at least )?(\S+)-fold to (at most )?(\S+) after (\d+) updates? and rises (?:at least )?"
                     r"(\S+)-fold to the last", printed)  # fmt: skip
    assert bool(fell) == (printed.startswith("run, fog: U-shape") and lowest > 0)
    if fell:
        updates = int(fell[5])
        place = [at for at, *_ in known].index(updates)
        assert updates in minima and float(fell[4]) == pytest.approx(lowest, rel=0.01)
        assert float(fell[6]) == pytest.approx(smoothed[-1] / lowest, rel=0.01)
        heights = [one for one, (_, value, level) in zip(smoothed[:place], known, strict=False) if value == level]
        assert float(fell[2]) <= max(smoothed[:place]) / lowest * 1.01 and heights
        raw = {level: value for _, value, level in known}
        assert bool(fell[1]) == bool(fell[3]) == (raw[lowest] < 0)


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
