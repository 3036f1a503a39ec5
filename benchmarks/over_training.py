"""Finding 18: readings and gaps at the checkpoints of six trainings of TD-MPC2, from their committed study.

Numbers of the *first set* are those of six earlier trainings (results/tdmpc2-over-training in commit 9eb5ba4).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from reproduction import RESULTS, result_of
from wmel.contract.cell import ORACLE
from wmel.diagnostics.esnr.over_training import SIDE, CurveShape, Levels, TrainingCurve, u_shape
from wmel.experiments.load import load_study
from wmel.reports.analysis_record_types import EsnrEntry, EsnrRecord
from wmel.reports.esnr_record import TrainingReadings, correlations, joined_esnr_record

STUDY = "tdmpc2-over-training"
PLANNERS = {"random-shooting": "random shooting", "cem": "CEM"}
METHODS = {"fog": "first order", "zog": "zeroth order", "cem": "CEM"}
FULL, BASIC = "full", "basic"
PEAK, LATE, LAST = 70, 4860, 20000  # updates
TWO_ERRORS = 2.0


@cache
def rates() -> Mapping[tuple[str, int, str], float]:
    """Success by planner, seed and arm; each seed has 50 episodes of its own."""
    study = load_study(RESULTS / STUDY)
    return {
        (one.cell.arm.planner["name"], one.cell.seed, one.cell.arm.name): float(one.run.table["success"].mean())
        for one in study.results
        if one.cell.arm.planner is not None and one.run is not None
    }


@cache
def trainings() -> Mapping[str, list[TrainingReadings]]:
    """The trainings of each variant, by seed, with their gaps by planner."""
    records: dict[str, dict[int, dict[int, EsnrRecord]]] = {}
    for cell, read in load_study(RESULTS / STUDY).readings:
        assert read is not None and cell.base is not None
        record = joined_esnr_record([read["data"]], read["provenance"]["versions"])
        records.setdefault(cell.base, {}).setdefault(cell.seed, {})[cell.labels["updates"]] = record
    return {
        variant: [
            TrainingReadings(f"{variant}, seed {seed}", found, _gaps(variant, seed, list(found)))
            for seed, found in sorted(by_seed.items())
        ]
        for variant, by_seed in records.items()
    }


def _gaps(variant: str, seed: int, updates: Sequence[int]) -> dict[str, dict[int, float]]:
    return {
        words: {at: rates()[planner, seed, ORACLE] - rates()[planner, seed, f"{variant}@{at}"] for at in updates}
        for planner, words in PLANNERS.items()
    }


def all_trainings() -> list[TrainingReadings]:
    return [one for runs in trainings().values() for one in runs]


def first_order(run: TrainingReadings, updates: int) -> EsnrEntry:
    return next(one for one in run.records[updates].readings if one.method == "fog" and one.model != ORACLE)


def number(value: float | None) -> float:
    """A value that must be there."""
    if value is None:
        raise SystemExit(f"finding 18 needs every reading of {STUDY}")
    return value


def ratio(run: TrainingReadings, updates: int) -> float:
    return number(first_order(run, updates).esnr.value)


def cosine(run: TrainingReadings, updates: int) -> tuple[float, float, float]:
    """Alignment by first-order gradients, and its interval."""
    aligned = first_order(run, updates).alignment
    assert aligned is not None
    return number(aligned.cosine.value), number(aligned.cosine.low), number(aligned.cosine.high)


def short(value: float) -> str:
    """Two significant digits, without a leading zero."""
    return f"{float(f'{value:.2g}'):g}".replace("0.", ".", 1)


def hundredths(value: float) -> str:
    """Two decimals, without a leading zero; 0 has no sign."""
    text = f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1)
    return {".00": "0", "1.00": "1"}.get(text, text)


def with_interval(found: tuple[float, float, float]) -> str:
    return f"{hundredths(found[0])} [{hundredths(found[1])}, {hundredths(found[2])}]"


def ratios(variant: str, updates: int) -> str:
    """First-order ESNR of the trainings of a variant."""
    return listed(short(ratio(run, updates)) for run in trainings()[variant])


def listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def count(kept: Sequence[Any]) -> str:
    """How many of six trainings."""
    return ("none", "one", "two", "three", "four", "five", "all")[len(kept)]


def change(curve: TrainingCurve, since: int, until: int) -> tuple[float, float]:
    """The factor between two readings, and its logarithm in standard errors."""
    levels = Levels.of(curve)
    one, other = (int(np.flatnonzero(levels.updates == updates)[0]) for updates in (since, until))
    rise = float(levels.values[other] - levels.values[one])
    return float(np.exp(rise)), rise / float(np.hypot(levels.errors[one], levels.errors[other]))


def setting(*_: Any) -> str:
    """The oracle, which is another for each seed of episodes."""
    found = [
        f"{listed(hundredths(rates()[planner, seed, ORACLE]) for seed in range(3))} under {words}"
        for planner, words in PLANNERS.items()
    ]
    return f"The oracle succeeds in {listed(found)} (seeds 0, 1 and 2)."


def u_shapes(*_: Any) -> str:
    curves = {(run.name, method): run.curve(method) for run in all_trainings() for method in run.methods}
    shapes = {name: u_shape(curve) for name, curve in curves.items()}
    if any(found.shape is not CurveShape.NONE for found in shapes.values()):
        raise SystemExit("finding 18 states that no curve has a U-shape")
    one_sided = [name for name, found in shapes.items() if f"{SIDE} are needed on each side" in found.reasons[0]]
    late = [(run, *change(run.curve("fog"), LATE, LAST)) for run in trainings()[BASIC]]
    risen = [run for run, _, errors in late if errors > TWO_ERRORS]
    early = [f"{variant}: {listed(_from_to(run, 1, 4) for run in runs)}" for variant, runs in trainings().items()]
    fallen = [[run for run in runs if ratio(run, 4) < ratio(run, 1)] for runs in trainings().values()]
    return "\n".join(
        [
            f"**(a) No U-shape is claimed** in any of the {len(shapes)} curves (6 trainings, 3 estimators; the test is "
            "in [ESNR](esnr.md#over-a-training)), nor in the 18 of the first set. In "
            f"{len(one_sided)} the lowest smoothed reading has fewer than two checkpoints on one side, so that none "
            "could be claimed there. In the others the rise is missing:",
            "",
            *(
                f"- {METHODS[method]}, {name}: {'; '.join(found.reasons)}."
                for (name, method), found in shapes.items()
                if (name, method) not in one_sided
            ),
            "",
            "Two dips were noticed in the first set, each with one checkpoint on one side. The second set repeats them "
            "in part:",
            "",
            "- **Early**: from 1 to 4 updates first-order ESNR fell in all full trainings and in one basic one. Now "
            f"it falls in {count(fallen[0])} full and {count(fallen[1])} basic ({'; '.join(early)}).",
            "- **Late**: in basic it fell from 14, 16 and 9.6 at 70 updates to 1.2, 1.1 and 1.0 at 4,860, and rose "
            "2.2-, 2.5- and 2.1-fold to the last checkpoint (2.3, 3.4 and 2.6 standard errors of the logarithm). Now "
            f"it falls from {ratios(BASIC, PEAK)} to {ratios(BASIC, LATE)}, and the last reading is "
            f"{listed(short(factor) for _, factor, _ in late)} times that "
            f"({listed(f'{errors:.1f}' for *_, errors in late)} standard errors). All fall again; a rise of more than "
            f"two standard errors is there in {count(risen)} of three.",
        ]
    )


def _from_to(run: TrainingReadings, since: int, until: int) -> str:
    return f"{short(ratio(run, since))} to {short(ratio(run, until))}"


def peaks(*_: Any) -> str:
    highest = {run.name: max(run.records, key=lambda at, run=run: ratio(run, at)) for run in all_trainings()}
    at_peak = [name for name, updates in highest.items() if updates == PEAK]
    apart = listed(
        f"{run.name} ({short(ratio(run, PEAK))} at {PEAK}, {short(ratio(run, highest[run.name]))} at "
        f"{highest[run.name]:,})"
        for run in all_trainings()
        if run.name not in at_peak
    )
    cosines = [cosine(run, PEAK)[0] for run in all_trainings()]
    return "\n".join(
        [
            f"**(b) The peak is no sign of quality.** First-order ESNR is highest at {PEAK} updates in "
            f"{count(at_peak)} of six trainings (full: {ratios(FULL, PEAK)}; basic: {ratios(BASIC, PEAK)}); the other "
            f"is {apart}. In the first set it was highest there in all six (full: 4.6, 23, 5.7; basic: 14, 16, 9.6). "
            "By then at most a quarter of the data has been sampled, and alignment lies between "
            f"{hundredths(min(cosines))} and {hundredths(max(cosines))} (first set: between -.19 and .45). The peak "
            f"itself is partly bias: less the bias that is printed beside it, it is {_unbiased(FULL)} in full and "
            f"{_unbiased(BASIC)} in basic.",
            "",
            "After it basic falls below full:",
            "",
            "| updates | full | basic | pairs of one seed whose intervals do not overlap | first set: full | basic |",
            "|---|---|---|---|---|---|",
            _row(LATE, "3.1, 5.2, 3.4 | 1.2, 1.1, 1.0"),
            _row(LAST, "3.3, 2.5, 2.3 | 2.8, 2.8, 2.2"),
            "",
            f"At {LATE:,} updates basic is lower in all six pairs of both sets, at {LAST:,} in the three of this set "
            "and in two of the first.",
        ]
    )


def _unbiased(variant: str) -> str:
    entries = [first_order(run, PEAK) for run in trainings()[variant]]
    return listed([short(number(one.esnr.value) - number(one.bias.value)) for one in entries if one.bias])


def _row(updates: int, before: str) -> str:
    pairs = list(zip(trainings()[FULL], trainings()[BASIC], strict=True))
    if not all(ratio(basic, updates) < ratio(full, updates) for full, basic in pairs):
        raise SystemExit(f"finding 18 states that basic is below full at {updates} updates")
    apart = [1 for full, basic in pairs if _apart(first_order(basic, updates), first_order(full, updates))]
    return f"| {updates:,} | {ratios(FULL, updates)} | {ratios(BASIC, updates)} | {len(apart)} of 3 | {before} |"


def _apart(one: EsnrEntry, other: EsnrEntry) -> bool:
    return number(one.esnr.high) < number(other.esnr.low)


def alignments(*_: Any) -> str:
    lines = [
        "| | after 1 update | after 4,860 | after 20,000 | first set: 1 | 20,000 |",
        "|---|---|---|---|---|---|",
    ]
    before = {FULL: ("-.26, -.23, -.23", ".80, .25, .56"), BASIC: ("-.10, .14, .14", ".73, .77, .67")}
    for variant, runs in trainings().items():
        for seed, run in enumerate(runs):
            cells = [with_interval(cosine(run, updates)) for updates in (1, LATE, LAST)]
            earlier = [text.split(", ")[seed] for text in before[variant]]
            lines.append(f"| {run.name} | {' | '.join([*cells, *earlier])} |")
    everything = all_trainings()
    first, last = ([cosine(run, updates) for run in everything] for updates in (1, LAST))
    grown = [1 for one, other in zip(first, last, strict=True) if other[0] > one[0]]
    apart = [1 for one, other in zip(first, last, strict=True) if other[1] > one[2]]
    shown = [one for one in last if one[1] > 0]
    held = [one for one in first if one[1] <= 0 <= one[2]]
    return "\n".join(
        [
            f"**(c) Alignment grows** from the first to the last checkpoint in {count(grown)} of six trainings; the "
            f"intervals lie apart in {count(apart)}. It is shown to be above 0 at the end in {count(shown)}:",
            "",
            *lines,
            "",
            f"After one update {count(held)} of six intervals hold 0. In the first set the true gradient had the noise "
            "of the model's gradients, which raises cosines where ESNR is low; now it has its own "
            "([decision 0016](decisions/0016-esnr-covers-its-own-expectation.md)). How much of the difference between "
            "the sets is due to that cannot be separated, because the trainings are others too. The oracle's own "
            f"first-order alignment is {_truth()} at these states: the noise of the true gradient lowers a cosine by "
            "no more than that. Where the ESNR of a model is low, its own noise lowers it further.",
        ]
    )


def _truth() -> str:
    found = [
        number(one.alignment.cosine.value)
        for run in all_trainings()
        for record in run.records.values()
        for one in record.readings
        if one.model == ORACLE and one.method == "fog(fd)" and one.alignment is not None
    ]
    return f"{hundredths(min(found))} to {hundredths(max(found))}"


def gaps(*_: Any) -> str:
    updates = list(all_trainings()[0].records)
    lines = [
        f"| training, planner | {' | '.join(f'{at:,}' for at in updates)} |",
        f"|---|{'---|' * len(updates)}",
    ]
    jumps, lowest, negative = [], {}, 0
    for run in all_trainings():
        for planner, column in run.beside.items():
            values = [column[at] for at in updates]
            lines.append(f"| {run.name}, {planner} | {' | '.join(map(hundredths, values))} |")
            jumps.append(float(np.abs(np.diff(values)).max()))
            lowest[run.name, planner] = updates[int(np.argmin(values))]
            negative += sum(round(one, 9) < 0 for one in values)
    places = [listed(f"{lowest[run.name, planner]:,}" for run in trainings()[BASIC]) for planner in PLANNERS.values()]
    early, weak = trainings()[BASIC][0], trainings()[BASIC][2]
    if any(early.beside[words][PEAK] < rates()[planner, 0, ORACLE] for planner, words in PLANNERS.items()):
        raise SystemExit(f"finding 18 states that {early.name} never succeeds after {PEAK} updates")
    return "\n".join(
        [
            f"**(d) The gap jumps.** Each is of 50 episodes. The largest difference between neighbouring checkpoints "
            f"is {hundredths(min(jumps))} to {hundredths(max(jumps))}, by training and planner:",
            "",
            *lines,
            "",
            "In the first set the gap of basic was lowest at 1,181 updates in all three seeds under both planners. "
            f"This is not repeated: it is lowest at {places[0]} updates under random shooting and at {places[1]} "
            "under CEM.",
            "",
            f"{negative} of {2 * len(updates) * 6} gaps are negative, and a small gap does not come from good "
            f"gradients. After 4 updates {early.name} has an alignment of {with_interval(cosine(early, 4))} and gaps "
            f"of {hundredths(early.beside['random shooting'][4])} and {hundredths(early.beside['CEM'][4])}; after "
            f"{PEAK} updates the alignment is {with_interval(cosine(early, PEAK))}, and it never succeeds. After "
            f"{PEAK} updates {weak.name} has an alignment of {with_interval(cosine(weak, PEAK))} and succeeds in "
            f"{_success(weak, 2, PEAK)} under CEM, the oracle in {hundredths(rates()['cem', 2, ORACLE])}. To succeed, "
            "the pole must be upright only once; how these models achieve that was not examined.",
        ]
    )


def _success(run: TrainingReadings, seed: int, updates: int) -> str:
    return hundredths(rates()["cem", seed, ORACLE] - run.beside["CEM"][updates])


def correlated(*_: Any) -> str:
    found = [one for runs in trainings().values() for one in correlations(runs)]
    kinds = {"ESNR": " ESNR", "alignment": " alignment", "placebo": "(placebo)"}
    spans = {
        kind: [number(one.found.partial.value) for one in found if one.predictor.endswith(end)]
        for kind, end in kinds.items()
    }
    spans["plain"] = [
        number(one.found.rho.value) for one in correlations(trainings()[FULL]) if one.predictor.endswith(kinds["ESNR"])
    ]
    words = {kind: f"{hundredths(min(values))} and {hundredths(max(values))}" for kind, values in spans.items()}
    below = sum(one < 0 for one in spans["ESNR"])
    return (
        "**(e) No reading is shown to correlate with the gap** beyond what the number of updates explains. Spearman's "
        "correlation given the updates, averaged over three runs, lies between "
        f"{words['ESNR']} for ESNR (first set: -.09 and .47) and between {words['alignment']} for alignment (.08 and "
        f".37). The oracle's ESNR does not learn, and has as much: {words['placebo']} (-.47 and .44). A negative "
        f"correlation would be the right direction, because a larger gap is worse: {below} of "
        f"{len(spans['ESNR'])} are negative for ESNR, 2 of 12 in the first set. Where the updates are not taken "
        f"out, ESNR and gap of full have between {words['plain']}: over training ESNR grows and the gap falls. Three "
        "runs are too few for intervals, which need ten."
    )


def recipes(*_: Any) -> str:
    """What the gaps of the study allow to say of a recipe."""
    found = [gap for one in result_of(STUDY).comparisons for gap in one.gaps.values()]
    labels = [gap.verdict for gap in found]
    shown = {
        words: [
            gap.claims is not None and (gap.claims.this_training_recipe.low or 0) > 0
            for one in result_of(STUDY).comparisons
            if one.name.endswith(f"/{planner}")
            for gap in one.gaps.values()
        ]
        for planner, words in PLANNERS.items()
    }
    parts = [f"{sum(above)} of {len(above)} under {words}" for words, above in shown.items()]
    return (
        f"Pooled over the three seeds (150 pairs), {labels.count('MODEL BOTTLENECK')} of {len(found)} gaps are MODEL "
        f"BOTTLENECK and {labels.count('INCONCLUSIVE')} INCONCLUSIVE: a claim about these checkpoints. About the "
        f"recipe, with these stored episodes, intervals lie above 0 in {listed(parts)}."
    )


SECTIONS = {
    "over training, the oracle": setting,
    "over training, U-shapes": u_shapes,
    "over training, peaks": peaks,
    "over training, alignment": alignments,
    "over training, gaps": gaps,
    "over training, correlations": correlated,
    "over training, recipes": recipes,
}
