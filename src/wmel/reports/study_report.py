"""The report of a study: one sentence that reconciles its gaps, each gap in words, curves, arms, what is missing."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from wmel.analysis.verdict import Label, format_interval
from wmel.contract.labels import label_text
from wmel.reports.answers import DIRECTIONS, EQUALITIES, PAPER
from wmel.reports.arms import arms_table, coverage_table
from wmel.reports.document import Block, Document, Figure, ListItem, Points, Section, Text, draw_figure, text_of
from wmel.reports.entries import estimate_from
from wmel.reports.esnr_envelope import EsnrRecord
from wmel.reports.study_curves import study_curves
from wmel.reports.study_envelope import ComparisonEntry, StudyRecord
from wmel.reports.study_gaps import StudyGap, equivalence_margin, gaps_of, study_gaps
from wmel.reports.study_readings import differences_tables, reading_curves, readings_tables
from wmel.reports.study_summary import study_answer
from wmel.reports.study_tables import gaps_table, missing_table, summary_table
from wmel.reports.words import count_words, describe_setting, stamp_words

FEW = 12  # so many sentences are shown unfolded


def study_document(record: StudyRecord, readings: Sequence[EsnrRecord] = ()) -> Document:
    """The whole report; `readings` are those of ESNR that was read side by side."""
    gaps = study_gaps(record)
    shared_limits = limits_of_all(gaps)
    points = Points([ListItem(gap_sentence(gap, shared_limits), gap.name, gap.entry.verdict) for gap in gaps])
    sentences = Section("Each gap in words", [points], is_folded=len(gaps) > FEW, is_detail=len(gaps) > 1)
    title = "Every gap with its interval"
    forest = Figure("forest-0", title, partial(draw_figure, "figures:forest", record), _legend(record))
    plotted = Section(title, [forest] if gaps else [], is_detail=True)
    tables, apart = readings_tables(record.readings), differences_tables(readings)
    swept = [f"{one.label}: {one.where}" for one in study_curves(record)]
    read = [f"{one.measure} over {one.label}: {one.where}" for one in reading_curves(record)]
    sections = [
        Section("Gaps", [plotted, summary_table(record), *map(Text, shared_limits), sentences]),
        Section(
            "Readings", [*tables, *_figures("reading", read, partial(draw_figure, "figures:reading_figures", record))]
        ),
        Section("Differences between models", apart, is_detail=True),
        Section("Curves", _figures("curve", swept, partial(draw_figure, "figures:curves", record))),
        Section("Comparisons", list(map(_comparison, record.comparisons)), is_detail=bool(gaps)),
        Section("Arms without an oracle", list(map(_comparison, record.uncompared))),
        Section("Missing cells", [missing_table(record)]),
        Section("Refused", [Points.of(record.refused)]),
    ]
    shared = [*text_of(record.about), Text(size_words(record), True)]
    return Document(record.name, study_answer(record), shared, sections, stamp_words(record))


def _figures(name: str, titles: Sequence[str], make: Callable[[], Sequence[Any]]) -> list[Figure]:
    """Several figures that are computed together, when the first is shown."""
    made = cache(make)
    return [Figure(f"{name}-{at}", title, lambda at=at: made()[at]) for at, title in enumerate(titles)]


def _legend(record: StudyRecord) -> str:
    margin = equivalence_margin(record)
    band = "" if margin is None else f" The shaded band, {margin:g} to either side of 0, counts as no gap."
    return f"Right of 0 planning does better on the true dynamics than on the model.{band}"


def _comparison(comparison: ComparisonEntry) -> Section:
    """A setting: what its arms share, what each reached, the gaps with all that is known of them."""
    arms = arms_table(
        f"Arms of {comparison.name}", comparison.scorecards, comparison.setting.metrics, comparison.arm_labels
    )
    reasons = list(_verdict_reasons(comparison))
    blocks: list[Block] = [
        Text(describe_comparison(comparison), True),
        arms.without_empty_columns,
        gaps_table(comparison),
        coverage_table(comparison.coverage),
        Points.of(reasons) if reasons else Text("No gap was measured here."),
    ]
    return Section(comparison.name, blocks, is_folded=True)


def _verdict_reasons(comparison: ComparisonEntry) -> Iterator[str]:
    """Every verdict of every model, by every rule it was judged by, the paper's last."""
    for gap in gaps_of(comparison):
        for rule, verdict in sorted(gap.entry.verdicts.items(), key=lambda one: one[0] == PAPER):
            yield f"{gap.title}: {verdict.label} ({rule}): {verdict.reason}"


def size_words(record: StudyRecord) -> str:
    """What was run."""
    sizes = {"cell": record.cells, "stored episode": record.episodes, "setting": len(record.comparisons)}
    sizes["reading"] = len(record.readings)
    words = ", ".join(count_words(count, noun) for noun, count in sizes.items() if count) or "nothing is stored"
    judged = f" Success was judged anew by {record.rescored}, in place of the study's own criterion."
    return f"{words[:1].upper()}{words[1:]}.{'' if record.rescored is None else judged}"


def describe_comparison(comparison: ComparisonEntry) -> str:
    """One line: what every arm shares."""
    setting = comparison.setting
    shared = describe_setting(setting, f"{setting.episodes} of at most {setting.horizon} steps", differing=("model",))
    swept = (f"swept {name}: {label_text(value)}" for name, value in comparison.labels.items())
    return "; ".join([shared, *swept])


def gap_sentence(gap: StudyGap, shared: Sequence[str] = ()) -> str:
    """The answer of one gap in a list, and how far it carries; what all gaps share is left to one sentence."""
    return " ".join([gap.judged.short_sentence, *(one for one in _limits(gap) if one not in shared)])


def limits_of_all(gaps: Sequence[StudyGap]) -> list[str]:
    """What the verdicts of several gaps leave open alike."""
    if len(gaps) < 2:
        return []
    first, *others = ([*_limits(gap)] for gap in gaps)
    return [one for one in first if all(one in other for other in others)]


def _limits(gap: StudyGap) -> list[str]:
    """What the verdict does not say, in sentences."""
    limits = gap.judged.notes
    if gap.acts_by is not None:
        limits.append(f"It acts by itself ({gap.acts_by}): the gap is of model and planner together.")
    if gap.is_open:
        return limits
    if gap.entry.verdict in (*DIRECTIONS, *EQUALITIES):
        limits += _recipe_limit(gap)
    if gap.comparison.setting.init == "fixed":
        limits.append("Every episode starts in the same state: the result holds of that start alone.")
    return limits


def _recipe_limit(gap: StudyGap) -> list[str]:
    claims = gap.entry.claims
    if claims is None:
        return ["What another training run would give was not measured."]
    recipe = estimate_from(claims.this_training_recipe)
    if recipe.low is None or recipe.high is None:
        return [f"Nothing is shown for the training recipe: {recipe.reason or 'it has no interval'}."]
    within = gap.verdict.margins.get("delta", 0.0)
    shows = {
        Label.MODEL_BOTTLENECK: recipe.low > 0,
        Label.LEARNED_OUTPERFORMS: recipe.high < 0,
    }.get(Label(gap.entry.verdict), -within < recipe.low and recipe.high < within)
    if shows:
        return [f"The training recipe shows it too: {format_interval(recipe)}."]
    return [f"Shown for these checkpoints, not for the training recipe: {format_interval(recipe)}."]
