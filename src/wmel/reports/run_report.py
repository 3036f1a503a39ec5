"""The report of a run: its scorecard, and where states were visited."""

from functools import partial

from wmel.analysis.scorecard import Scorecard
from wmel.reports.arms import coverage_section
from wmel.reports.document import Document, Figure, Section, Table, TableCell, TableColumn, Text, draw_figure
from wmel.reports.json_envelope import RunRecord
from wmel.reports.words import bounds, count_words, describe_setting, number, stamp_words

NEEDS_REWARDS = ("average_return",)
NEEDS_PERTURBATION = ("perturbation_recovery_rate", "perturbation_recovery_ratio")


def run_document(record: RunRecord, card: Scorecard) -> Document:
    """One line per metric; those of rewards and perturbations are left out where there are none."""
    metadata = record.metadata
    unrequested = (*NEEDS_REWARDS, *(NEEDS_PERTURBATION if metadata.perturbation is None else ()))
    shown = {
        name: one
        for name, one in card.estimates.items()
        if one.is_defined or name not in unrequested or name in metadata.metrics
    }
    rows = tuple(
        (
            TableCell(name),
            TableCell(number(one), value=one.value),
            TableCell(bounds(one)),
            TableCell(str(one.n), value=one.n),
            TableCell(one.method if one.is_defined else one.reason),
        )
        for name, one in shown.items()
    )
    titles = ("value", "95% interval", "n")
    columns = (TableColumn("metric", False), *map(TableColumn, titles), TableColumn("note", False))
    setting = describe_setting(metadata, f"{metadata.episodes} of at most {metadata.horizon} steps")
    sections = [
        Section("Scorecard", [Table(f"Scorecard of {metadata.policy}", columns, rows)]),
        Section("Outcomes", [Figure("outcomes", "Every episode", partial(draw_figure, "figures:outcomes", record))]),
        coverage_section({metadata.policy: record.coverage}),
    ]
    title = f"{metadata.policy} in {metadata.env}"
    return Document(title, run_answer(record), [Text(setting, True)], sections, stamp_words(record))


def run_answer(record: RunRecord) -> str:
    """What a run comes to, in a sentence."""
    metadata, estimates = record.metadata, record.scorecard.estimates
    success, back = estimates["success_rate"], estimates["average_return"]
    what = f"{metadata.policy}{'' if metadata.model is None else f' on {metadata.model}'} in {metadata.env}"
    episodes, errors = count_words(metadata.episodes, "episode"), sum(row.error is not None for row in record.results)
    broke = f"; {count_words(errors, 'episode')} broke" if errors else ""
    if success.value is not None:
        rate = f"{success.value:.3f} [{success.low:.3f}, {success.high:.3f}]"
        return f"{what} succeeds in {rate} of {episodes}{f'{broke}, which is no success' if errors else ''}."
    if back.value is not None:
        unjudged = "no criterion of success was given"
        return f"{what} returns {back.value:.1f} on average over {count_words(back.n, 'episode')}; {unjudged}{broke}."
    return f"{what} ran {episodes}; success: {success.reason}{broke}."
