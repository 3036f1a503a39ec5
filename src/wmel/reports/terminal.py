"""Results as text for a terminal: functions that return lines; who prints them is not their business."""

import sys
from collections.abc import Mapping
from io import StringIO

from rich.console import Console
from rich.table import Table

from wmel.analysis.horizon import HorizonSweep
from wmel.analysis.scorecard import Scorecard
from wmel.contract.labels import label_words
from wmel.reports.compare_envelope import ComparisonRecord, DeltaEntry, UnmatchedEntry
from wmel.reports.entries import estimate_from
from wmel.reports.esnr_envelope import EsnrEntry, EsnrRecord
from wmel.reports.esnr_words import describe_readings, difference_table, esnr_sentences, esnr_table
from wmel.reports.json_envelope import (
    CoverageEntry,
    CPGEntry,
    CPGRecord,
    EstimateEntry,
    RunRecord,
    ScorecardEntry,
    SweepRecord,
)
from wmel.reports.study_cells import StudyTable
from wmel.reports.study_envelope import StudyRecord
from wmel.reports.study_readings import readings_tables
from wmel.reports.study_summary import study_answer
from wmel.reports.study_tables import coverage_table
from wmel.reports.words import bounds, describe_setting, horizon_note, number, short
from wmel.stats.estimate import Estimate

WIDTH_WITHOUT_TERMINAL = 120
NAMES = ("question", "metric", "name", "package", "estimator", "setting")
WORDS = (*NAMES, "note", "part", "wanted", "installed", "origin", "what it is", "default", "values", "meaning")
INTERVAL = "95% interval"


def table(*headings: str) -> Table:
    """A table without lines; words to the left, numbers to the right."""
    rows = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for heading in headings:
        rows.add_column(heading, justify="left" if heading in WORDS else "right", no_wrap=heading in NAMES)
    return rows


def lines_of(rows: Table) -> str:
    """A table as lines; of a fixed width where there is no terminal to ask."""
    screen = Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
    buffer = StringIO()
    Console(
        file=buffer, width=screen.width, highlight=False, markup=False, force_terminal=False, force_jupyter=False
    ).print(rows)
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip("\n").split("\n"))


def table_lines(shown: StudyTable) -> list[str]:
    """A table of a report, and why something in it is n/a."""
    if not shown.rows:
        return []
    rows = table(*(column.title for column in shown.columns))
    for row in shown.rows:
        rows.add_row(*(cell.text.replace(" ", "\u00a0") for cell in row))
    return [lines_of(rows), *shown.notes]


def scorecard_lines(record: RunRecord, card: Scorecard) -> list[str]:
    """One line per metric, an undefined one says why; then where states were visited."""
    metadata = record.metadata
    rows = table("metric", "value", "95% interval", "n", "note")
    for name, estimate in card.estimates.items():
        note = estimate.method if estimate.is_defined else estimate.reason
        rows.add_row(name, number(estimate), bounds(estimate), str(estimate.n), note)
    episodes = f"{metadata.episodes} of at most {metadata.horizon} steps"
    covered = {} if record.coverage is None else {metadata.policy: record.coverage}
    return [describe_setting(metadata, episodes), lines_of(rows), *coverage_lines(covered)]


def sweep_lines(record: SweepRecord, sweep: HorizonSweep) -> list[str]:
    """One line per point, and H* where the planning horizon is swept."""
    metadata, swept = record.metadata, list(record.points[0].swept) or ["plan_horizon"]
    added = metadata.metrics
    rows = table(*swept, "success", "95% CI", "steps", "latency_ms", "95% CI (ms)", "compute/decision", *added)
    for point, card in zip(record.points, sweep.scorecards, strict=True):
        success, latency = card["success_rate"], card["average_planning_latency_ms"]
        steps, compute = card["average_steps_to_success"], card["average_compute_per_decision"]
        at = list(point.swept.values()) or [point.plan_horizon]
        costs = number(steps, 1), number(latency), bounds(latency), number(compute, 1)
        rows.add_row(*map(label_words, at), number(success), bounds(success), *costs, *(number(card[m]) for m in added))
    episodes = f"{metadata.episodes_per_point} per point{_length_words(record)}"
    lines = [describe_setting(metadata, episodes, swept), lines_of(rows)]
    if "plan_horizon" in swept:
        lines.append(f"effective horizon H* = {number(sweep.effective_horizon, 0)} ({horizon_note(sweep)})")
    covered = {
        " ".join(f"{name}={label_words(value)}" for name, value in point.swept.items()): point.coverage
        for point in record.points
        if point.coverage is not None
    }
    return [*lines, *coverage_lines(covered)]


def _length_words(record: SweepRecord) -> str:
    """How long the episodes of every point may be; nothing where that is swept."""
    longest = record.metadata.episode_horizon
    swept = [one.swept.get("max_steps", one.swept.get("environment.max_steps")) for one in record.points]
    return "" if longest in swept else f", of at most {longest} steps"


def gap_lines(record: CPGRecord, *, paper_first: bool = False) -> list[str]:
    """The arms, then for each model its gap, what it is called and why."""
    setting = record.setting
    lines = [describe_setting(setting, f"{setting.episodes} of at most {setting.horizon} steps", ("model",))]
    if record.max_episodes is not None:
        lines.append(f"pairs were added until each gap was decided or given up, at most {record.max_episodes}")
    costs = ("steps", "compute/decision", "latency_ms", "return", "pre-solved", "errors")
    rows = table("name", "success", "95% CI", *costs, *setting.metrics)
    for name, card in record.scorecards.items():
        added = (estimate_from(card.estimates[metric]) for metric in setting.metrics)
        rows.add_row(name, *_arm(card), *map(number, added))
    lines += [lines_of(rows), *coverage_lines(record.coverage)]
    for name, entry in record.cpgs.items():
        lines += _gap_lines(name, entry, paper_first=paper_first)
    return lines


def study_lines(record: StudyRecord) -> list[str]:
    """Every gap of a study in a line, arms without an oracle in one each, and what is not there.

    A study of readings alone begins with what they come to.
    """
    if record.readings and not (record.cells or record.missing or record.refused):
        return [study_answer(record)]
    lines = []
    for entry in record.comparisons:
        for model, gap in entry.gaps.items():
            interval = f"[{gap.gap_ci_low:+.3f}, {gap.gap_ci_high:+.3f}]"
            paper = f"{gap.verdict_paper} (paper), " if record.paper_first and gap.verdict_paper else ""
            lines.append(f"{entry.name} {model}: gap {gap.gap:+.3f} {interval} {paper}{gap.verdict}")
    for entry in record.uncompared:
        for arm, card in entry.scorecards.items():
            success = estimate_from(card.estimates["success_rate"])
            lines.append(f"{entry.name} {arm}: success {number(success)} {bounds(success)}")
    lines.append(f"{record.episodes} episodes; {len(record.missing)} cells not whole, {len(record.refused)} refused")
    return [*lines, *(f"  {line}" for line in record.refused)]


def readings_lines(record: StudyRecord) -> list[str]:
    """A table for each diagnostic: a line for each model, method and seed."""
    tables = readings_tables(record.readings, is_narrow=True)
    return [line for table in tables for line in (table.caption, *table_lines(table))]


def _arm(card: ScorecardEntry) -> list[str]:
    def of(metric: str) -> Estimate:
        return estimate_from(card.estimates[metric])

    return [
        number(of("success_rate")),
        bounds(of("success_rate")),
        number(of("average_steps_to_success"), 1),
        number(of("average_compute_per_decision"), 1),
        number(of("average_planning_latency_ms"), 2),
        number(of("average_return"), 1),
        number(of("pre_solved_rate")),
        number(of("error_rate")),
    ]


def _gap_lines(name: str, entry: CPGEntry, *, paper_first: bool) -> list[str]:
    lines: list[str] = []
    lines.append(
        f"\n{name}: gap {entry.gap:+.3f} [{entry.gap_ci_low:+.3f}, {entry.gap_ci_high:+.3f}] ({entry.gap_method})"
    )
    rules = sorted(entry.verdicts, key=lambda rule: (rule == "paper") != paper_first)
    for rule in rules:
        lines.append(f"  {entry.verdicts[rule].label} ({rule}): {entry.verdicts[rule].reason}")
    paper, loss, back = entry.agresti_caffo, estimate_from(entry.relative_loss), estimate_from(entry.return_gap)
    if paper is not None:
        lines.append(f"  agresti-caffo [{max(paper.low, -1):+.3f}, {min(paper.high, 1):+.3f}]")
    if entry.oracle_only is not None and entry.mid_p.value is not None:
        pairs = f"{entry.oracle_only} pairs only the oracle solves, {entry.learned_only} only the model"
        lines.append(f"  {pairs}; mid-p {entry.mid_p.value:.2g}")
    lines.append(f"  relative loss {number(loss)} {bounds(loss)}{'' if loss.is_defined else f' ({loss.reason})'}")
    split = ", ".join(f"{share:.3f} by {cause}" for cause, share in entry.failure_split.items())
    lines.append(f"  failures of the model's arm: {split}")
    if back.is_defined:
        lines.append(f"  return gap {number(back, 1)} {bounds(back, 1)} ({back.method})")
    return lines


def coverage_lines(coverage: Mapping[str, CoverageEntry | None]) -> list[str]:
    """Where states were visited, by arm, where that has a name."""
    seen = {name: one for name, one in coverage.items() if one is not None}
    shown = coverage_table(seen)
    return [f"\n{shown.caption}", *table_lines(shown)] if seen else []


def compare_lines(record: ComparisonRecord) -> list[str]:
    """A table, then a line for each task and for what could not be compared."""

    def share(value: float | None, form: str = ".3f") -> str:
        return "n/a" if value is None else format(value, form)

    lines = [f"A: {record.run_a}\nB: {record.run_b}"]
    rows = table(
        "name", "A", "B", "B - A", "95% interval", "pairs", "only A", "only B", "mid-p", "Holm", "return B - A"
    )
    for place, column in enumerate(rows.columns):  # tasks of studies have long names
        column.no_wrap, column.overflow = place > 0, "fold"
    for one in record.tasks:
        alone = ("n/a", "n/a") if one.outcomes is None else (str(one.outcomes.only_a), str(one.outcomes.only_b))
        delta, back = one.success_delta.value, one.return_delta.value
        rows.add_row(
            one.task, share(one.success_rate_a), share(one.success_rate_b), share(delta, "+.3f"),
            bounds(estimate_from(one.success_delta)), str(one.pairs), *alone, share(one.mid_p, ".2g"),
            share(one.mid_p_holm, ".2g"), share(back, "+.1f"),
        )  # fmt: skip
    lines.append(lines_of(rows))
    for one in record.tasks:
        lines.append(f"{one.task}: {_in_words(one)}")
        lines.append(f"  compared: {'; '.join(one.compared) or 'policy, settings and versions are the same'}")
        for side, unmatched in {"A": one.unmatched_a, "B": one.unmatched_b}.items():
            if unmatched.episodes:
                lines.append(f"  only in {side}, left out: {_listed(unmatched)}")
    for task, reason in record.refused.items():
        lines.append(f"{task}: not compared: {reason}")
    for side, tasks in {"A": record.only_in_a, "B": record.only_in_b}.items():
        if tasks:
            lines.append(f"only in {side}: {', '.join(tasks)}")
    return [*lines, *record.notes]


def _in_words(one: DeltaEntry) -> str:
    from wmel.analysis.compare import LEVEL  # scipy is needed only here

    delta, p_value, counts, back = one.success_delta.value, one.mid_p_holm, one.outcomes, one.return_delta
    if delta is None or p_value is None or counts is None:
        said = f"success is not compared: {one.success_delta.reason}"
    elif p_value > LEVEL:
        said = f"no difference of success is shown on {one.pairs} pairs"
    else:
        said = f"B succeeds {'less' if delta < 0 else 'more'} often than A, by {abs(delta):.3f} on {one.pairs} pairs"
    if back.value is not None:
        said += f"; return B - A {back.value:+.1f} {bounds(estimate_from(back), 1)} ({back.method})"
    if one.errors_a or one.errors_b:
        said += f"; {one.errors_a} episodes of A and {one.errors_b} of B broke and count as failures"
    return said


def _listed(unmatched: UnmatchedEntry) -> str:
    more = ", ..." if unmatched.episodes > len(unmatched.first_seeds) else ""
    return f"{unmatched.episodes} episodes (seeds {', '.join(map(str, unmatched.first_seeds))}{more})"


def esnr_lines(record: EsnrRecord) -> list[str]:
    """A table, the paired differences, and what may be said."""
    lines = [describe_readings(record)]
    rows = table(
        "name", "ESNR", INTERVAL, "per rollout", "pooled", "median", "alignment", INTERVAL, "against", "steps", "s"
    )
    for one in record.readings:
        rows.add_row(f"{one.model} {one.method}", *_cells(one), f"{one.model_steps / 1e6:.2f}M", f"{one.seconds:.1f}")
    lines += [lines_of(rows), *esnr_table(record).notes]
    if record.differences:
        pairs = table("name", "ESNR", INTERVAL)
        for one in record.differences:
            pairs.add_row(f"{one.model} - {one.other} {one.method}", *_estimate(one.estimate))
        lines += [lines_of(pairs), *difference_table(record).notes]
    return [*lines, *esnr_sentences(record)]


def _cells(one: EsnrEntry) -> tuple[str, ...]:
    aligned = one.alignment
    against = None if aligned is None else aligned.against_share
    return (
        *_estimate(one.esnr),
        short(one.esnr_per_rollout.value),
        short(one.pooled.value),
        short(one.median),
        *(("n/a", "n/a") if aligned is None else _estimate(aligned.cosine)),
        "n/a" if against is None else f"{against:.0%}",
    )


def _estimate(entry: EstimateEntry) -> tuple[str, str]:
    estimate = estimate_from(entry)
    if estimate.low is None or estimate.high is None:
        return short(estimate.value), "n/a"
    return short(estimate.value), f"[{short(estimate.low)},\u00a0{short(estimate.high)}]"
