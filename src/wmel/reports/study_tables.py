"""The tables of a study: every gap, the arms and gaps of one comparison, and the cells that are missing."""

from wmel.analysis.verdict import format_interval
from wmel.reports.cells import estimate_cell, p_value_cell, undefined
from wmel.reports.cpg_record import EARLY
from wmel.reports.document import Table, TableCell, TableColumn
from wmel.reports.study_envelope import ComparisonEntry, StudyRecord
from wmel.reports.study_gaps import StudyGap, gaps_of, study_gaps
from wmel.stats.estimate import Estimate


def summary_table(record: StudyRecord) -> Table:
    """Every gap in a line."""
    numbers = ("oracle", "success", "gap", "95% interval", "mid-p", "Holm mid-p", "n")
    columns = (
        TableColumn("setting", False),
        TableColumn("model", False),
        *([TableColumn("verdict (paper)", False)] if record.paper_first else []),
        TableColumn("verdict", False),
        *(TableColumn(one, is_detail=one == "mid-p") for one in numbers),
    )
    rows = tuple(
        (
            TableCell(gap.differs or gap.comparison.setting.env),
            TableCell(gap.title),
            *([_paper_verdict(gap)] if record.paper_first else []),
            TableCell(gap.entry.verdict),
            TableCell(f"{gap.entry.oracle_success_rate:.3f}", value=gap.entry.oracle_success_rate),
            TableCell(f"{gap.entry.learned_success_rate:.3f}", value=gap.entry.learned_success_rate),
            TableCell(f"{gap.entry.gap:+.3f}", value=gap.entry.gap),
            TableCell(format_interval(_interval(gap))),
            p_value_cell(gap.entry.mid_p.value, gap.entry.mid_p.reason),
            _adjusted(gap),
            TableCell(_episodes(gap)),
        )
        for gap in study_gaps(record)
    )
    return Table("Every gap of the study", columns, rows, names=2)


def gaps_table(comparison: ComparisonEntry) -> Table:
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
    return Table(f"Gaps of {comparison.name}", columns, rows)


def missing_table(record: StudyRecord) -> Table:
    """Cells that are not whole."""
    columns = (TableColumn("cell", False), TableColumn("episodes missing"), TableColumn("reason", False))
    rows = tuple((TableCell(one.cell), TableCell(str(one.episodes)), TableCell(one.reason)) for one in record.missing)
    return Table("Cells that are not whole", columns, rows)


def _gap_row(gap: StudyGap, *, pooled: bool, rule_named: bool) -> tuple[TableCell, ...]:
    entry, claims = gap.entry, gap.entry.claims
    only, once = (entry.oracle_only, entry.learned_only), undefined("one seed was trained")
    both = (once, once)
    if claims is not None:
        both = (estimate_cell(claims.these_checkpoints), estimate_cell(claims.this_training_recipe))
    return (
        TableCell(gap.title),
        TableCell(f"{entry.gap:+.3f}"),
        TableCell(format_interval(_interval(gap))),
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
