"""The record and the report of the ceiling bounce."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from wmel.diagnostics.ceiling_bounce.panel import ANGLES, REACHED, SIGMA, Panel, PanelReading
from wmel.diagnostics.ceiling_bounce.problem import landscape
from wmel.errors import BadRecord, shorten
from wmel.reports.analysis_record_types import EstimatorEntry, PanelEntry, ToyRecord
from wmel.reports.cells import bounds, count_words, listed_words, stamp_words, undefined
from wmel.reports.document import (
    Document,
    Figure,
    Points,
    Section,
    Table,
    TableCell,
    TableColumn,
    Text,
    draw_figure,
)
from wmel.reports.record_entries import estimate_entry, estimate_from
from wmel.reports.record_types import stamp
from wmel.stats.estimate import Estimate


def toy_record(panels: Sequence[Panel]) -> ToyRecord:
    """What every estimator did at every launch speed; the landscape follows from the speed."""
    return ToyRecord(
        **stamp(),
        kind="toy",
        panels=[PanelEntry(speed=one.speed, estimators=[_entry(read) for read in one.readings]) for one in panels],
    )


def recorded_panels(record: ToyRecord) -> list[Panel]:
    """The panels a record was made from."""
    return [Panel(landscape(one.speed, SIGMA), ANGLES, tuple(map(_reading, one.estimators))) for one in record.panels]


def _entry(read: PanelReading) -> EstimatorEntry:
    return EstimatorEntry(
        name=read.name,
        ratios=[float(one) if np.isfinite(one) else None for one in read.ratios],
        literal=read.literal,
        right_sign=estimate_entry(read.right_sign),
        heights=read.heights.tolist(),
    )


def _reading(entry: EstimatorEntry) -> PanelReading:
    ratios = np.array([np.nan if one is None else one for one in entry.ratios])
    if len(ratios) != len(ANGLES):
        raise BadRecord(f"{shorten(entry.name)} has {len(ratios)} ratios, and there are {len(ANGLES)} angles")
    return PanelReading(entry.name, ratios, entry.literal, estimate_from(entry.right_sign), np.array(entry.heights))


TITLE = "Ceiling bounce: ESNR and ascent"
ABOUT = (
    "A ball is launched at an angle and may bounce off a ceiling; steeper launches clear its edge and fly further, so "
    "that distance jumps up behind a valley. Estimators of the gradient under noise on the angle are compared by "
    "their ESNR and by how they climb from angle 0, each with 64 rollouts per step of Adam."
)
SHADE = "The ball meets the ceiling at the shaded angles."
FIGURES = {  # function of toy_figures -> title and legend
    "landscape_figure": (
        "Distance over the angle",
        f"{SHADE} The distance jumps up where they end; the dotted line is the longest distance.",
    ),
    "ratios_figure": (
        "ESNR per rollout over the angle",
        f"{SHADE} On the logarithmic axis ratios that are not above 0 once corrected for bias are not drawn.",
    ),
    "ascents_figure": (
        "Ascents",
        "Height is the mean distance under noise as a share of the longest. Bands hold 80% of the seeds; dotted: 95%.",
    ),
}
MOSTLY_FLAT = 0.05  # radians around 0, where distance hardly curves


def toy_document(panels: Sequence[Panel]) -> Document:
    """The whole report."""
    speeds = [
        Section(f"Launch at {panel.speed:g} m/s", [toy_table(panel), Points.of(toy_sentences(panel))])
        for panel in panels
    ]
    figures = [_figures(name, title, legend, panels) for name, (title, legend) in FIGURES.items()]
    sections = [*speeds, *figures, Section("Columns", [Points.of(column_words())], is_detail=True)]
    shared = [Text(ABOUT), Text(describe_panels(panels), True)]
    return Document(TITLE, toy_answer(panels), shared, sections, stamp_words(toy_record(panels)))


def _figures(name: str, title: str, legend: str, panels: Sequence[Panel]) -> Section:
    """One figure for each speed."""
    found = [
        Figure(
            f"{name.removesuffix('_figure')}-{place}",
            f"{title}, launch at {panel.speed:g} m/s",
            partial(draw_figure, f"toy_figures:{name}", panel),
            "" if place else legend,
        )
        for place, panel in enumerate(panels)
    ]
    return Section(title, found, is_detail=True)


def describe_panels(panels: Sequence[Panel]) -> str:
    """By what noise, at which angles and from how many seeds."""
    first, speeds = panels[0], ", ".join(f"{one.speed:g}" for one in panels)
    angles = f"{len(first.angles)} angles from {first.angles[0]:g} to {first.angles[-1]:g} rad"
    return f"launch at {speeds} m/s; noise {first.landscape.sigma:g} rad; {angles}; {first.seeds} seeds per ascent"


def toy_table(panel: Panel) -> Table:
    """One row per estimator."""
    titles = ("ESNR/rollout", "median", "ESNR/64", "literal", "right sign", "AUC", f"reach {REACHED:.0%}", "its")
    columns = (TableColumn("estimator", False), *map(TableColumn, titles))
    return Table(f"Launch at {panel.speed:g} m/s", columns, tuple(map(_row, panel.readings)))


def column_words() -> list[str]:
    """What the columns of the table are."""
    return [
        "ESNR/rollout, median: over the angles, corrected for bias, for one rollout; ESNR/64 is 64 times that mean.",
        "literal: the paper's ratio, uncorrected: of the raw elite mean, for as many rollouts as a gradient takes.",
        "right sign: share of the angles within two deviations of noise from the contact at which the mean gradient "
        "has the sign of the true one, that of the mean distance under noise; CEM climbs its best rollouts and not "
        "that mean, so that it may rightly differ.",
        f"AUC: mean over iterations of the height, which is the mean distance under noise as a share of the longest "
        f"there is; reach: share of seeds that come to a height of {REACHED:.0%}; its: iterations until half of them "
        "have. Intervals are 95%, over seeds.",
    ]


def toy_sentences(panel: Panel) -> list[str]:
    """What the numbers say at one speed."""
    return [
        _landscape_words(panel),
        _first_order_words(panel),
        *_shape_words(panel),
        *_sign_words(panel),
        *_rank_words(panel),
    ]


def toy_answer(panels: Sequence[Panel]) -> str:
    """Whether the estimator with the highest ESNR is the one that climbs best."""
    found = [panel for panel in panels if _is_slower(_leader(panel), _fastest(panel))]
    if any(one.speed_of_ascent.low is None for panel in panels for one in panel.readings) and not found:
        seeds = f"{count_words(panels[0].seeds, 'seed')} give no interval"
        return f"Cannot tell whether the estimator with the highest ESNR climbs as fast as any: {seeds}."
    if not found:
        return (
            f"No difference: {_launches(panels)} no estimator is shown to climb faster than the one with the highest "
            "ESNR."
        )
    worst = min(found, key=lambda one: _leader(one).reached.value or 0)
    leader, fastest = _leader(worst), _fastest(worst)
    return (
        f"No: a high ESNR does not show which gradients climb ({_launches(found)} of {len(panels)}). At "
        f"{worst.speed:g} m/s {leader.name} has the highest ESNR ({_short(leader.mean)} per rollout) and comes to "
        f"{REACHED:.0%} of the longest distance in {_share(leader.reached)} of the seeds; {fastest.name} "
        f"({_short(fastest.mean)}) climbs faster and comes to it in {_share(fastest.reached)}."
    )


def _launches(panels: Sequence[Panel]) -> str:
    return f"in {count_words(len(panels), 'launch', 'launches')}"


def _leader(panel: Panel) -> PanelReading:
    """The estimator with the highest ESNR per rollout."""
    return max(panel.readings, key=lambda one: one.mean)


def _fastest(panel: Panel) -> PanelReading:
    return max(panel.readings, key=_auc)


def _is_slower(one: PanelReading, other: PanelReading) -> bool:
    """Whether the intervals of their ascents do not overlap."""
    own, reference = one.speed_of_ascent, other.speed_of_ascent
    return own.high is not None and reference.low is not None and own.high < reference.low


def _shape_words(panel: Panel) -> list[str]:
    """How much of the mean ESNR of first-order gradients a few angles contribute, where no share is negative."""
    ratios = np.nan_to_num(panel.first_order.ratios)
    total, flat = ratios.sum(), ratios[abs(panel.angles) <= MOSTLY_FLAT].sum()
    if not 0 <= flat <= total or total == 0:
        return []
    words = f"{flat / total:.0%} of the mean ESNR of FoG comes from angles within {MOSTLY_FLAT:g} of 0"
    if flat <= total / 2:
        return [f"{words}."]
    return [f"{words}, where the distance has no curvature to make noise of: the mean depends on the angles chosen."]


def _landscape_words(panel: Panel) -> str:
    land = panel.landscape
    if land.contact_interval is None or land.jump_up is None or land.best_before_contact is None:
        return (
            f"The ball never meets the ceiling; it flies {land.best:.2f} m at best, launched at {land.best_angle:.3f}."
        )
    low, high = land.contact_interval
    return (
        f"The ball meets the ceiling at angles {low:.3f} to {high:.3f}; then the distance jumps up by "
        f"{land.jump_up:.2f} m. Before the contact it is {land.best_before_contact:.2f} m at best, behind it "
        f"{land.best:.2f} m."
    )


def _first_order_words(panel: Panel) -> str:
    fog, fastest = panel.first_order, _fastest(panel)
    rank = 1 + sum(one.mean > fog.mean for one in panel.readings)
    place = "the highest ESNR per rollout" if rank == 1 else f"ESNR per rollout of rank {rank}"
    found = (
        f"First-order gradients (FoG) have {place} (mean {fog.mean:.4g}, median {fog.median:.3g}) and come to "
        f"{REACHED:.0%} of the longest distance under noise in {_share(fog.reached)} of the seeds"
    )
    if _auc(fog) == _auc(fastest):
        return f"{found}; no AUC is higher ({_auc(fog):.3f})."
    shown = "climbs faster" if _is_slower(fog, fastest) else "is not shown to climb faster"
    return (
        f"{found} (AUC {_auc(fog):.3f}); {fastest.name}, with {fastest.mean:.3g} per rollout, {shown} (AUC "
        f"{_auc(fastest):.3f}) and gets there in {_share(fastest.reached)}."
    )


def _sign_words(panel: Panel) -> list[str]:
    right = panel.first_order.right_sign
    if right.value is None:
        return []
    return [
        f"Around the contact the mean gradient of FoG has the true sign at {right.value:.0%} of {right.n} angles: it "
        "is the derivative between jumps, and no number of rollouts shows it the jump."
    ]


def _rank_words(panel: Panel) -> list[str]:
    whole, without = panel.correlation(), panel.correlation(panel.without_first_order)
    highest, count = max(one.literal for one in panel.readings), len(panel.readings)
    tops = [one for one in panel.readings if one.literal == highest]
    places = [f"{one.name} (number {1 + sum(_auc(other) > _auc(one) for other in panel.readings)})" for one in tops]
    return [
        f"Rank correlation (Spearman) of ESNR per rollout with AUC: {_format_signed(whole)} over {count} estimators, "
        f"{_format_signed(without)} without FoG.",
        f"The paper's literal number is highest, {highest:,.0f}, for {listed_words(places)} of {count} by AUC.",
    ]


def _row(one: PanelReading) -> tuple[TableCell, ...]:
    return (
        TableCell(one.name),
        TableCell(_short(one.mean)),
        TableCell(_short(one.median)),
        TableCell(_short(one.per_population)),
        TableCell(_short(one.literal)),
        _cell(one.right_sign, 2),
        _cell(one.speed_of_ascent, 3),
        _cell(one.reached, 2),
        _cell(one.median_iterations, 0),
    )


def _cell(estimate: Estimate, digits: int) -> TableCell:
    """A value with its interval, where it has one."""
    if estimate.value is None:
        return undefined(estimate.reason)
    interval = "" if estimate.low is None else f" {bounds(estimate, digits)}"
    return TableCell(f"{estimate.value:.{digits}f}{interval}")


def _short(value: float) -> str:
    """Three digits, and all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _format_signed(estimate: Estimate) -> str:
    return f"n/a ({estimate.reason})" if estimate.value is None else f"{estimate.value:+.2f}"


def _share(estimate: Estimate) -> str:
    """Of seeds, so that a few of many are not called none."""
    value = estimate.value or 0.0
    return f"{value:.1%}" if 0 < value < 0.1 else f"{value:.0%}"


def _auc(one: PanelReading) -> float:
    return one.speed_of_ascent.value or 0.0
