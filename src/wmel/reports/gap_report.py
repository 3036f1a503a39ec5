"""The report of a comparison: the answer, each gap, the arms, where states were visited, and further numbers."""

from collections.abc import Iterator
from functools import partial

from wmel.reports.answers import PAPER, JudgedGap, answer_of_gaps, place_of
from wmel.reports.arms import arms_table, coverage_section
from wmel.reports.document import Document, Figure, ListItem, Points, Section, Text, draw_figure
from wmel.reports.entries import estimate_from
from wmel.reports.json_envelope import CPGEntry, CPGRecord
from wmel.reports.words import bounds, describe_setting, number, stamp_words
from wmel.stats.paired import holm


def gap_document(record: CPGRecord) -> Document:
    """The whole report."""
    setting = record.setting
    shared = [
        Text(describe_setting(setting, f"{setting.episodes} of at most {setting.horizon} steps", ("model",)), True)
    ]
    if record.max_episodes is not None:
        shared.append(Text(f"Pairs were added until each gap was decided, at most {record.max_episodes}.", True))
    arms = arms_table("Arms", record.scorecards, setting.metrics).without_empty_columns
    gaps = judged_gaps(record)
    points = [ListItem(" ".join([gap.short_sentence, *gap.notes]), gap.model, gap.entry.verdict) for gap in gaps]
    numbers = [Section(gap.model, [Points.of(list(_numbers(gap.entry)))]) for gap in gaps]
    sections = [
        Section("Gaps", [Points(points)] if len(points) > 1 else []),
        Section(
            "Arms", [arms, Figure("arms", "Success of each arm", partial(draw_figure, "figures:arms_figure", record))]
        ),
        coverage_section(record.coverage),
        *numbers,
    ]
    title = f"Counterfactual planning gap in {record.environment}"
    return Document(title, gap_answer(record), shared, sections, stamp_words(record))


def gap_answer(record: CPGRecord) -> str:
    """What a comparison of models comes to, in one sentence; the paper's verdicts first where they are wanted."""
    answer = answer_of_gaps(judged_gaps(record), place_of(record.setting))
    paper = [f"{model} {one.verdict_paper}" for model, one in record.cpgs.items() if one.verdict_paper is not None]
    return f"By the paper's rule: {', '.join(paper)}. {answer}" if record.paper_first and paper else answer


def judged_gaps(record: CPGRecord) -> list[JudgedGap]:
    """The gap of each model, corrected for all models; nothing is corrected where runs could stop early."""
    p_values = {model: one.mid_p.value for model, one in record.cpgs.items() if one.mid_p.value is not None}
    adjusted = dict(zip(p_values, map(float, holm(list(p_values.values()))), strict=True)) if p_values else {}
    count, where = len(p_values) or len(record.cpgs), place_of(record.setting)
    return [JudgedGap(model, where, one, adjusted.get(model), count) for model, one in record.cpgs.items()]


def _numbers(entry: CPGEntry) -> Iterator[str]:
    """What is behind a verdict: the rule that decides first, the paper's behind it."""
    yield f"gap {entry.gap:+.3f} [{entry.gap_ci_low:+.3f}, {entry.gap_ci_high:+.3f}] ({entry.gap_method})"
    for rule, verdict in sorted(entry.verdicts.items(), key=lambda one: one[0] == PAPER):
        yield f"{verdict.label} ({rule}): {verdict.reason}"
    paper, loss, back = entry.agresti_caffo, estimate_from(entry.relative_loss), estimate_from(entry.return_gap)
    if paper is not None:
        yield f"agresti-caffo [{max(paper.low, -1):+.3f}, {min(paper.high, 1):+.3f}]"
    if entry.oracle_only is not None and entry.mid_p.value is not None:
        pairs = f"{entry.oracle_only} pairs only the oracle solves, {entry.learned_only} only the model"
        yield f"{pairs}; mid-p {entry.mid_p.value:.2g}"
    if loss.is_defined:
        yield f"relative loss {number(loss)} {bounds(loss)}"
    split = ", ".join(f"{share:.3f} by {cause}" for cause, share in entry.failure_split.items())
    yield f"failures of the model's arm: {split}"
    if back.is_defined:
        yield f"return gap {number(back, 1)} {bounds(back, 1)} ({back.method})"
