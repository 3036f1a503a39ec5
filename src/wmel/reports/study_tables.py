"""The tables of a study: every gap, the arms and gaps of one comparison, and the cells that are missing."""

from collections.abc import Mapping

from wmel.analysis.verdict import shown
from wmel.contract.labels import label_words
from wmel.reports.cpg_record import EARLY
from wmel.reports.json_envelope import CoverageEntry
from wmel.reports.study_cells import (
    StudyTable,
    TableCell,
    TableColumn,
    estimate_cell,
    metric_bounds,
    metric_cell,
    p_value_cell,
    undefined,
)
from wmel.reports.study_envelope import ComparisonEntry, StudyRecord
from wmel.reports.study_gaps import StudyGap, gaps_of, study_gaps
from wmel.stats.estimate import Estimate


def summary_table(record: StudyRecord) -> StudyTable:
    """Every gap in a line."""
    numbers = ("gap", "95% interval", "mid-p", "Holm mid-p", "n")
    columns = (
        TableColumn("comparison", False),
        TableColumn("model", False),
        *([TableColumn("verdict (paper)", False)] if record.paper_first else []),
        TableColumn("verdict", False),
        *map(TableColumn, numbers),
    )
    rows = tuple(
        (
            TableCell(gap.comparison.name),
            TableCell(gap.title),
            *([_paper_verdict(gap)] if record.paper_first else []),
            TableCell(gap.entry.verdict),
            TableCell(f"{gap.entry.gap:+.3f}"),
            TableCell(shown(_interval(gap))),
            p_value_cell(gap.entry.mid_p.value, gap.entry.mid_p.reason),
            _adjusted(gap),
            TableCell(_episodes(gap)),
        )
        for gap in study_gaps(record)
    )
    return StudyTable("Every gap of the study", columns, rows, names=2)


def arms_table(comparison: ComparisonEntry) -> StudyTable:
    """What each arm reached and cost."""
    metrics = {
        "steps to success": ("average_steps_to_success", 1),
        "compute/decision": ("average_compute_per_decision", 1),
        "latency ms": ("average_planning_latency_ms", 2),
        "return": ("average_return", 1),
        "pre-solved": ("pre_solved_rate", 3),
        "errors": ("error_rate", 3),
        **{name: (name, 3) for name in comparison.setting.metrics},
    }
    own = comparison.arm_labels
    labels = list(dict.fromkeys(label for arm in comparison.scorecards for label in own.get(arm, {})))
    columns = (
        TableColumn("arm", False),
        *(TableColumn(label, False) for label in labels),
        *map(TableColumn, ("success", "95% CI", *metrics, "n")),
    )
    rows = tuple(
        (
            TableCell(arm),
            *(TableCell(label_words(own.get(arm, {}).get(label, ""))) for label in labels),
            metric_cell(card, "success_rate"),
            metric_bounds(card, "success_rate"),
            *(metric_cell(card, name, digits) for name, digits in metrics.values()),
            TableCell(str(card.episodes)),
        )
        for arm, card in comparison.scorecards.items()
    )
    return StudyTable(f"Arms of {comparison.name}", columns, rows)


def coverage_table(coverage: Mapping[str, CoverageEntry]) -> StudyTable:
    """Where the states that each arm visited lie along the axis to be covered."""
    axis = next((one.axis for one in coverage.values()), "")
    columns = (TableColumn("name", False), *map(TableColumn, ("states", "mean", "max", "above 1/2", "above 3/4")))
    rows = tuple(
        (
            TableCell(name),
            TableCell(str(one.states)),
            TableCell(f"{one.mean:.3f}"),
            TableCell(f"{one.most:.3f}"),
            TableCell(f"{one.above_half:.1%}"),
            TableCell(f"{one.above_three_quarters:.1%}"),
        )
        for name, one in coverage.items()
    )
    caption = f"{axis} of visited states (shares above half and three quarters of the way up)"
    return StudyTable(caption, columns, rows)


def gaps_table(comparison: ComparisonEntry) -> StudyTable:
    """The gap of each model, with all that is known of it."""
    gaps = gaps_of(comparison)
    rules = sorted({gap.verdict.rule for gap in gaps})
    pooled = any(gap.entry.claims is not None for gap in gaps)
    claims = ("these checkpoints", "this training recipe") if pooled else ()
    numbers = ("mid-p", "Holm mid-p", "only oracle / only model", "relative loss", "return gap")
    columns = (
        TableColumn("model", False),
        TableColumn("gap"),
        TableColumn("95% interval"),
        TableColumn("method", False),
        TableColumn(f"verdict ({' or '.join(rules)})", False),
        TableColumn("verdict (paper)", False),
        *map(TableColumn, (*numbers, *claims, "n that decides")),
    )
    rows = tuple(_gap_row(gap, pooled=pooled, rule_named=len(rules) > 1) for gap in gaps)
    return StudyTable(f"Gaps of {comparison.name}", columns, rows)


def missing_table(record: StudyRecord) -> StudyTable:
    """Cells that are not whole."""
    columns = (TableColumn("cell", False), TableColumn("episodes missing"), TableColumn("reason", False))
    rows = tuple((TableCell(one.cell), TableCell(str(one.episodes)), TableCell(one.reason)) for one in record.missing)
    return StudyTable("Cells that are not whole", columns, rows)


def verdict_reasons(comparison: ComparisonEntry) -> list[str]:
    """Every verdict of every model, by every rule it was judged by."""
    return [
        f"{gap.title}: {verdict.label} ({rule}): {verdict.reason}"
        for gap in gaps_of(comparison)
        for rule, verdict in gap.entry.verdicts.items()
    ]


def _gap_row(gap: StudyGap, *, pooled: bool, rule_named: bool) -> tuple[TableCell, ...]:
    entry, claims = gap.entry, gap.entry.claims
    only, once = (entry.oracle_only, entry.learned_only), undefined("one seed was trained")
    both = (once, once)
    if claims is not None:
        both = (estimate_cell(claims.these_checkpoints), estimate_cell(claims.this_training_recipe))
    return (
        TableCell(gap.title),
        TableCell(f"{entry.gap:+.3f}"),
        TableCell(shown(_interval(gap))),
        TableCell(entry.gap_method),
        TableCell(f"{entry.verdict}, {gap.verdict.rule}" if rule_named else entry.verdict),
        _paper_verdict(gap),
        p_value_cell(entry.mid_p.value, entry.mid_p.reason),
        _adjusted(gap),
        undefined("the arms are not paired") if None in only else TableCell(f"{only[0]} / {only[1]}"),
        estimate_cell(entry.relative_loss),
        estimate_cell(entry.return_gap, 2),
        *(both if pooled else ()),
        _deciding(gap),
    )


def _paper_verdict(gap: StudyGap) -> TableCell:
    named = gap.entry.verdict_paper
    return undefined(EARLY) if named is None else TableCell(named)


def _deciding(gap: StudyGap) -> TableCell:
    if gap.verdict.n_that_decides is not None:
        return TableCell(str(gap.verdict.n_that_decides))
    return undefined("no number of episodes is known to decide") if gap.is_open else TableCell("decided")


def _adjusted(gap: StudyGap) -> TableCell:
    return p_value_cell(gap.entry.mid_p_holm, gap.entry.mid_p.reason or "it was not adjusted")


def _interval(gap: StudyGap) -> Estimate:
    entry = gap.entry
    return Estimate(entry.gap, entry.gap_ci_low, entry.gap_ci_high, entry.n_episodes_oracle, entry.gap_method)


def _episodes(gap: StudyGap) -> str:
    """Episodes per arm, once where both have as many."""
    return " / ".join(map(str, dict.fromkeys((gap.entry.n_episodes_oracle, gap.entry.n_episodes_learned))))
