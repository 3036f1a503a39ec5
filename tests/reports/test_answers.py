"""Every sentence about gaps follows from the numbers beside it, whatever the outcomes were."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wmel.analysis.verdict
from tests.reports.counted import cpg_of, entry_of, independent, many_entries, paired, results, study_of
from wmel.analysis.verdict import RHO, Label
from wmel.reports.answers import Advice, JudgedGap
from wmel.reports.study_gaps import study_answer, study_gaps
from wmel.reports.study_record import study_of_gaps
from wmel.reports.study_report import gap_sentence, study_document
from wmel.stats.paired import holm

DECIDES = 123  # pairs, in place of a calculation that takes longer than all others together
CLAIMS = {  # advice -> verdicts that allow it
    Advice.YES: {Label.AS_GOOD, Label.EQUIVALENT, Label.EQUIVALENT_ONLY},
    Advice.WEAK: {Label.LEARNED_OUTPERFORMS, Label.EQUIVALENT, Label.EQUIVALENT_ONLY},
    Advice.NO: {Label.MODEL_BOTTLENECK},
    Advice.BLIND: {Label.PLANNER_BOTTLENECK, Label.EQUIVALENT, Label.EQUIVALENT_ONLY, Label.INCONCLUSIVE}
    | {Label.INCONCLUSIVE_FUTILE},
    Advice.UNKNOWN: {one for one in Label if one.startswith("INCONCLUSIVE")}
    | {Label.MODEL_BOTTLENECK, Label.LEARNED_OUTPERFORMS},
}
NUMBER, RANGE = r"[+-][\d.e+-]+", r"\d\.\d\d(?: to \d\.\d\d)?"
RATES = re.compile(
    r"succeeds in (\d\.\d\d) of episodes where (the true dynamics give|the same planner on the true dynamics gives) "
    r"(\d\.\d\d)"
)
GAP = re.compile(
    rf"\(([^;(]+); gap ({NUMBER}) \[({NUMBER}), ({NUMBER})\](?:, which ([a-z ]+) for (\d+) comparisons)?\)"
)
CLAUSE = re.compile(
    r"(may be planned with|may not be planned with|cannot be judged yet|cannot be judged)"
    r"(?: in (?:(\d+) of|both of|all of|either of|any of) (\d+) (?:settings|comparisons))?"
    r"(, where the reference is weak| because the oracle itself fails)?"
    rf" \(success ({RANGE}) where the true dynamics give ({RANGE})\)"
)
MEANT = {
    ("may be planned with", ""): Advice.YES,
    ("may be planned with", ", where the reference is weak"): Advice.WEAK,
    ("may not be planned with", ""): Advice.NO,
    ("cannot be judged yet", ""): Advice.UNKNOWN,
    ("cannot be judged", " because the oracle itself fails"): Advice.BLIND,
}


@pytest.fixture(scope="module", autouse=True)
def quick():
    """The number of episodes that would decide is looked up: only that it is told is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wmel.analysis.verdict, "required_episodes", lambda *designs: DECIDES)
        yield


def check_advice(gap: JudgedGap) -> None:
    """The advice is one that the verdict, the interval, the correction and the oracle's rate allow."""
    entry, advice = gap.entry, gap.advice
    assert entry.verdict in CLAIMS[advice]
    if advice is Advice.NO:
        assert entry.gap_ci_low > 0 and (gap.adjusted is None or gap.adjusted <= 0.05)
    if advice in (Advice.YES, Advice.WEAK):
        assert entry.gap_ci_low <= 0 and entry.gap < 0.1
    if advice is Advice.YES:
        assert entry.oracle_success_rate >= 0.9
    if advice is Advice.WEAK:
        assert entry.oracle_success_rate < 0.9 or entry.gap_ci_high < 0
    if advice is Advice.BLIND:
        assert entry.oracle_success_rate <= RHO
    if advice is Advice.UNKNOWN and not entry.verdict.startswith("INCONCLUSIVE"):
        assert gap.adjusted is not None and gap.adjusted > 0.05


def check_numbers(gap: JudgedGap, sentence: str, p_values: Sequence[float | None]) -> None:
    """The sentence about one gap tells its numbers as they are; `p_values` are those corrected together."""
    entry = gap.entry
    assert sentence.startswith(f"{gap.advice}: ") and sentence.endswith(".")
    assert ("holds after correction" in sentence) + ("does not hold after" in sentence) <= 1
    if gap.advice is Advice.BLIND:
        assert f"succeeds in {entry.oracle_success_rate:.2f} of {entry.n_episodes_oracle} episode" in sentence
        return
    episodes, value, low, high, how, count = GAP.search(sentence).groups()
    assert [int(one) for one in re.findall(r"\d+", episodes)] in (
        [entry.n_episodes_oracle, entry.n_episodes_learned],
        [entry.n_episodes_learned] if entry.n_episodes_learned == entry.n_episodes_oracle else None,
    )
    assert ("pair" in episodes) == (entry.oracle_only is not None)
    for printed, number in ((value, entry.gap), (low, entry.gap_ci_low), (high, entry.gap_ci_high)):
        assert abs(float(printed) - number) <= 0.0051 and (abs(number) < 1e-9 or float(printed) * number > 0)
    check_correction(gap, how, count, [one for one in p_values if one is not None])


def check_correction(gap: JudgedGap, how: str | None, count: str | None, p_values: list[float]) -> None:
    """A difference holds after correction exactly if Holm's mid-p is at most .05."""
    is_difference = gap.entry.verdict in (Label.MODEL_BOTTLENECK, Label.LEARNED_OUTPERFORMS)
    if gap.entry.mid_p.value is None or not is_difference or len(p_values) < 2:
        assert how in (None, "is not corrected")
        return
    adjusted = min(float(one) for one in holm(p_values)[[value == gap.entry.mid_p.value for value in p_values]])
    assert gap.adjusted == pytest.approx(adjusted)
    assert (how, int(count)) == (
        "holds after correction" if adjusted <= 0.05 else "does not hold after correction",
        len(p_values),
    )


def check_one_sentence(entry) -> None:
    gap = JudgedGap("mlp", "on maze_toy, planned with cem", entry)
    check_advice(gap)
    check_numbers(gap, gap.sentence, [entry.mid_p.value])
    if gap.advice is Advice.BLIND:
        return
    learned, reference, oracle = RATES.search(gap.sentence).groups()
    assert (learned, oracle) == (f"{entry.learned_success_rate:.2f}", f"{entry.oracle_success_rate:.2f}")
    assert (reference == "the true dynamics give") == (gap.advice is not Advice.WEAK)
    assert (f"about {DECIDES} fresh" in gap.sentence) == (gap.verdict.n_that_decides is not None)


@settings(deadline=None, max_examples=15)
@given(results())
def test_the_sentence_of_any_gap_follows_from_its_numbers(result):
    check_one_sentence(entry_of(result))


@pytest.mark.slow
@settings(deadline=None, max_examples=600)
@given(results())
def test_the_sentence_of_many_gaps_follows_from_their_numbers(result):
    check_one_sentence(entry_of(result))


@settings(deadline=None, max_examples=10)
@given(results().filter(lambda result: result.pairs is not None and not result.errors), st.booleans())
def test_the_sentence_of_a_run_that_may_stop_early_follows_from_its_numbers(result, can_go_on):
    check_one_sentence(entry_of(result, cap=result.n_episodes_learned + 50 * can_go_on))


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_every_sentence_of_a_comparison_of_models_follows_from_its_numbers(data):
    entries = data.draw(st.lists(st.sampled_from(many_entries()), min_size=1, max_size=6))
    record = cpg_of(entries)
    as_study = study_of_gaps(record)
    gaps, p_values = [gap.judged for gap in study_gaps(as_study)], [one.mid_p.value for one in entries]
    for gap in gaps:
        check_advice(gap)
        check_numbers(gap, gap.sentence, p_values)
    check_reconciled(study_answer(as_study), gaps, "comparison")
    assert study_document(as_study).answer == study_answer(as_study)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_every_sentence_of_a_study_follows_from_its_numbers(data):
    some = st.lists(st.sampled_from(many_entries()), min_size=1, max_size=3)
    record = study_of(data.draw(st.lists(some, min_size=1, max_size=4)))
    gaps = study_gaps(record)
    p_values = [gap.entry.mid_p.value for gap in gaps]
    for gap in gaps:
        check_advice(gap.judged)
        check_numbers(gap.judged, gap.judged.sentence, p_values)
        how = gap.judged.correction.partition(" for ")[0]
        assert (how in gap_sentence(gap)) and ("correct" in gap_sentence(gap)) == bool(how)
    check_reconciled(study_answer(record), [gap.judged for gap in gaps], "setting")


def check_reconciled(answer: str, gaps: Sequence[JudgedGap], noun: str) -> None:
    """One sentence for several gaps: every count adds up, and every range is the lowest and the highest."""
    if len(gaps) == 1:
        assert answer == gaps[0].sentence
        return
    advice, _, text = answer.partition(": ")
    found = {gap.advice for gap in gaps}
    alike = {Advice.YES} if found == {Advice.YES, Advice.WEAK} else found
    assert advice == (next(iter(alike)) if len(alike) == 1 else "It depends")
    models = list(dict.fromkeys(gap.model for gap in gaps))
    told: list[str] = []
    for group in text.removesuffix(".").split("; "):
        those = models if len(models) > 4 else re.findall(r"\bm\d\b", group[: CLAUSE.search(group).start()])
        told += those
        own = gaps if len(models) > 4 else [gap for gap in gaps if gap.model in those]
        check_clauses(CLAUSE.findall(group), own, 1 if len(models) > 4 else len(those))
    assert sorted(told) == sorted(models)


def check_clauses(clauses: list[tuple[str, ...]], gaps: Sequence[JudgedGap], models: int) -> None:
    """Clauses about one model, or about several that have the same advice in as many settings each."""
    counts = {}
    for phrase, part, whole, reason, learned, oracle in clauses:
        advice = MEANT[phrase, reason]
        own = [gap.entry for gap in gaps if gap.advice is advice]
        counts[advice] = int(part or whole or 1) * models
        assert int(whole or 1) * models == len(gaps) and counts[advice] == len(own)
        assert learned == range_of([one.learned_success_rate for one in own])
        assert oracle == range_of([one.oracle_success_rate for one in own])
    assert len(counts) == len(clauses) and sum(counts.values()) == len(gaps)
    assert models == 1 or len(clauses) == 1


def range_of(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


@pytest.mark.parametrize(
    ("result", "first_words"),
    [
        (paired(0, 30, 0, 0), "No: "),
        (independent((30, 30), (0, 30)), "No: "),
        (paired(60, 0, 0, 0), "Yes: "),
        (paired(200, 0, 0, 200), "Yes, but the reference is weak: "),
        (paired(0, 0, 30, 0), "Yes, but the reference is weak: "),
        (paired(0, 0, 0, 40), "This comparison cannot see the model: "),
        (paired(0, 0, 0, 6), "This comparison cannot see the model: "),
        (paired(3, 1, 0, 2), "Cannot tell: "),
        (paired(0, 10, 0, 20, errors=15), "Cannot tell: "),
        (paired(0, 0, 0, 20, errors=15), "Cannot tell: "),
    ],
)
def test_the_first_words_are_right_where_the_truth_is_plain(result, first_words):
    assert study_answer(study_of_gaps(cpg_of([entry_of(result)]))).startswith(first_words)


def test_gaps_of_every_verdict_are_tried():
    assert {entry.verdict for entry in many_entries()} == set(Label) - {Label.INCONCLUSIVE_FUTILE}


def test_two_arms_that_always_fail_are_never_called_as_good_by_a_run_that_stops_early():
    entry = entry_of(paired(0, 0, 0, 400), cap=500)
    assert entry.verdict == Label.EQUIVALENT_ONLY
    assert study_answer(study_of_gaps(cpg_of([entry]))).startswith("This comparison cannot see the model: ")


def test_a_label_that_is_not_known_claims_nothing():
    entry = entry_of(paired(40, 0, 0, 0))
    verdict = entry.verdicts["strict"].model_copy(update={"label": "EXCELLENT"})
    entry = entry.model_copy(update={"verdict": "EXCELLENT", "verdicts": {"strict": verdict}})
    assert study_answer(study_of_gaps(cpg_of([entry]))).startswith("Cannot tell: ")


def test_a_model_that_acts_by_its_own_policy_is_not_said_to_be_planned_with():
    record = study_of([[entry_of(paired(0, 0, 30, 0))]])
    acting = record.comparisons[0].model_copy(update={"arm_labels": {"m0": {"policy": "native"}}})
    answer = study_answer(record.model_copy(update={"comparisons": [acting]}))
    assert "m0 (acting by its own policy, native) succeeds in 1.00" in answer
    assert "planned with" not in answer and "same planner" not in answer
