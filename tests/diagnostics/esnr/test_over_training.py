"""The U-shape, the online rule and correlations over training, on curves made up and on the pilot's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmel.diagnostics.esnr.over_training import (
    CurveShape,
    Pairs,
    TrainingCurve,
    correlation,
    left_biased_region,
    u_shape,
)
from wmel.errors import BadInput

UPDATES = [0, 3, 10, 30, 100, 300, 1000, 3000]
PILOT = {  # ESNR by fog and by cem over the updates above
    "plain": ([0.785, 0.086, 0.018, 0.013, 0.43, 0.53, 10.8, 25], [1.34, 0.06, 0.02, 0.015, 1.5, 2.2, 1.94, 1.97]),
    "reg": ([0, 0.275, 0.028, 8.3, 28, 46, 56, 64], [0, 0.95, 0.15, 1.80, 1.81, 1.74, 1.96, 1.92]),
    "basic": ([0, 2.59, 1.36, 5.2, 24, 24, 41, 33], [0, 1.59, 1.98, 1.85, 1.93, 1.80, 1.90, 2.00]),
}
V = [8, 4, 1, 1, 1, 4, 8]


def curve(esnr, error=0.15, updates=None) -> TrainingCurve:
    """ESNR with intervals of one standard error of the logarithm."""
    values, width = np.asarray(esnr, float), np.exp(1.959964 * np.asarray(error))
    return TrainingCurve(
        np.arange(1, len(values) + 1) if updates is None else updates, values, values / width, values * width
    )


def with_interval(place: int, value: float, low: float, high: float, esnr=V) -> TrainingCurve:
    """One reading of a curve replaced."""
    made = curve(esnr)
    arrays = [array.copy() for array in (made.esnr, made.low, made.high)]
    for array, number in zip(arrays, (value, low, high), strict=True):
        array[place] = number
    return TrainingCurve(made.updates, *arrays)


@pytest.mark.parametrize("estimator", [0, 1], ids=["fog", "cem"])
@pytest.mark.parametrize(
    ("variant", "answer"), [("plain", CurveShape.U), ("reg", CurveShape.NONE), ("basic", CurveShape.NONE)], ids=str
)
def test_the_pilots_curves_are_told_as_the_pilot_tells_them(variant, answer, estimator):
    assert u_shape(curve(PILOT[variant][estimator], updates=UPDATES)).shape is answer


@pytest.mark.parametrize("variant", ["reg", "basic"])
def test_without_its_dead_start_the_pilot_has_no_u_either(variant):
    for esnr in PILOT[variant]:
        assert u_shape(curve(esnr[1:], updates=UPDATES[1:])).shape is CurveShape.NONE


def test_a_u_says_where_it_is_lowest_and_how_far_it_falls_and_rises():
    found = u_shape(curve(V, 0.1, [1, 2, 4, 8, 16, 32, 64]))
    assert (found.shape, found.reasons, found.minimum) == (CurveShape.U, (), 4)
    assert (found.lowest, found.fall, found.rise) == pytest.approx((1, np.log(8), np.log(8)))


@pytest.mark.parametrize(
    ("esnr", "words"),
    [
        ([1, 2, 3, 4, 5, 6], ["0 of 6 checkpoints before that"]),
        ([6, 5, 4, 3, 2, 1], ["5 of 6 checkpoints before that and 0 after"]),
        ([9, 1, 1, 5, 9, 9], ["1 of 6 checkpoints before that"]),
        ([1.2, 1.1, 1, 1, 4, 8, 9], ["its fall to 3 updates"]),
        ([8, 7, 1, 1, 1.1, 1.2, 1.2], ["its rise from 3 updates"]),
        ([1.1, 1.1, 1, 1, 1, 1.1, 1.1], ["its fall", "its rise"]),
        ([5] * 7, ["0 of 7 checkpoints before that", "its rise"]),
    ],
)
def test_no_u_says_which_conditions_failed(esnr, words):
    found = u_shape(curve(esnr))
    assert found.shape is CurveShape.NONE and len(found.reasons) == len(words)
    assert all(word in reason for word, reason in zip(words, found.reasons, strict=True))


def test_two_standard_errors_of_the_difference_are_the_boundary():
    error = np.log(8) / (2 * np.sqrt(2))
    assert u_shape(curve(V, error * 0.999)).shape is CurveShape.U
    assert u_shape(curve(V, error * 1.001)).shape is CurveShape.NONE


@pytest.mark.parametrize("count", range(5))
def test_fewer_than_five_checkpoints_are_too_few(count):
    assert u_shape(curve(V[:count])).shape is CurveShape.TOO_FEW


def test_five_are_enough_and_unknown_ones_do_not_count():
    assert u_shape(curve([9, 5, 1, 1, 9], 0.1)).shape is CurveShape.U
    assert u_shape(curve([9, 5, 1, 5, 9], 0.1)).shape is CurveShape.NONE  # one checkpoint alone is smoothed away
    found = u_shape(with_interval(2, np.nan, np.nan, np.nan, [9, 5, 1, 1, 9]))
    assert found.shape is CurveShape.TOO_FEW and "4 of 5 checkpoints" in found.reasons[0]


def test_an_unknown_reading_is_as_if_it_had_not_been_taken():
    holed, whole = with_interval(1, np.nan, np.nan, np.nan, [8, 5, 4, 1, 1, 1, 4, 8]), [8, 4, 1, 1, 1, 4, 8]
    assert u_shape(holed) == u_shape(curve(whole, updates=[1, 3, 4, 5, 6, 7, 8]))


def test_one_outlier_makes_no_u():
    assert u_shape(curve([5, 5, 5, 0.01, 5, 5, 5])).shape is CurveShape.NONE


def test_a_dead_start_is_the_lowest_there_is():
    found = u_shape(curve([0, *V]))
    assert (found.shape, found.minimum, found.lowest) == (CurveShape.NONE, 1, 0)
    assert "every gradient is zero there" in found.reasons[0]


def test_gradients_that_die_for_a_while_are_a_u_and_at_the_end_are_none():
    assert u_shape(curve([5, 5, 0, 0, 0, 5, 5])).shape is CurveShape.U
    assert u_shape(curve([5, 5, 5, 5, 0, 0, 0])).shape is CurveShape.NONE
    assert u_shape(curve([0] * 7)).shape is CurveShape.NONE


def test_a_reading_not_told_from_0_can_be_the_lowest_and_understates_the_depth():
    deep = TrainingCurve(
        range(1, 8), [8, 4, -0.1, -0.1, -0.1, 4, 8], [7, 3, -1, -1, -1, 3, 7], [9, 5, 0.5, 0.5, 0.5, 5, 9]
    )
    found = u_shape(deep)
    assert (
        found.shape is CurveShape.U and found.lowest == pytest.approx(0.5) and found.fall == pytest.approx(np.log(16))
    )


def test_a_reading_that_cannot_be_distinguished_from_0_is_no_height():
    found = u_shape(with_interval(6, 8, -1, 20))
    assert found.shape is CurveShape.NONE and "cannot be distinguished from 0" in found.reasons[0]


@pytest.mark.parametrize(("value", "low", "high"), [(8, np.nan, np.nan), (-1, -2, -0.5)])
def test_a_reading_without_an_interval_or_all_below_0_is_left_out(value, low, high):
    changed = with_interval(3, value, low, high)
    kept = np.arange(len(changed.esnr)) != 3
    parts = (changed.updates, changed.esnr, changed.low, changed.high)
    assert u_shape(changed) == u_shape(TrainingCurve(*(part[kept] for part in parts)))


ratios = st.lists(st.floats(1e-3, 1e3), min_size=5, max_size=14)
errors = st.floats(0.01, 1.0)


@given(ratios, errors, st.integers(-20, 20))
def test_the_unit_of_esnr_changes_no_answer(esnr, error, power):
    one, other = (u_shape(curve(np.array(esnr) * factor, error)) for factor in (1.0, 2.0**power))
    assert (one.shape, one.minimum) == (other.shape, other.minimum)
    assert len(one.reasons) == len(other.reasons)


@given(ratios, errors)
def test_more_noise_never_makes_a_u_and_much_of_it_makes_none(esnr, error):
    assert u_shape(curve(esnr, 20.0)).shape is CurveShape.NONE
    if u_shape(curve(esnr, error)).shape is CurveShape.NONE:
        assert u_shape(curve(esnr, 2 * error)).shape is CurveShape.NONE


@given(ratios, errors, st.integers(0, 13))
def test_the_online_rule_never_looks_ahead(esnr, error, more):
    whole, early = left_biased_region(curve(esnr, error)), left_biased_region(curve(esnr[: len(esnr) - more], error))
    assert early is None or early == whole


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=14), errors)
def test_what_only_falls_is_never_left(esnr, error):
    assert left_biased_region(curve(sorted(esnr, reverse=True), error)) is None


def test_the_online_rule_waits_for_two_in_a_row():
    assert left_biased_region(curve([4, 1, 8, 1, 8, 1])) is None
    assert left_biased_region(curve([4, 1, 8, 8, 1])) == 4
    assert left_biased_region(curve([])) is None


def test_the_pilots_regions_are_left_when_alignment_has_come():
    left = {name: left_biased_region(curve(fog, updates=UPDATES)) for name, (fog, _) in PILOT.items()}
    assert left == {"plain": 300, "reg": 100, "basic": 100}  # cosines .75, .86, .82; before that .09, .31, .46


def test_without_any_change_there_is_hardly_ever_a_u():
    rng = np.random.default_rng(0)
    curves = [curve(np.exp(0.2 * rng.normal(size=12)), 0.2) for _ in range(400)]
    assert np.mean([u_shape(one).shape is CurveShape.U for one in curves]) < 0.02
    assert 0.05 < np.mean([left_biased_region(one) is not None for one in curves]) < 0.2


@pytest.mark.parametrize("updates", [[1, 1, 2], [3, 2, 1], [1, 2]])
def test_a_curve_needs_rising_updates_of_its_own_length(updates):
    with pytest.raises(BadInput):
        curve([1, 2, 3], updates=updates)


def pairs(one, other) -> Pairs:
    return Pairs(np.arange(len(one), dtype=float), np.asarray(one, float), np.asarray(other, float))


def test_correlations_are_means_over_runs_with_an_interval_from_ten_on():
    rising, falling = pairs([1, 3, 2, 4], [1, 3, 2, 4]), pairs([1, 3, 2, 4], [4, 2, 3, 1])
    two = correlation([rising, falling])
    assert two.rho.value == 0 and two.rho.low is None
    assert [one.value for one in two.by_run] == pytest.approx([1, -1])
    nine, twelve = correlation([rising, rising, falling] * 3), correlation([rising, rising, falling] * 4)
    assert nine.rho.value == pytest.approx(1 / 3) and nine.rho.low is None
    assert twelve.rho.value == pytest.approx(1 / 3) and twelve.rho.low < 1 / 3 < twelve.rho.high and twelve.rho.n == 12


def test_checkpoints_without_both_numbers_and_before_the_start_do_not_count():
    seen = pairs([9, 1, np.nan, 2, 3], [0, 5, 1, 6, 7]).since(1)
    assert correlation([seen]).rho.value == pytest.approx(1)
    assert "fewer than 3" in correlation([pairs([1, 2, np.nan], [1, 2, 3])]).rho.reason
    assert correlation([]).rho.value is None


def test_what_follows_the_updates_alone_has_nothing_left_given_them():
    found = correlation([pairs([1, 2, 3, 4, 5], [1, 2, 4, 3, 5])])
    assert found.rho.value > 0.8 and found.partial.value is None and "same order" in found.partial.reason


def test_what_goes_together_beside_the_updates_is_left():
    rng = np.random.default_rng(0)
    shared, updates = rng.normal(size=200), np.arange(200)
    found = correlation([pairs(0.01 * updates + shared, 0.01 * updates + shared + 0.1 * rng.normal(size=200))])
    alone = correlation([pairs(0.01 * updates + shared, 0.01 * updates + rng.normal(size=200))])
    assert found.partial.value > 0.9 and abs(alone.partial.value) < 0.2 < alone.rho.value
