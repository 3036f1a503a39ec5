"""The first sentence of power, train, esnr toy, and of a study without a gap follows from the numbers."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wmel
from tests.reports.counted import arms_of, with_readings
from wmel.api.train import card_lines, training_answer
from wmel.reports.study_gaps import study_answer
from wmel.reports.study_report import study_document
from wmel.stats.estimate import Estimate
from wmel.stats.power import Design, required_episodes

LIMITED = settings(deadline=None, max_examples=40)
RATES = st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0])


@LIMITED
@given(RATES, RATES, st.booleans(), st.sampled_from([None, 10]), st.sampled_from([0.5, 0.8]))
def test_the_sentence_of_power_has_the_episodes_the_rates_and_the_probability(oracle, learned, paired, n, power):
    result = wmel.power(oracle=oracle, learned=learned, paired=paired, n=n, power=power)
    design = Design(oracle, learned, paired)
    needed = required_episodes(design, power=power)
    if oracle == learned:
        assert re.match(rf"Equal rates \({oracle:g}\) have no gap", result.answer)
        return
    unit = "pairs" if paired else "episodes per arm"
    assert result.answer.startswith("No number of " if needed is None else f"{needed} {unit} show ")
    assert f"a gap of {oracle - learned:.3g} ({oracle:g} against {learned:g})" in result.answer
    assert f"with probability {power:.2f}" in result.answer
    stated = re.findall(r"; (\d+) show it with probability (\d\.\d\d)", result.answer)
    assert stated == ([] if n is None else [("10", f"{design.power(10):.2f}")])
    assert str(result).startswith(result.answer) and "." not in re.findall(r"stops +(\S+)", str(result))[0]


def test_equality_and_the_interval_of_the_paper_are_answered_where_they_are_requested():
    equal = wmel.power(oracle=0.98, learned=0.98, equivalence=0.1).answer
    assert equal.startswith("61 episodes per arm show that 0.98 and 0.98 are equivalent within 0.1")
    both = wmel.power(oracle=0.3, learned=0, paper=True).answer
    assert both.startswith("21 episodes per arm show") and both.endswith("; by the interval of the CPG paper 21.")


def card(**changed):
    errors = {"held_out_episode_mse": 0.37, "held_out_transition_mse": 0.31, "open_loop_rmse": []}
    return {
        "model": {"kind": "mlp"}, "environment": "dmc_cartpole", "data": {"transitions": 300, "episodes": 1},
        "fit": {"epochs_taken": 1}, "errors": errors, **changed,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {},
            "mlp learned dmc_cartpole from 300 transitions of 1 episode, 1 epoch: its error one step ahead on episodes",
        ),
        ({}, "it was not trained on is 0.37 (mean squared)"),
        ({"errors": {"held_out_episode_mse": None, "held_out_transition_mse": 0.31}}, "on transitions it was not"),
        ({"errors": {}}, "nothing was held out"),
        ({"fit": {"updates": 1}}, "1 episode, 1 update: "),
        ({"fit": {"epochs_taken": 3, "interrupted": True}}, "3 epochs (interrupted): "),
        (
            {"policy_return": {"mean": 823.56, "episodes": 64}, "errors": {"held_out_decoder_mse": 1e-4}},
            "its own policy returns 823.6 over 64 episodes",
        ),
    ],
)
def test_the_sentence_of_a_training_has_its_data_and_its_quality(changed, words):
    assert words in training_answer(card(**changed))
    assert training_answer(card(**changed)).endswith("`wmel cpg` measures whether it may be planned with.")


COUNTS = st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@LIMITED
@given(st.lists(COUNTS, min_size=1, max_size=7))
def test_the_sentence_of_arms_names_those_with_the_highest_success(counts):
    rates = {f"arm{place}": one for place, one in enumerate(counts)}
    record = arms_of(rates)
    answer, values = study_answer(record), {name: won / n for name, (won, n) in rates.items()}
    best = max(values.values())
    highest = [name for name, value in values.items() if value == best]
    named = re.findall(r"arm\d", answer)
    assert answer[0].isupper() and study_document(record).answer == answer
    if 1 < len(highest) == len(rates):
        assert answer.startswith(f"Success of all {len(rates)} arms is {best:.2f}")
    else:
        more = re.search(r"(\d+) more", answer)
        assert named == highest[: len(named)] and len(named) + int(more[1] if more else 0) == len(highest)
    printed = re.search(r"(?:is|:) (\d\.\d\d)(?: \[(\S+), (\S+)\])?\.$", answer)
    assert printed[1] == f"{best:.2f}"
    ends = {tuple(record.uncompared[0].scorecards[name].estimates["success_rate"].model_dump()[end] for end in
                  ("low", "high")) for name in highest}  # fmt: skip
    if printed[2] is not None:
        assert {tuple(f"{end:.2f}" for end in one) for one in ends} == {printed.groups()[1:]}


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=5, unique=True))
def test_the_sentence_of_arms_without_a_criterion_names_the_highest_return(returns):
    answer = study_answer(arms_of({}, {f"arm{place}": one for place, one in enumerate(returns)}))
    assert answer.startswith(f"Of {len(returns)} arms return is highest in maze_toy arm{int(np.argmax(returns))}: ")


@given(st.lists(st.floats(-100, 100) | st.none(), min_size=1, max_size=6))
def test_the_sentence_of_readings_goes_from_the_lowest_to_the_highest(values):
    undefined = Estimate.undefined("dead")
    read = {f"m{at}": undefined if one is None else Estimate(one, one - 1, one + 1, 5) for at, one in enumerate(values)}
    answer, known = (
        study_answer(with_readings(arms_of({}), read)),
        {k: one for k, one in read.items() if one.is_defined},
    )
    assert answer[0].isupper()
    if not known:
        assert "defined for none" in answer
        return
    missing = len(values) - len(known)
    assert (f"; {missing} of {len(values)} readings without it" in answer) == bool(missing)
    low, high = (pick(known, key=lambda name: known[name].value) for pick in (min, max))
    if known[low].value == known[high].value:
        assert answer.count(known[low].words) == 1
    else:
        assert f"ranges from {known[low].words} ({low}) to {known[high].words} ({high})" in answer


def test_the_prediction_error_of_one_model_is_compared_with_predicting_no_change():
    record = with_readings(arms_of({}), {"mlp": Estimate(0.644)})
    (entry,) = record.readings
    rows = [
        entry.model_copy(
            update={
                "words": {"steps_ahead": str(step)},
                "values": {"rmse": value(error), "relative": value(ratio)},
            }
        )
        for step, error, ratio in ((1, 0.644, 11.6), (2, 0.65, 6.0), (15, 0.697, 2.09))
    ]
    answer = study_answer(record.model_copy(update={"readings": rows}))
    assert answer == (
        "mlp predicts observations with an error (rmse) of 0.644 after 1 step and 0.697 after 15: 11.6 and 2.09 times "
        "the error of predicting that nothing changes."
    )
    two = [*rows, *(one.model_copy(update={"arm": "td1", "values": {"rmse": value(9.0)}}) for one in rows)]
    assert study_answer(record.model_copy(update={"readings": two})) == (
        "The prediction error (rmse) after 15 steps of 2 models ranges from 0.697 (mlp) to 9 (td1)."
    )
    for edit in ({"values": {}}, {"words": {"steps_ahead": "many"}}):  # of a record
        edited = [one.model_copy(update=edit) for one in rows]
        assert "prediction" in study_answer(record.model_copy(update={"readings": edited}))


def value(number: float):
    (entry,) = with_readings(arms_of({}), {"m": Estimate(number)}).readings
    return entry.values["rmse"]


def test_a_training_of_which_nothing_was_held_out_has_no_line_of_held_out_errors():
    missing = {"held_out_episode_mse": None, "held_out_transition_mse": None, "training_mse": 0.2}
    assert card_lines(card(errors=missing))[1:] == ["training_mse: 0.2"]
