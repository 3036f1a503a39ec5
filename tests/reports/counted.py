"""Records of gaps whose outcomes are counted instead of run: all that follows from the counts is wmel's own."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from hypothesis import strategies as st

from tests.analysis.tables import table
from wmel.analysis.gap import CPGResult, counterfactual_planning_gap
from wmel.analysis.pooling import Arms, StudyComparison, StudyComparisons, StudySetting
from wmel.contract.criterion import Stop
from wmel.reports.cpg_record import cpg_entry, cpg_record
from wmel.reports.envelopes import ComparedEntry, StudyRecord
from wmel.reports.json_envelope import CPGEntry, CPGRecord
from wmel.reports.study_record import study_record
from wmel.schema import Run
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
    return cpg_entry(_arms(result, cap), "m0")


def cpg_of(entries: Sequence[CPGEntry]) -> CPGRecord:
    """The record of a comparison of models m0, m1, ... in one setting."""
    return _cpg().model_copy(update={"cpgs": _by_model(entries)})


def study_of(settings: Sequence[Sequence[CPGEntry]]) -> StudyRecord:
    """The record of a study of such models at planning horizons 1, 2, ..., corrected over all gaps."""
    flat = [entry for entries in settings for entry in entries]
    p_values = {place: one.mid_p.value for place, one in enumerate(flat) if one.mid_p.value is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())).tolist(), strict=True)) if p_values else {}
    compared = iter(
        [
            ComparedEntry(**one.model_dump(), mid_p_holm=adjusted.get(place), claims=None)
            for place, one in enumerate(flat)
        ]
    )
    base = _study().comparisons[0]
    comparisons = [
        base.model_copy(
            update={"labels": {"plan_horizon": horizon}, "gaps": _by_model([next(compared) for _ in entries])}
        )
        for horizon, entries in enumerate(settings, 1)
    ]
    return _study().model_copy(update={"comparisons": comparisons})


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
