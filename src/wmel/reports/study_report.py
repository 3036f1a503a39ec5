"""The report of gaps, of a study or of one comparison: an answer, each gap, curves, arms and further numbers.

A section is a function of the record; SECTIONS lists them in their order.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from wmel.analysis.verdict import Label, format_interval
from wmel.reports.analysis_record_types import ComparisonEntry, EsnrRecord, StudyRecord
from wmel.reports.answers import DIRECTIONS, EQUALITIES
from wmel.reports.cells import arms_table, count_words, coverage_table, join_facts, stamp_words
from wmel.reports.document import Block, Document, Figure, ListItem, Points, Section, Text, draw_figure, text_of
from wmel.reports.record_entries import estimate_from
from wmel.reports.study_curves import study_curves
from wmel.reports.study_gaps import (
    StudyGap,
    distinct_labels,
    equivalence_margin,
    facts_of,
    shared_facts,
    study_answer,
    study_gaps,
)
from wmel.reports.study_readings import differences_tables, reading_curves, readings_tables
from wmel.reports.study_tables import further_table, gaps_table, missing_table, rules_table

PRINTED, UNFOLDED = 4, 12  # so many sentences are shown in a terminal, and unfolded on a page
Readings = Sequence[EsnrRecord]  # of ESNR, of several models at the same states


def study_document(record: StudyRecord, readings: Readings = ()) -> Document:
    """The whole report."""
    settings = [*record.comparisons, *record.uncompared]
    shared = [*text_of(record.about), Text(describe_size(record), True)]
    if settings:
        shared.append(Text(join_facts(shared_facts(settings)), True))
    sections = [section(record, readings) for section in SECTIONS]
    return Document(record.name, study_answer(record), shared, sections, stamp_words(record))


def gaps_section(record: StudyRecord, readings: Readings = ()) -> Section:
    """Every gap as a row, in a sentence and in the figure."""
    gaps = study_gaps(record)
    title = "Every gap with its interval"
    forest = Figure("forest-0", title, partial(draw_figure, "figures:forest", record), _legend(record))
    plotted = Section(title, [forest] if gaps else [], is_detail=True)
    if len(gaps) == 1:  # the answer is its sentence
        return Section("Gaps", [plotted, gaps_table(record), *map(Text, _limits(gaps[0]))])
    shared_limits = limits_of_all(gaps)
    points = Points([ListItem(gap_sentence(gap, shared_limits), gap.name, gap.entry.verdict) for gap in gaps])
    sentences = Section("Each gap in words", [points], is_folded=len(gaps) > UNFOLDED, is_detail=len(gaps) > PRINTED)
    return Section("Gaps", [plotted, gaps_table(record), *map(Text, shared_limits), sentences])


def readings_section(record: StudyRecord, readings: Readings = ()) -> Section:
    """The values of each diagnostic, and their curves over the swept settings."""
    titles = [f"{one.measure} over {one.label}: {one.where}" for one in reading_curves(record)]
    figures = _figures("reading", titles, partial(draw_figure, "figures:reading_figures", record))
    return Section("Readings", [*readings_tables(record.readings), *figures])


def differences_section(record: StudyRecord, readings: Readings = ()) -> Section:
    """The differences of ESNR between models at the same states."""
    return Section("Differences between models", differences_tables(readings), is_detail=True)


def curves_section(record: StudyRecord, readings: Readings = ()) -> Section:
    """Success and gap over the swept settings."""
    titles = [f"{one.label}: {one.where}" for one in study_curves(record)]
    return Section("Curves", _figures("curve", titles, partial(draw_figure, "figures:curves", record)))


def arms_section(record: StudyRecord, readings: Readings = ()) -> Section:
    """Success and costs of each arm; of several settings one folded section each."""
    settings = record.comparisons
    if len(settings) != 1:
        return Section("Arms", _arms_of_settings(record, settings), is_detail=bool(study_gaps(record)))
    figure = Figure("arms", "Success of each arm", partial(draw_figure, "figures:arms_figure", settings[0]))
    return Section("Arms", [*_arm_tables(settings[0]), figure])


def uncompared_section(record: StudyRecord, readings: Readings = ()) -> Section:
    """The arms of settings in which the oracle was not run."""
    return Section("Arms without an oracle", _arms_of_settings(record, record.uncompared))


def further_section(record: StudyRecord, readings: Readings = ()) -> Section:
    """How each verdict was reached, the rule of the CPG paper last, and further numbers."""
    tables = [rules_table(record), further_table(record)] if study_gaps(record) else []
    return Section("The rules, and further numbers", tables, is_folded=True, is_detail=True)


def missing_section(record: StudyRecord, readings: Readings = ()) -> Section:
    """The cells whose episodes are incomplete."""
    return Section("Incomplete cells", [missing_table(record)], is_notice=True)


def refused_section(record: StudyRecord, readings: Readings = ()) -> Section:
    """What could not be pooled or compared, and why."""
    return Section("Refused", [Points.of(record.refused)], is_notice=True)


SECTIONS = (
    gaps_section,
    readings_section,
    differences_section,
    curves_section,
    arms_section,
    uncompared_section,
    further_section,
    missing_section,
    refused_section,
)


def describe_size(record: StudyRecord) -> str:
    """How many cells, episodes, settings and readings are stored, and a criterion that replaced the study's own."""
    sizes = {"cell": record.cells, "stored episode": record.episodes, "setting": len(record.comparisons)}
    sizes["reading"] = len(record.readings)
    words = ", ".join(count_words(count, noun) for noun, count in sizes.items() if count) or "nothing is stored"
    judged = f" Success was judged anew by {record.rescored}, in place of the study's own criterion."
    return f"{words[:1].upper()}{words[1:]}.{'' if record.rescored is None else judged}"


def gap_sentence(gap: StudyGap, shared: Sequence[str] = ()) -> str:
    """The answer of one gap in a list, and its limits; those that all gaps share are stated once elsewhere."""
    return " ".join([gap.judged.short_sentence, *(one for one in _remarks(gap) if one not in shared)])


def limits_of_all(gaps: Sequence[StudyGap]) -> list[str]:
    """What the verdicts of several gaps leave open alike."""
    if len(gaps) < 2:
        return []
    first, *others = map(_remarks, gaps)
    return [one for one in first if all(one in other for other in others)]


def _figures(name: str, titles: Sequence[str], compute: Callable[[], Sequence[Any]]) -> list[Figure]:
    """Several figures that are computed together, when the first is shown."""
    computed = cache(compute)
    return [Figure(f"{name}-{at}", title, lambda at=at: computed()[at]) for at, title in enumerate(titles)]


def _legend(record: StudyRecord) -> str:
    margin = equivalence_margin(record)
    band = "" if margin is None else f" The shaded band, {margin:g} to either side of 0, counts as no gap."
    return f"Right of 0 planning does better on the true dynamics than on the model.{band}"


def _arms_of_settings(record: StudyRecord, settings: Sequence[ComparisonEntry]) -> list[Section]:
    """A folded section for each setting; its heading and its text name what differs between settings."""
    everything = [*record.comparisons, *record.uncompared]
    shared = shared_facts(everything) if everything else {}
    sections = []
    for one, label in zip(settings, distinct_labels(settings), strict=True):
        own = {name: value for name, value in facts_of(one).items() if name not in shared}
        text = [Text(join_facts(own), True)] if own else []
        sections.append(Section(label or one.setting.env, [*text, *_arm_tables(one)], is_folded=True))
    return sections


def _arm_tables(comparison: ComparisonEntry) -> list[Block]:
    setting = comparison.setting
    arms = arms_table("Success and costs of each arm", comparison.scorecards, setting.metrics, comparison.arm_labels)
    return [arms.without_empty_columns, coverage_table(comparison.coverage)]


def _remarks(gap: StudyGap) -> list[str]:
    """The remarks of the answer, and the limits of the verdict."""
    return [*gap.judged.notes, *_limits(gap)]


def _limits(gap: StudyGap) -> list[str]:
    """What the verdict does not cover, in sentences."""
    limits = []
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
        trained = gap.comparison.trained
        is_trained = trained is None or gap.model in trained
        return ["What another training run would give was not measured."] if is_trained else []
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
