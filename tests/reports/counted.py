"""Records of gaps whose outcomes are counted instead of run: all that follows from the counts is wmel's own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from hypothesis import strategies as st

from tests.analysis.tables import table
from wmel.analysis.gap import CPGResult, counterfactual_planning_gap
from wmel.analysis.pooling import Arms, StudyComparison, StudyComparisons, StudySetting
from wmel.analysis.scorecard import scorecard
from wmel.analysis.verdict import Correction
from wmel.contract.criterion import Stop
from wmel.reports.analysis_record_types import ReadingEntry, StudyRecord
from wmel.reports.record_entries import estimate_entry, scorecard_entry
from wmel.reports.record_types import CPGEntry, CPGRecord, ScorecardEntry
from wmel.reports.study_record import cpg_entry, cpg_record, study_of_gaps, study_record
from wmel.schema import Run
from wmel.stats.estimate import Estimate
from wmel.stats.paired import PairedCounts, holm

ROWS = table(success=[True, False], judged=[True, True], steps=[3, 5], first_success_step=[3, -1])


def paired(both: int, oracle_only: int, learned_only: int, neither: int, errors: int = 0) -> CPGResult:
    """Two arms on the same seeds; pairs that broke are among those that neither solves."""
    pairs = PairedCounts(both, oracle_only, learned_only, neither)
    n = both + oracle_only + learned_only + neither
    without = paired(both, oracle_only, learned_only, neither - errors) if errors and n > errors else None
    return CPGResult(both + oracle_only, n, both + learned_only, n, pairs, errors, without)


def independent(oracle: tuple[int, int], learned: tuple[int, int]) -> CPGResult:
    """Two arms on seeds of their own, as (successes, episodes)."""
    return counterfactual_planning_gap(oracle, learned)


def entry_of(result: CPGResult, cap: int | None = None) -> CPGEntry:
    """What the record of a comparison says of a gap; `cap` is that of a run that could stop early."""
    entry = cpg_entry(_arms(result, cap), "m0")
    _MADE.append((entry, result, cap))
    return entry


_MADE: list[tuple[CPGEntry, CPGResult, int | None]] = []  # to correct entries together


def correct_entries(entries: Sequence[CPGEntry]) -> list[CPGEntry]:
    """The same gaps after Holm's correction for all of them, as a report has them."""
    p_values = {place: one.p_value.value for place, one in enumerate(entries) if one.p_value.value is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())).tolist(), strict=True)) if p_values else {}
    found = []
    for place, entry in enumerate(entries):
        made = next(((result, cap) for one, result, cap in _MADE if one is entry), None)
        if made is None:  # it was changed by hand
            found.append(entry)
            continue
        result, cap = made
        family = {"m0": Correction(adjusted[place], len(p_values))} if place in adjusted else {}
        arms = replace(_arms(result, cap), family=family)
        arms._gaps["m0"] = result
        found.append(cpg_entry(arms, "m0"))
    return found


def cpg_of(
    entries: Sequence[CPGEntry], floor: tuple[int, int] | None = (0, 60), *, paper_first: bool = False
) -> CPGRecord:
    """The record of a comparison of models m0, m1, ... in one setting; `floor` is that of random actions."""
    update = {"cpgs": _by_model(correct_entries(entries)), "scorecards": _cards(floor), "paper_first": paper_first}
    return _cpg().model_copy(update=update)


def study_of(
    settings: Sequence[Sequence[CPGEntry]],
    floors: Sequence[tuple[int, int] | None] | None = None,
    *,
    paper_first: bool = False,
    acting: Mapping[str, str] | None = None,
) -> StudyRecord:
    """The record of a study of such models at planning horizons 1, 2, ..., corrected over all gaps.

    `floors` are those of each setting; `acting` are the models that act by a policy of their own, with its name.
    """
    flat = [entry for entries in settings for entry in entries]
    corrected = iter(study_of_gaps(cpg_of(flat)).comparisons[0].gaps.values())
    base, labels = _study().comparisons[0], {model: {"policy": policy} for model, policy in (acting or {}).items()}
    comparisons = [
        base.model_copy(
            update={
                "labels": {"plan_horizon": horizon},
                "arm_labels": labels,
                "parts": None,
                "gaps": _by_model([next(corrected) for _ in entries]),
                "scorecards": _cards(floor),
            }
        )
        for horizon, (entries, floor) in enumerate(zip(settings, floors or [(0, 60)] * len(settings), strict=True), 1)
    ]
    return _study().model_copy(update={"comparisons": comparisons, "paper_first": paper_first})


def arms_of(rates: Mapping[str, tuple[int, int]], returns: Mapping[str, float] | None = None) -> StudyRecord:
    """The record of a study without a gap: arms with successes and episodes, or with a mean return each."""
    cards = {name: _card(name, won, count) for name, (won, count) in rates.items()}
    for name, back in (returns or {}).items():
        estimates = {**_card(name, 0, 1).estimates, "success_rate": estimate_entry(Estimate.undefined("not judged"))}
        estimates["average_return"] = estimate_entry(Estimate(back, back - 1, back + 1, 9, "normal"))
        cards[name] = _card(name, 0, 9).model_copy(update={"success_rate": None, "estimates": estimates})
    alone = _study().comparisons[0].model_copy(update={"gaps": {}, "scorecards": cards})
    return _study().model_copy(update={"comparisons": [], "uncompared": [alone]})


def with_readings(record: StudyRecord, values: Mapping[str, Estimate]) -> StudyRecord:
    """The same with a diagnostic `rmse` that was run on each model."""
    entries = [
        ReadingEntry(
            diagnostic={"name": "prediction-error"}, environment={"name": "maze_toy"}, objective=None, arm=model,
            base=model, seed=0, labels={}, sweeps={}, words={}, values={"rmse": estimate_entry(one)},
        )
        for model, one in values.items()
    ]  # fmt: skip
    return record.model_copy(update={"readings": entries})


@st.composite
def results(draw) -> CPGResult:
    """Outcomes of two arms, on the same seeds or on their own."""
    if draw(st.integers(0, 3)) == 0:
        sizes = draw(st.tuples(st.integers(1, 150), st.integers(1, 150)))
        return independent(*((draw(st.integers(0, size) | st.sampled_from([0, size])), size) for size in sizes))
    counts = draw(st.tuples(*[st.integers(0, 30) | st.sampled_from([0, 60, 500])] * 4).filter(any))
    return paired(*counts, errors=draw(st.integers(0, min(3, counts[3]))))


KNOWN = [  # outcomes for each verdict
    (60, 0, 0, 0), (0, 0, 0, 40), (0, 40, 0, 0), (0, 0, 40, 0), (200, 0, 0, 200), (95, 0, 0, 5), (20, 12, 2, 6),
    (0, 10, 0, 20, 15), (0, 0, 0, 5),
]  # fmt: skip
EARLY = [(400, 0, 0, 0), (200, 0, 0, 200), (0, 0, 0, 400), (0, 40, 0, 10), (2, 3, 30, 2), (5, 1, 2, 4)]


@cache
def many_entries(count: int = 30) -> list[CPGEntry]:
    """Gaps of every verdict, half of them at random; made once."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([0.4] * 4, count)
    outcomes = [rng.multinomial(rng.choice([2, 12, 40, 120, 400]), share).tolist() for share in shares]
    early = [entry_of(paired(*counts), cap=sum(counts)) for counts in EARLY]
    return [*(entry_of(paired(*counts)) for counts in [*KNOWN, *outcomes]), *early]


def _by_model(entries: Sequence[CPGEntry]) -> Mapping[str, CPGEntry]:
    return {f"m{place}": one for place, one in enumerate(entries)}


def _cards(floor: tuple[int, int] | None) -> dict[str, ScorecardEntry]:
    return {} if floor is None else {"random": _card("random", *floor)}


def _card(name: str, won: int, count: int) -> ScorecardEntry:
    rows = table(
        success=[place < won for place in range(count)],
        judged=[True] * count,
        steps=[5] * count,
        first_success_step=[5 if place < won else -1 for place in range(count)],
        declared_compute=[5.0] * count,
    )
    return scorecard_entry(scorecard(name, rows))


def _arms(result: CPGResult, cap: int | None = None) -> Arms:
    run = Run(
        "maze_toy", "cem", "state", {"planner": "cem"}, (0,), 50, 0.0, None, None, "task", "distance<=0",
        Stop.SUCCESS, 1, {}, ROWS,
    )  # fmt: skip
    arms = Arms(run, {"m0": run}, run, cap)
    arms._gaps["m0"] = result  # as if these episodes had been run
    return arms


@cache
def _cpg() -> CPGRecord:
    return cpg_record(_arms(paired(1, 1, 1, 1)))


@cache
def _study() -> StudyRecord:
    compared = StudyComparison(StudySetting("maze_toy", {}, {}, {}, {}, {}), _arms(paired(1, 1, 1, 1)))
    return study_record("study", "", [], StudyComparisons([compared], []))
