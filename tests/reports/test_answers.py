"""Every sentence about gaps follows from the numbers beside it, whatever the outcomes were."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples, says
from tests.reports.counted import cpg_of, entry_of, independent, many_entries, paired, results, study_of
from tests.reports.sentences import GapSentence, parse_clauses, parse_gap, split_paper, whole_number
from wmel.analysis.verdict import IF_ADDED, RHO, Label
from wmel.reports.answers import Advice, JudgedGap, Unseen
from wmel.reports.study_answers import answer_of_gaps
from wmel.reports.study_gaps import StudyGap, study_answer, study_gaps
from wmel.reports.study_record import study_of_gaps
from wmel.reports.study_report import gap_sentence, study_document
from wmel.stats.exact import IndependentArms, p_value
from wmel.stats.paired import holm
from wmel.stats.proportions import clopper_pearson

ADVICE = {  # label -> advice, where something is seen of the model; of an equality the reference may be weak
    Label.MODEL_BOTTLENECK: {Advice.NO},
    Label.LEARNED_OUTPERFORMS: {Advice.YES, Advice.WEAK},
    Label.AS_GOOD: {Advice.YES},
    Label.EQUIVALENT: {Advice.YES, Advice.WEAK},
    Label.EQUIVALENT_ONLY: {Advice.YES, Advice.WEAK},
    Label.INCONCLUSIVE: {Advice.UNKNOWN},
    Label.INCONCLUSIVE_FUTILE: {Advice.UNKNOWN},
    Label.INCONCLUSIVE_ERRORS: {Advice.UNKNOWN},
}
FLOORS = st.sampled_from([None, (0, 1), (0, 4), (0, 60), (20, 60), (60, 60), (0, 400), (397, 400)])
DIRECTIONS = (Label.MODEL_BOTTLENECK, Label.LEARNED_OUTPERFORMS)
SEVERAL = settings(deadline=None, max_examples=60)


def bounds(successes: int, episodes: int) -> tuple[float, float]:
    low, high = clopper_pearson(successes, episodes, confidence=0.90)
    return float(low), float(high)


def is_beaten(gap: JudgedGap) -> bool:
    """Whether the oracle is shown to beat random actions."""
    n = gap.entry.n_episodes_oracle
    wins = round(n * gap.entry.oracle_success_rate)
    return p_value(IndependentArms(n, gap.floor.episodes), wins, gap.floor.successes) <= 0.025


def check_advice(gap: JudgedGap) -> None:
    """The advice is the label's, unless the oracle fails, or random actions do as well as it."""
    entry, label = gap.entry, gap.entry.verdict
    if gap.advice is not Advice.BLIND:
        assert gap.advice in ADVICE[label]
        assert (gap.advice is Advice.WEAK) <= (entry.oracle_success_rate < 1 - RHO)
        assert (gap.advice is Advice.YES) <= (entry.oracle_success_rate >= 1 - RHO)
        assert gap.floor is None or is_beaten(gap) or label == Label.LEARNED_OUTPERFORMS
        return
    assert label != Label.LEARNED_OUTPERFORMS
    if gap.unseen is Unseen.FLOOR:
        assert not is_beaten(gap)
    if gap.unseen is Unseen.CEILING:
        assert label != Label.MODEL_BOTTLENECK and bounds(gap.floor.successes, gap.floor.episodes)[0] >= 0.9
    if gap.unseen is Unseen.FAILURE:
        most = bounds(round(entry.oracle_success_rate * entry.n_episodes_oracle), entry.n_episodes_oracle)[1]
        is_never = entry.oracle_success_rate == 0
        assert is_never or (label.startswith("EQUIVALENT") and entry.oracle_success_rate <= RHO) or most <= RHO


def check_sentence(gap: JudgedGap, text: str, p_values: Sequence[float | None]) -> None:
    """Every number of a sentence is the one of the record."""
    stated, entry = parse_gap(text), gap.entry
    assert stated.advice is gap.advice
    assert (stated["learned"], stated["oracle"]) == tuple(
        f"{one:.2f}" for one in (entry.learned_success_rate, entry.oracle_success_rate)
    )
    for printed, number in (
        (stated["gap"], entry.gap),
        (stated["low"], entry.gap_ci_low),
        (stated["high"], entry.gap_ci_high),
    ):
        assert abs(float(printed) - number) <= 0.0051 and (abs(number) < 1e-9 or float(printed) * number > 0)
    counts = {entry.n_episodes_oracle: None, entry.n_episodes_learned: None}
    assert [whole_number(one) for one in re.findall(r"[\d,]+", stated["episodes"])] == list(counts)
    assert ("pair" in stated["episodes"]) == (entry.oracle_only is not None)
    if gap.advice is Advice.BLIND:
        check_blindness(gap, stated)
    if stated["reference"] is not None:
        assert (stated["reference"] == "the same planner on the true dynamics gives") == (
            gap.advice is Advice.WEAK and gap.acts_by is None
        )
    check_correction(gap, text, [one for one in p_values if one is not None])
    check_reason(gap, stated.rest)


def check_blindness(gap: JudgedGap, stated: GapSentence) -> None:
    """The rates of the oracle and of random actions are there, with their episodes, and what would show the model."""
    assert stated["unseen"] == gap.unseen and whole_number(stated["n_oracle"]) == gap.entry.n_episodes_oracle
    if gap.unseen is not Unseen.FAILURE:
        assert stated["floor"] == f"{gap.floor.successes / gap.floor.episodes:.2f}"
        assert whole_number(stated["n_floor"]) == gap.floor.episodes
    else:
        assert stated["floor"] is None


def check_correction(gap: JudgedGap, text: str, p_values: list[float]) -> None:
    """A difference holds after correction exactly if its p-value after Holm's correction is at most .05."""
    found = re.findall(r"(holds|does not hold|is not corrected)(?: after correction)? for (\d+) comparisons", text)
    claims = [one for one in found if "Holm p" not in text]
    if gap.entry.p_value.value is None or gap.entry.verdict not in DIRECTIONS or len(p_values) < 2:
        assert all(how == "is not corrected" for how, _ in claims)
        return
    adjusted = min(float(one) for one in holm(p_values)[[value == gap.entry.p_value.value for value in p_values]])
    assert gap.adjusted == pytest.approx(adjusted)
    assert not claims or claims == [("holds" if adjusted <= 0.05 else "does not hold", str(len(p_values)))]


def check_reason(gap: JudgedGap, rest: str) -> None:
    """A verdict that decides nothing has its reason, and the number of episodes that would decide if one is known."""
    wanted = re.findall(r"bout ([\d,]+) fresh (pairs|episodes per arm) would decide", rest)
    if gap.advice is not Advice.UNKNOWN or gap.entry.verdict != Label.INCONCLUSIVE:
        assert not wanted
        return
    number, unit = gap.verdict.n_that_decides, "episodes per arm" if gap.entry.oracle_only is None else "pairs"
    assert wanted == ([] if number is None else [(f"{number:,}", unit)])
    holds_zero = gap.entry.gap_ci_low <= 0 <= gap.entry.gap_ci_high
    assert ("nterval holds 0 and is too wide" in rest) == holds_zero
    assert len(rest) > 20


def check_one(entry, floor) -> None:
    (gap,) = study_gaps(study_of_gaps(cpg_of([entry], floor)))
    check_advice(gap.judged)
    check_sentence(gap.judged, gap.judged.sentence, [entry.p_value.value])
    check_sentence(gap.judged, gap_sentence(gap), [entry.p_value.value])


@settings(deadline=None, max_examples=15)
@given(results(), FLOORS)
def test_the_sentence_of_any_gap_follows_from_its_numbers(result, floor):
    check_one(entry_of(result), floor)


@pytest.mark.slow
@examples(200)
@given(results(), FLOORS)
def test_the_sentence_of_many_gaps_follows_from_their_numbers(result, floor):
    check_one(entry_of(result), floor)


@settings(deadline=None, max_examples=10)
@given(results().filter(lambda result: result.pairs is not None and not result.errors), st.booleans(), FLOORS)
def test_the_sentence_of_a_run_that_may_stop_early_follows_from_its_numbers(result, can_go_on, floor):
    check_one(entry_of(result, cap=result.n_episodes_learned + 50 * can_go_on), floor)


def check_all(record, noun: str) -> None:
    """The answer of a study, and the line of each of its gaps."""
    gaps = study_gaps(record)
    p_values = [gap.entry.p_value.value for gap in gaps]
    for gap in gaps:
        check_advice(gap.judged)
        check_sentence(gap.judged, gap.judged.sentence, p_values)
        check_sentence(gap.judged, gap_sentence(gap), p_values)
        assert ("orrect" in gap_sentence(gap)) == bool(gap.judged.correction or "Holm p" in gap_sentence(gap))
    strict, paper = split_paper(study_answer(record))
    check_reconciled(strict, [gap.judged for gap in gaps], noun)
    check_paper(paper, gaps if record.paper_first else [])
    assert study_document(record).answer == study_answer(record)


@SEVERAL
@given(st.data(), FLOORS, st.booleans())
def test_every_sentence_of_a_comparison_of_models_follows_from_its_numbers(data, floor, paper_first):
    entries = data.draw(st.lists(st.sampled_from(many_entries()), min_size=1, max_size=6))
    check_all(study_of_gaps(cpg_of(entries, floor, paper_first=paper_first)), "comparison")


@SEVERAL
@given(st.data(), st.booleans())
def test_every_sentence_of_a_study_follows_from_its_numbers(data, paper_first):
    some = st.lists(st.sampled_from(many_entries()), min_size=1, max_size=3)
    found = data.draw(st.lists(some, min_size=1, max_size=4))
    floors = data.draw(st.lists(FLOORS, min_size=len(found), max_size=len(found)))
    acting = data.draw(st.sampled_from([{}, {"m0": "native"}, {"m0": "native", "m1": "prior"}]))
    check_all(study_of(found, floors, paper_first=paper_first, acting=acting), "setting")


def check_reconciled(answer: str, gaps: Sequence[JudgedGap], noun: str) -> None:
    """One sentence for several gaps: every count adds up, and every range is the lowest and the highest."""
    if len(gaps) == 1:
        assert answer == gaps[0].sentence
        return
    advice, _, text = answer.partition(": ")
    found = {gap.advice for gap in gaps}
    alike = {Advice.YES} if found == {Advice.YES, Advice.WEAK} else found
    assert advice == (next(iter(alike)) if len(alike) == 1 else "It depends")
    models = list(dict.fromkeys(gap.name for gap in gaps))
    named: list[str] = []
    for group in text.removesuffix(".").split("; "):
        first = parse_clauses(group)
        those = (
            models
            if len(models) > 4
            else [one for one in models if re.search(rf"(^|[ ,]){re.escape(one)}( |,)", group)]
        )
        named += those
        own = [gap for gap in gaps if gap.name in those]
        check_clauses(first, own, 1 if len(models) > 4 else len(those))
    assert sorted(named) == sorted(models)


def check_clauses(clauses, gaps: Sequence[JudgedGap], models: int) -> None:
    """Clauses about one model, or about several that have the same advice in as many settings each."""
    seen = 0
    for one in clauses:
        own = [gap for gap in gaps if gap.advice is one.advice and one.acts in (None, gap.acts_by is not None)]
        assert own and int(one.whole or 1) * models == len(gaps)
        count = int(one.part or one.whole or 1) * models
        assert one.acts is None or count == len(own)
        if count == len(own):
            assert one.learned == range_of([gap.entry.learned_success_rate for gap in own])
            assert one.oracle == range_of([gap.entry.oracle_success_rate for gap in own])
            check_reasons(one, own)
        assert bool(one.reasons) == (one.advice in (Advice.BLIND, Advice.UNKNOWN))
        seen += count
    assert seen == len(gaps) and (models == 1 or len(clauses) == 1)


def check_reasons(clause, gaps: Sequence[JudgedGap]) -> None:
    """Why nothing is decided or seen, and how many episodes would decide all of these gaps."""
    assert clause.reasons == {str(gap.unseen or gap.open_reason) for gap in gaps} - {""}
    known = [gap.verdict.n_that_decides for gap in gaps if gap.entry.verdict == Label.INCONCLUSIVE]
    is_known = clause.advice is Advice.UNKNOWN and len(known) == len(gaps) and None not in known
    assert clause.wanted == ((min(known), max(known)) if is_known else None)
    for gap in gaps:
        is_open = gap.advice is Advice.UNKNOWN and gap.entry.verdict == Label.INCONCLUSIVE
        holds_zero = is_open and gap.entry.gap_ci_low <= 0 <= gap.entry.gap_ci_high
        assert (gap.open_reason == "the interval holds 0") == holds_zero


def range_of(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def check_paper(text: str, gaps: Sequence[StudyGap]) -> None:
    """The labels by the rule of the CPG paper, by gap or counted; it does not allow for a run that may stop early."""
    labels = {gap.name: gap.entry.verdict_paper for gap in gaps if gap.entry.verdict_paper is not None}
    if not labels:
        assert text == ""
        return
    found = list(labels.values())
    parts = [f"{name} {label}" for name, label in labels.items()]
    if len(parts) > 4:
        parts = [f"{label} in {found.count(label)} of {len(found)} comparisons" for label in dict.fromkeys(found)]
    assert text.removesuffix(".").replace(" and ", ", ") == ", ".join(parts)


@pytest.mark.parametrize(
    ("result", "floor", "first_words"),
    [
        (paired(0, 30, 0, 0), (0, 30), "No: "),
        (independent((30, 30), (0, 30)), (0, 30), "No: "),
        (paired(60, 0, 0, 0), (0, 60), "Yes: "),
        (paired(200, 0, 0, 200), (0, 60), "Yes, but the reference is weak: "),
        (paired(0, 0, 30, 0), (0, 30), "Yes, but the reference is weak: "),
        (paired(1900, 1, 99, 0), (0, 30), "Yes: "),
        (paired(0, 0, 0, 40), None, "This comparison cannot see the model: "),
        (paired(0, 0, 0, 6), (0, 6), "This comparison cannot see the model: "),
        (paired(0, 0, 0, 6), None, "This comparison cannot see the model: "),
        (paired(0, 0, 0, 12), None, "This comparison cannot see the model: "),
        (paired(0, 0, 0, 25), None, "This comparison cannot see the model: "),
        (independent((0, 12), (0, 12)), None, "This comparison cannot see the model: "),
        (paired(0, 0, 0, 1), (0, 1), "This comparison cannot see the model: "),
        (paired(0, 30, 0, 290), (10, 320), "No: "),
        (paired(0, 30, 0, 290), (20, 320), "This comparison cannot see the model: "),
        (paired(300, 0, 0, 0), (299, 300), "This comparison cannot see the model: "),
        (paired(1000, 0, 0, 0), (380, 400), "This comparison cannot see the model: "),
        (paired(300, 0, 0, 0), (200, 300), "Yes: "),
        (paired(3, 1, 0, 2), None, "Cannot tell: "),
        (paired(0, 10, 0, 20, errors=15), (0, 400), "Cannot tell: "),
        (paired(0, 0, 0, 20, errors=15), None, "Cannot tell: "),
    ],
)
def test_the_first_words_are_right_where_the_truth_is_plain(result, floor, first_words):
    assert study_answer(study_of_gaps(cpg_of([entry_of(result)], floor))).startswith(first_words)


def test_a_model_that_succeeds_where_the_oracle_does_not_is_named_with_its_rate():
    answer = study_answer(study_of_gaps(cpg_of([entry_of(paired(0, 0, 3, 1))], (0, 4))))
    stated = parse_gap(answer)
    assert (stated["learned"], stated["oracle"], stated["floor"]) == ("0.75", "0.00", "0.00")


def test_the_number_of_pairs_that_would_decide_is_the_one_of_the_verdict():
    entry = entry_of(paired(6, 3, 1, 2))
    assert entry.verdict == Label.INCONCLUSIVE and entry.verdicts["strict"].n_that_decides > 10
    assert f"about {entry.verdicts['strict'].n_that_decides} fresh pairs" in JudgedGap("m", "", entry).sentence


def test_a_difference_that_the_correction_rejects_says_so():
    entry = entry_of(paired(0, 8, 0, 0))
    label = entry.verdicts["strict"].model_copy(update={"label": Label.INCONCLUSIVE, "n_that_decides": 21})
    entry = entry.model_copy(update={"verdict": Label.INCONCLUSIVE, "verdicts": {"strict": label}})
    gap = JudgedGap("m", "", entry, adjusted=0.062, comparisons=4)
    assert gap.advice is Advice.UNKNOWN and gap.remarks[-2:] == ["about 21 fresh pairs would decide", IF_ADDED]
    assert "does not hold after correction for 4 comparisons (Holm p 0.062)" in gap.sentence


@pytest.mark.parametrize(("p_values", "lost"), [((0.062, 0.001), "1 of"), ((0.062, 0.07), "2 of"), ((0.05, 0.001), "")])
def test_claims_of_earlier_records_that_the_correction_rejects_are_counted(p_values, lost):
    entry = entry_of(paired(0, 8, 0, 0))
    assert entry.verdict == Label.MODEL_BOTTLENECK
    answer = answer_of_gaps([JudgedGap(f"m{p}", "", entry, adjusted=p, comparisons=2) for p in p_values])
    assert says(answer, f"{lost} these differences ... not hold") if lost else "correction" not in answer


def test_gaps_of_every_verdict_are_tried():
    assert {entry.verdict for entry in many_entries()} == set(Label) - {Label.INCONCLUSIVE_FUTILE}


def test_two_arms_that_always_fail_are_never_called_as_good_by_a_run_that_stops_early():
    entry = entry_of(paired(0, 0, 0, 400), cap=500)
    assert entry.verdict == Label.EQUIVALENT_ONLY
    assert study_answer(study_of_gaps(cpg_of([entry], None))).startswith("This comparison cannot see the model: ")


def test_a_label_that_is_not_known_claims_nothing_and_is_named():
    entry = entry_of(paired(40, 0, 0, 0))
    verdict = entry.verdicts["strict"].model_copy(update={"label": "EXCELLENT"})
    entry = entry.model_copy(update={"verdict": "EXCELLENT", "verdicts": {"strict": verdict}})
    answer = study_answer(study_of_gaps(cpg_of([entry])))
    assert answer.startswith("Cannot tell: ") and "EXCELLENT" in answer


def test_a_model_that_acts_by_its_own_policy_is_not_said_to_be_planned_with():
    answer = study_answer(study_of([[entry_of(paired(0, 0, 30, 0))]], acting={"m0": "native"}))
    assert answer.count("by its own policy (native) succeeds in 1.00") == 1
    assert "planned with" not in answer and "same planner" not in answer
    two = study_of([[entry_of(paired(60, 0, 0, 0))]] * 2, acting={"m0": "native"})
    assert "m0 by its own policy (native) does at least as well in both of 2 settings" in study_answer(two)


def test_a_name_that_holds_the_policy_does_not_name_it_twice():
    gap = JudgedGap("td1[policy=native]", "", entry_of(paired(0, 0, 30, 0)), acts_by="native")
    assert gap.name == "td1 by its own policy (native)"
    assert JudgedGap("td1[policy=native,epochs=5]", "", gap.entry, acts_by="native").name.startswith("td1[epochs=5] by")


def test_a_model_that_beats_a_good_oracle_has_no_weak_reference():
    strong, weak = (JudgedGap("m", "", entry_of(paired(*counts))) for counts in ((1900, 1, 99, 0), (0, 0, 30, 0)))
    assert strong.remarks == ["this planner does better on the model than on the true dynamics"]
    assert weak.remarks == ["a stronger planner would show what the model costs"]
