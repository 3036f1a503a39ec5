"""The first sentence of a run, a sweep, a comparison of runs and readings of ESNR follows from the record."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.tables import table
from tests.reports.test_esnr_report import reading, record
from tests.reports.test_over_training_report import training
from wmel.analysis.compare import paired_deltas
from wmel.contract.criterion import Stop
from wmel.diagnostics.esnr.over_training import CurveShape, u_shape
from wmel.reports.compare_report import compare_answer, compare_document, comparison_record
from wmel.reports.esnr_report import esnr_answer
from wmel.reports.over_training_report import answer_words
from wmel.reports.records import run_record, sweep_record
from wmel.reports.run_report import run_answer, sweep_answer
from wmel.reports.terminal import render_terminal
from wmel.schema import Run, SweepPoint

OUTCOMES = st.lists(st.booleans(), min_size=1, max_size=30)
LIMITED = settings(deadline=None, max_examples=30)


def run(won, *, broke=(), returns=None, judged=True, **policy) -> Run:
    """Episodes that are won or not; those that broke are not."""
    won = [one and place not in broke for place, one in enumerate(won)]
    rows = table(
        success=won,
        judged=[judged] * len(won),
        steps=[9] * len(won),
        first_success_step=[9 if one else -1 for one in won],
        error=["it broke" if place in broke else "" for place in range(len(won))],
        **({} if returns is None else {"return": returns}),
    )
    return Run(
        "maze_toy", "cem", "state", {"planner": "cem", "model": "oracle", **policy}, (0,), 50, 0.0, None, None, "task",
        "distance<=0" if judged else None, Stop.SUCCESS, 1, {}, rows,
    )  # fmt: skip


@LIMITED
@given(OUTCOMES, st.sets(st.integers(0, 5), max_size=3))
def test_the_sentence_of_a_run_has_its_rate_its_interval_and_what_broke(won, broke):
    broke = {one for one in broke if one < len(won)}
    made = run_record(run(won, broke=broke))
    answer, success = run_answer(made), made.scorecard.estimates["success_rate"]
    rate, low, high, episodes = re.search(r"in (\S+) \[(\S+), (\S+)\] of (\d+) episodes?\b", answer).groups()
    assert (rate, low, high) == tuple(f"{one:.3f}" for one in (success.value, success.low, success.high))
    assert float(rate) == pytest.approx(sum(row.success for row in made.results) / len(won), abs=5.1e-4)
    assert int(episodes) == len(won) == made.metadata.episodes
    assert re.findall(r"(\d+) episodes? broke", answer) == ([str(len(broke))] if broke else [])


@LIMITED
@given(st.lists(st.floats(-1e3, 1e3) | st.just(float("nan")), min_size=1, max_size=8))
def test_the_sentence_of_a_run_without_a_criterion_has_the_mean_of_whole_episodes(returns):
    whole = [one for one in returns if not np.isnan(one)]
    answer = run_answer(run_record(run([False] * len(returns), judged=False, returns=returns)))
    if not whole:
        assert "succeeds" not in answer and "returns" not in answer and "no criterion" in answer
        return
    mean, episodes = re.search(r"returns (\S+) on average over (\d+) episode", answer).groups()
    assert float(mean) == pytest.approx(np.mean(whole), abs=0.051) and int(episodes) == len(whole)
    assert "no criterion of success was given" in answer


@LIMITED
@given(st.data())
def test_the_sentence_of_a_sweep_names_every_point_with_the_highest_success(data):
    count, points = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 5))
    won = data.draw(st.lists(st.lists(st.booleans(), min_size=count, max_size=count), min_size=points, max_size=points))
    runs = {horizon: run(one, plan_horizon=horizon) for horizon, one in enumerate(won, 1)}
    made = sweep_record([SweepPoint({"plan_horizon": at}, one) for at, one in runs.items()], epsilon=0.1)
    answer, rates = sweep_answer(made), {at: sum(one) / count for at, one in enumerate(won, 1)}
    best, enough = max(rates.values()), made.effective_horizon
    places = [at for at, rate in rates.items() if rate == best]
    sentence = answer.split(";")[0]
    named = [int(at) for at in re.findall(r"plan_horizon=(\d+)", sentence)]
    more = re.search(r"(\d+) more", sentence)
    assert named == places[: len(named)] and len(named) + int(more[1] if more else 0) == len(places)
    assert ("highest" in sentence) == (best > 0 and len(places) < points)
    assert (f"{best:.3f} of {count} episode" in sentence) == (best > 0) != (f"none of {count} episode" in sentence)
    assert ("is enough" in answer) == (enough.value is not None)
    if enough.value is not None:
        assert f"a plan horizon of {enough.value:.0f} is enough" in answer
        assert all(rates[longer] - rates[int(enough.value)] <= 0.1 + 1e-9 for longer in rates if longer > enough.value)
        between = f", between {enough.low:.0f} and {enough.high:.0f} at 95% confidence"
        assert (between in answer) == (enough.low < enough.high)
        assert answer.endswith(": longer plans succeed in at most 0.1 more of the episodes.")


def compared(a, b):
    deltas = paired_deltas(a, b)
    return deltas, compare_answer(comparison_record(deltas, "before.json", "after.json", notes=[], bound=None))


@LIMITED
@given(st.data())
def test_the_sentence_of_a_comparison_counts_every_task_once_and_in_its_direction(data):
    chances = data.draw(st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]), min_size=4, max_size=8))
    rng, tasks = np.random.default_rng(data.draw(st.integers(0, 99))), len(chances) // 2
    sides = [{f"task {at}": run(rng.random(30) < chance) for at, chance in enumerate(part)}
             for part in (chances[:tasks], chances[tasks : 2 * tasks])]  # fmt: skip
    refused = data.draw(st.integers(0, tasks - 1))
    sides[1] |= {f"task {at}": run([True] * 30, judged=False) for at in range(refused)}
    sides[0]["alone"] = run([True])
    deltas, answer = compared(*sides)
    shown = [one for one in deltas.tasks if one.is_shown]
    expected = {
        "lower": [one for one in shown if one.success.value < 0],
        "higher": [one for one in shown if one.success.value > 0],
        "not shown to differ": [one for one in deltas.tasks if one.mid_p_holm is not None and not one.is_shown],
    }
    left = "; not compared: 1 only in A" + (f", {refused} refused" if refused else "")
    assert answer.endswith(f"{left}." if len(deltas.tasks) > 1 else f"{left} (A: before.json; B: after.json).")
    assert "before.json" in answer and "after.json" in answer
    if len(deltas.tasks) > 1:
        assert f"over {len(deltas.tasks)} tasks" in answer
        for words, found in expected.items():
            (count,) = re.findall(rf"(\d+) {words}\b", answer)
            assert int(count) == len(found)
            assert not found or f"{words} ({found[0].task}" in answer


@LIMITED
@given(OUTCOMES, st.data())
def test_the_sentence_of_one_task_has_both_rates_and_the_direction_that_is_shown(a, data):
    b = data.draw(st.lists(st.booleans(), min_size=len(a), max_size=len(a)) | st.just([not one for one in a]))
    deltas, answer = compared({"task": run(a)}, {"task": run(b)})
    (one,) = deltas.tasks
    assert f"{len(a)} pair" in answer and f"(A {np.mean(a):.3f}, B {np.mean(b):.3f})" in answer
    assert ("less often" in answer) == (one.is_shown and one.success.value < 0)
    assert ("more often" in answer) == (one.is_shown and one.success.value > 0)
    assert ("no difference of success is shown" in answer) == (not one.is_shown)


def test_a_comparison_states_nothing_twice():
    sides = ({f"maze_toy cem horizon={at}, oracle": run([True] * 9) for at in range(5)} for _ in range(2))
    lines = render_terminal(compare_document(comparison_record(paired_deltas(*sides), "a", "b", notes=[], bound=None)))
    text = "\n".join(lines)
    assert text.count("policy, settings and versions are the same") == 1 and "Single tasks" not in text
    assert "(maze_toy cem horizon=0, oracle; maze_toy cem horizon=1, oracle; " in lines[0]
    changed = {"one": run([True] * 9), "two": run([True] * 9, execute=2)}
    deltas = paired_deltas({name: run([True] * 9) for name in changed}, changed)
    lines = render_terminal(compare_document(comparison_record(deltas, "a", "b", notes=[], bound=None)))
    assert any(line.startswith("- two: compared: execute") for line in lines)


def test_a_difference_that_one_task_shows_may_not_hold_for_two():
    won, lost = run([True] * 6), run([False] * 6)  # p .03
    assert "B succeeds less often than A" in compared({"one": won}, {"one": lost})[1]
    assert "0 lower, 0 higher, 2 not shown" in compared(dict.fromkeys("ab", won), dict.fromkeys("ab", lost))[1]


INTERVALS = st.one_of(
    st.builds(lambda ratio, down, up: (ratio, ratio - down, ratio + up), *[st.floats(0.01, 9)] * 3),
    st.just((None, None, None, "dead")),
    st.floats(0.01, 9).map(lambda ratio: (ratio,)),
)
COSINES = st.sampled_from([None, (0.8, 0.7, 0.9), (0.1, -0.2, 0.4), (-0.5, -0.8, -0.2), (None, None, None, "dead")])
POINTS = {None: "was not measured", 0.8: "the way of the truth", 0.1: "not shown to point", -0.5: "against the truth"}


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "oracle"]), INTERVALS, COSINES), min_size=1, max_size=6))
def test_the_sentence_of_esnr_claims_the_most_signal_only_where_no_interval_overlaps(found):
    rows = [reading(model, "fog", ratio, cosine) for model, ratio, cosine in found]
    answer, made = esnr_answer(record(*rows)), record(*rows).readings
    models = [one for one in made if one.model != "oracle"] or list(made)
    measured = [one for one in models if one.esnr_per_rollout.low is not None]
    shown = [one for one in measured if one.esnr_per_rollout.low > 0]
    assert answer.startswith("Cannot tell whether gradients carry any signal") == (not measured)
    assert ("No estimator is shown" in answer) == bool(measured and not shown)
    if not shown:
        return
    best = max(shown, key=lambda one: one.esnr_per_rollout.value)
    others = [one for one in measured if one is not best]
    close = [one for one in others if one.esnr_per_rollout.high >= best.esnr_per_rollout.low]
    assert answer.startswith(f"fog through {best.model} carries ")
    assert ("the most signal" in answer) == bool(others and not close and len(measured) == len(models))
    assert ("not ranked" in answer) == (len(measured) < len(models))
    assert ("not told apart from" in answer) == bool(close)
    assert f"(ESNR {best.esnr_per_rollout.value:.3g} [" in answer
    cosine = None if best.alignment is None else best.alignment.cosine.value
    assert ("is unknown (dead)" if best.alignment and cosine is None else POINTS[cosine]) in answer


LARGE, FEW = {"dominance": 0.97, "per_state": [1.0] * 16, "median": 0.108}, {"settings": {"samples": 8}}


def read_at_many_states(*rows):
    """As if there were as many states as the readings have values."""
    made = record(*({**one, "per_state": [1.0, None]} for one in rows))
    entries = [
        one.model_copy(update={"per_state": given["per_state"]}) for one, given in zip(made.readings, rows, strict=True)
    ]
    return made.model_copy(update={"readings": entries})


def test_the_sentence_of_esnr_rests_on_no_mean_that_one_state_or_few_samples_make_up():
    """The audit: `carries a signal (ESNR 91.1 [12.4, 2.88e+06])` above `one state makes up 97% of its mean`."""
    large, small = (91.1, 12.4, 2.88e6), (0.07, 0.01, 0.15)
    alone = esnr_answer(read_at_many_states(reading("a", "fog", large, **LARGE), reading("a", "zog", small, **FEW)))
    assert alone.startswith("Cannot tell which gradients carry a signal: ") and "91.1" not in alone
    assert "97% of its mean, the median is 0.108" in alone and "32 samples and more states would show it" in alone
    both = esnr_answer(read_at_many_states(reading("a", "fog", large, **LARGE), reading("b", "fog", (5, 4, 6))))
    assert both.startswith("fog through b carries a signal (ESNR 5 [4, 6]") and "not ranked: fog through a (" in both
    balanced = {**LARGE, "dominance": 0.2}
    kept = esnr_answer(read_at_many_states(reading("a", "fog", (91.1, 80, 99), **balanced), reading("b", "fog", small)))
    assert kept.startswith("fog through a carries the most signal (ESNR 91.1 [80, 99]")


@LIMITED
@given(
    st.lists(
        st.just((8, 4, 1, 1, 1, 4, 9)) | st.lists(st.none() | st.sampled_from([0, 1, 4, 9]), min_size=7, max_size=7),
        min_size=1,
        max_size=4,
    )
)
def test_the_sentence_of_trainings_counts_the_u_shapes_and_those_that_cannot_be_told(ratios):
    runs = [training(f"seed{seed}", one) for seed, one in enumerate(ratios)]
    shapes, answer = [u_shape(one.curve("fog")).shape for one in runs], answer_words(runs)
    shown, few = shapes.count(CurveShape.U), shapes.count(CurveShape.TOO_FEW)
    first = re.match(r"(Yes|No|In part|Cannot tell)\b", answer)[1]
    assert (first == "Cannot tell") == (few == len(runs))
    assert (first == "Yes") == (shown == len(runs))
    assert (first == "No") == (not shown and few < len(runs))
    assert f"{len(runs)} run" in answer and "by fog" in answer + "by fog" * (first == "Cannot tell")
    if first == "In part":
        assert int(re.search(r"(\d+) of \d+ runs? by fog", answer)[1]) == shown
    sentence = re.search(r"(\d+) of (\d+) curves? with too few", answer)
    assert (sentence is None) == (few in (0, len(runs))) and (sentence is None or int(sentence[1]) == few)
