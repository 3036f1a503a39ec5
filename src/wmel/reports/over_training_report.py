"""The report of ESNR over training: its shape, its curves and what goes together with it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wmel.diagnostics.esnr.over_training import (
    CurveShape,
    Levels,
    TrainingCurve,
    UShape,
    left_biased_region,
    u_shape,
    updates_words,
)
from wmel.reports import esnr_report
from wmel.reports.analysis_record_types import EsnrEntry
from wmel.reports.cells import count_words, listed_words, short, stamp_words, undefined, with_interval
from wmel.reports.document import Document, Figure, Points, Section, Table, TableCell, TableColumn, Text, draw_figure
from wmel.reports.esnr_record import TrainingReadings, columns_of, correlations, is_dead, over_training_record
from wmel.reports.record_entries import estimate_entry

LEGEND = (
    "Intervals are 95%. Open triangles: readings not above 0, at the upper end of their intervals; an ESNR of exactly "
    "0 is not drawn. Dotted: where a U-shape is lowest, smoothed. Grey: the oracle, which does not learn, at the same "
    "noise."
)


def over_training_document(trainings: Sequence[TrainingReadings]) -> Document:
    """The whole report."""
    curves = [
        Section(f"ESNR by {method} over training", _figures(trainings, method), is_detail=True)
        for method in trainings[0].methods
    ]
    sections = [
        Section("What the readings show", [Points.of(training_sentences(trainings))]),
        *curves,
        Section("Beside it", [correlation_table(trainings), *_beside(trainings)]),
        Section("Numbers", [training_table(trainings)]),
    ]
    title = f"ESNR over training in {next(iter(trainings[0].records.values())).environment}"
    shared = [Text(describe_trainings(trainings), True)]
    return Document(title, answer_words(trainings), shared, sections, stamp_words(over_training_record(trainings)))


def _figures(trainings: Sequence[TrainingReadings], method: str) -> list[Figure]:
    """The ratios of a method, and where its gradients point."""

    def figure_maker(name: str) -> Callable[[], Any]:
        return partial(draw_figure, f"esnr_figures:{name}", trainings, method)

    found = [Figure(f"ratios-{method}", f"ESNR by {method} over training", figure_maker("ratios_figure"), LEGEND)]
    if any(entry.alignment is not None for one in trainings for entry in one.entries(method)):
        aligned = f"Alignment by {method} with the true gradients"
        found.append(Figure(f"alignments-{method}", aligned, figure_maker("alignments_figure")))
    return found


def _beside(trainings: Sequence[TrainingReadings]) -> list[Figure]:
    """Figures of numbers from elsewhere: over training, and against ESNR."""
    home, drawings = "esnr_figures", []
    for column in columns_of(trainings):
        drawings.append((f"{column} over training", partial(draw_figure, f"{home}:column_figure", trainings, column)))
        for method in trainings[0].methods:
            draw = partial(draw_figure, f"{home}:scatter_figure", trainings, column, method)
            drawings.append((f"{column} against ESNR by {method}", draw))
    return [Figure(f"beside-{place}", title, draw) for place, (title, draw) in enumerate(drawings)]


def training_table(trainings: Sequence[TrainingReadings]) -> Table:
    """One row per run and checkpoint."""
    methods = trainings[0].methods
    titles = [title for method in methods for title in (method, f"{method} cos")]
    rows = []
    for one in trainings:
        entries = zip(*(one.entries(method) for method in methods), strict=True)
        for updates, read in zip(one.records, entries, strict=True):
            cells = [cell for entry in read for cell in (_ratio(entry), _cosine(entry))]
            rows.append((TableCell(one.name), TableCell(str(updates)), *cells))
    columns = (TableColumn("run", False), TableColumn("updates"), *map(TableColumn, titles))
    return Table("ESNR over training", columns, tuple(rows), names=2)


def correlation_table(trainings: Sequence[TrainingReadings]) -> Table:
    """One row per column from elsewhere and what it may go together with."""
    titles = (
        TableColumn("with", False),
        TableColumn("number", False),
        TableColumn("Spearman"),
        TableColumn("given updates"),
    )
    rows = tuple(
        (
            TableCell(one.column),
            TableCell(one.predictor),
            with_interval(estimate_entry(one.found.rho)),
            with_interval(estimate_entry(one.found.partial)),
            TableCell(", ".join(short(run.value) for run in one.found.by_run)),
        )
        for one in correlations(trainings)
    )
    return Table("What goes together within runs", (*titles, TableColumn("each run")), rows, names=2)


def training_sentences(trainings: Sequence[TrainingReadings]) -> list[str]:
    """The verdict of every run and estimator, and what must be known to read it."""
    curves = {(one.name, method): one.curve(method) for one in trainings for method in one.methods}
    sentences = [f"{name}, {method}: {_verdict(curve)}." for (name, method), curve in curves.items()]
    return [*sentences, *_caveats(trainings, list(curves.values()))]


def answer_words(trainings: Sequence[TrainingReadings]) -> str:
    """Whether ESNR falls before it rises, in a sentence."""
    shapes = {method: [u_shape(one.curve(method)).shape for one in trainings] for method in trainings[0].methods}
    everything = [shape for found in shapes.values() for shape in found]
    shown, few = (everything.count(shape) for shape in (CurveShape.U, CurveShape.TOO_FEW))
    runs, methods = count_words(len(trainings), "run"), listed_words(list(shapes))
    rises = f"ESNR fall and rise again over training in {next(iter(trainings[0].records.values())).environment}"
    left = f"; {few} of {count_words(len(everything), 'curve')} with too few checkpoints to tell" if few else ""
    if few == len(everything):
        return f"Cannot tell whether {runs} {_shows(len(trainings))} {rises}: too few checkpoints have an ESNR."
    if not shown:
        return f"No: none of {runs} shows {rises} (by {methods}{left})."
    if shown == len(everything):
        return f"Yes: {runs} {_shows(len(trainings))} {rises} (by {methods})."
    counts = [f"{found.count(CurveShape.U)} of {runs} by {method}" for method, found in shapes.items()]
    return f"In part: {', '.join(counts)} show {rises}{left}."


def _shows(count: int) -> str:
    return "shows" if count == 1 else "show"


def describe_trainings(trainings: Sequence[TrainingReadings]) -> str:
    """The states and the objective at which the checkpoints were read."""
    first = next(iter(trainings[0].records.values()))
    return f"{esnr_report.describe_readings(first)}; fresh noise at every checkpoint"


def _verdict(curve: TrainingCurve) -> str:
    found, left = u_shape(curve), left_biased_region(curve)
    rule = "the online rule never fires" if left is None else f"the online rule fires after {updates_words(left)}"
    if found.shape is not CurveShape.U:
        return f"{found.shape.value}: {'; '.join([*found.reasons, *_single_words(curve, found)])}; {rule}"
    assert found.fall is not None and found.rise is not None and found.minimum is not None
    after = updates_words(found.minimum)
    if found.lowest == 0:
        moved = f"falls to 0 after {after} and rises again"
    else:
        fall, rise = (f"{np.exp(change):.3g}-fold" for change in (found.fall, found.rise))
        least, most = ("at least ", "at most ") if found.is_near_zero else ("", "")
        lowest = f"{most}{short(found.lowest)}"
        moved = f"falls {least}{fall} to {lowest} after {after} and rises {least}{rise} to the last"
    return f"{found.shape.value}: {'; '.join([f'smoothed, ESNR {moved}', *_single_words(curve, found)])}; {rule}"


def _single_words(curve: TrainingCurve, found: UShape) -> list[str]:
    """The lowest reading where smoothing moved it to another checkpoint."""
    known = np.isin(curve.updates, Levels.of(curve).updates)
    if found.minimum is None or not known.any():
        return []
    place = int(np.argmin(np.where(known, curve.esnr, np.inf)))
    updates, lowest = int(curve.updates[place]), float(curve.esnr[place])
    if updates == found.minimum:
        return []
    return [f"its lowest reading is {short(lowest)} after {updates_words(updates)}"]


def _caveats(trainings: Sequence[TrainingReadings], curves: Sequence[TrainingCurve]) -> list[str]:
    levels = [Levels.of(curve) for curve in curves]
    unknown = sum(len(curve.esnr) - len(known.values) for curve, known in zip(curves, levels, strict=True))
    sentences = []
    if any((curve.esnr == 0).any() for curve in curves):
        sentences.append(
            "An ESNR of 0 means that every gradient is exactly zero, as where a reward head starts at zero: the "
            "U-shape takes it for the lowest there is, the online rule passes over it."
        )
    if any(known.near_zero.any() for known in levels):
        sentences.append(
            "A reading whose interval holds 0 counts as its upper end where it is lowest, and nowhere as a height."
        )
    if unknown:
        sentences.append(f"{unknown} readings have no ESNR and are left out.")
    if any(entry.alignment is not None for one in trainings for entry in one.entries(one.methods[0])):
        sentences.append(
            "cos: alignment, the cosine of the mean gradient with the oracle's slope, whose noise is its own."
        )
    sentences.append(
        "A U-shape is claimed only if the median of 3 neighbours falls and rises by more than two standard errors, "
        "with 2 checkpoints on either side. The online rule waits for two checkpoints above the lowest so far; "
        "without any change it fires in up to one run of eight at 12 checkpoints."
    )
    if any(one.beside for one in trainings):
        sentences.append(
            "Correlations are means over runs of ranks within each, from the lowest checkpoint on where there is a "
            "U-shape; both numbers may follow the updates and nothing else, which the column given updates takes out. "
            "The oracle does not learn: what its ESNR goes together with is chance."
        )
    return sentences


def _ratio(one: EsnrEntry) -> TableCell:
    if is_dead(one):
        return TableCell("0 (dead)")
    cell = with_interval(one.esnr)
    if one.bias is None or one.bias.value is None:
        return cell
    return cell._replace(text=f"{cell.text}, bias {one.bias.value:+.2g}")


def _cosine(one: EsnrEntry) -> TableCell:
    if one.alignment is None:
        return undefined("no truth to compare with")
    cosine = one.alignment.cosine
    return undefined(cosine.reason) if cosine.value is None else TableCell(f"{cosine.value:.2f}")
