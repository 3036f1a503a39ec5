"""Every sentence about a reading of ESNR is true of the numbers beside it, whatever they are."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reports.test_esnr_report import estimate, reading, record
from wmel.reports.document import Table
from wmel.reports.esnr_report import DOMINANT, LARGE_BIAS, esnr_answer, esnr_sentences, esnr_table

LIMITED = settings(deadline=None, max_examples=200)
ENDS = st.tuples(*[st.floats(0.001, 9)] * 3)
ESTIMATES = st.one_of(
    ENDS.map(lambda one: (one[0], one[0] - one[1], one[0] + one[2])),
    st.floats(0.01, 9).map(lambda one: (one, None, None, "an interval needs 32 gradients per state, these are 8")),
    st.just((None, None, None, "every gradient is zero (dead)")),
)
COSINES = st.none() | st.tuples(st.floats(-0.9, 0.9), st.floats(0.01, 0.5)).map(
    lambda one: (one[0], max(one[0] - one[1], -1.0), min(one[0] + one[1], 1.0))
)
BIASES = st.none() | st.tuples(st.floats(-2, 2), st.floats(0.01, 1)).map(
    lambda one: estimate(one[0], one[0] - one[1], one[0] + one[1])
)
SHARES = st.sampled_from([0.0, 0.004, 0.2, 1.0])
READINGS = st.tuples(st.sampled_from(["fog", "zog", "cem"]), ESTIMATES, COSINES, BIASES, SHARES, SHARES)


def made(found, model="m"):
    """One reading for each method."""
    by_method = {method: rest for method, *rest in found}
    return [
        reading(model, method, esnr, cosine, bias=bias, dead_share=dead, dominance=dominance, settings={"samples": 32})
        for method, (esnr, cosine, bias, dead, dominance) in by_method.items()
    ]


@LIMITED
@given(st.lists(READINGS, min_size=1, max_size=3))
def test_a_claim_about_signal_is_what_the_intervals_show(found):
    rows = record(*made(found)).readings
    sentences = esnr_sentences(record(*made(found)))
    per_rollout = {one.method: one.esnr_per_rollout for one in rows}
    known = {method: one for method, one in per_rollout.items() if one.value is not None}
    whole = {method: one for method, one in known.items() if one.low is not None}
    best = max(known, key=lambda method: known[method].value, default=None)
    above = [method for method, one in whole.items() if one.low > 0]
    apart = best in whole and all(one.high < whole[best].low for method, one in whole.items() if method != best)
    text = " ".join(sentences)
    ranked = len(rows) > 1 and len(known) > 1 and len(whole) == len(known) and bool(above)
    assert ("carry the most usable signal" in text) == (ranked and apart)
    assert ("is not told apart from" in text) == (ranked and not apart)
    if ranked and not apart:
        close = {method for method, one in whole.items() if method != best and one.high >= whole[best].low}
        named = re.search(r"is not told apart from (.+?) in signal", text)[1]
        assert set(named.replace(" and ", ", ").split(", ")) == close
    nothing = len(rows) > 1 and bool(known) and len(whole) == len(known) and not above
    assert ("no estimator is shown to have any signal: no interval lies above 0" in text) == nothing
    assert ("no estimator has a ratio" in text) == (len(rows) > 1 and not known)
    missing = re.search(r"without an interval for (.+?):", text)
    assert bool(missing) == (len(rows) > 1 and bool(known) and len(whole) < len(known))
    if missing:
        assert set(missing[1].replace(" and ", ", ").split(", ")) == known.keys() - whole.keys()


@LIMITED
@given(READINGS)
def test_a_sentence_about_one_reading_is_true_of_it(found):
    (one,) = record(*made([found])).readings
    text = " ".join(esnr_sentences(record(*made([found]))))
    assert ("never have a gradient (dead)" in text) == (one.dead_share >= 0.01)
    assert ("of its mean ESNR" in text) == (one.dominance > DOMINANT and len(one.per_state) > 4 and one.esnr.low > 0)
    assert ("no ESNR: " in text) == (one.esnr.value is None)
    assert ("no interval of its ESNR" in text) == (one.esnr.value is not None and one.esnr.low is None)
    bias, value = one.bias, one.esnr.value
    is_shown = bias is not None and value is not None and (bias.low > 0 or bias.high < 0)
    is_large = is_shown and abs(bias.value) >= LARGE_BIAS * abs(value)
    sentences = re.search(r"ESNR of 32 samples lies (\S+) (above|below) that of infinitely many", text)
    assert bool(sentences) == is_large
    if sentences:
        assert float(sentences[1]) == pytest.approx(abs(bias.value), rel=0.01) and (sentences[2] == "above") == (
            bias.value > 0
        )
    if one.alignment is not None:
        cosine = one.alignment.cosine
        assert ("point against the truth" in text) == (cosine.high < 0)
        assert ("not shown to point the way" in text) == (cosine.low <= 0 <= cosine.high)
        assert ("point the way of the truth on average" in text) == (cosine.low > 0)


@LIMITED
@given(st.lists(READINGS, min_size=1, max_size=3), st.tuples(st.floats(-2, 2), st.floats(0.01, 1)))
def test_a_difference_is_named_in_its_direction_and_only_where_it_is_shown(found, gap):
    value, half = gap
    one = {"model": "a", "other": "b", "method": "fog", "estimate": estimate(value, value - half, value + half)}
    rows = [*made(found, "a"), *made(found, "b")]
    text = " ".join(esnr_sentences(record(*rows, differences=[one])))
    assert ("the gradients of a carry more" in text) == (value - half > 0)
    assert ("the gradients of b carry more" in text) == (value + half < 0)
    assert ("their ESNR are not told apart" in text) == (value - half <= 0 <= value + half)


@LIMITED
@given(st.lists(READINGS, min_size=1, max_size=3))
def test_the_answer_claims_the_most_only_among_readings_that_all_have_intervals(found):
    rows = record(*made(found)).readings
    answer = esnr_answer(record(*made(found)))
    whole = [one for one in rows if one.esnr_per_rollout.low is not None]
    assert answer.startswith("Cannot tell whether gradients carry any signal") == (not whole)
    if not whole:
        assert all(one.esnr_per_rollout.reason in answer for one in rows)
    if "the most signal" in answer:
        method = answer.split(" ")[0]
        best = next(one for one in rows if one.method == method).esnr_per_rollout
        assert len(whole) == len(rows) > 1
        assert all(one.esnr_per_rollout.high < best.low for one in rows if one.method != method)


@LIMITED
@given(READINGS)
def test_the_table_has_the_bias_beside_the_ratio(found):
    (one,) = record(*made([found])).readings
    table: Table = esnr_table(record(*made([found])))
    place = [column.title for column in table.columns].index("bias")
    assert table.columns[place - 1].title == "ESNR"
    cell = table.rows[0][place]
    assert cell.value == (None if one.bias is None else one.bias.value) and (cell.text == "n/a") == (one.bias is None)
