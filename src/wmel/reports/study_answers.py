"""The answers of a study in a sentence each: what several gaps come to, and what its diagnostics found."""

from collections.abc import Iterator, Mapping, Sequence

from wmel.reports.analysis_record_types import ReadingEntry, StudyRecord
from wmel.reports.answers import Advice, JudgedGap, success_words
from wmel.reports.cells import count_words, listed_words, short
from wmel.reports.record_entries import estimate_from
from wmel.reports.record_types import EstimateEntry
from wmel.reports.small_svg import Intervals
from wmel.reports.study_readings import scale_name
from wmel.stats.estimate import Estimate

LISTED = 4  # more models or labels than this are counted, not named
MIXED = "It depends"
NEGATIVE = (Advice.NO, Advice.UNKNOWN, Advice.BLIND)
PLANNED = {  # of models that are planned with
    Advice.YES: "may be planned with",
    Advice.WEAK: "may be planned with",
    Advice.NO: "may not be planned with",
    Advice.UNKNOWN: "cannot be judged yet",
    Advice.BLIND: "cannot be judged",
}
ACTING = {  # of models that act by policies of their own
    Advice.YES: "at least as well",
    Advice.WEAK: "at least as well",
    Advice.NO: "worse",
}
Group = tuple[Advice, bool]  # and whether the model acts by a policy of its own


def answer_of_gaps(gaps: Sequence[JudgedGap], shared: str = "") -> str:
    """One sentence that reconciles all gaps, with their rates; `shared` is where all of them were measured."""
    if not gaps:
        return "No gap was measured."
    if len(gaps) == 1:
        return gaps[0].sentence
    by_model = _by_model(gaps)
    if len(by_model) > LISTED:
        text = f"the {len(by_model)} models {_count_settings(gaps, 'comparison', 'do', ' by their own policies')}"
    elif len(_groups(gaps)) == 1 and len({len(own) for own in by_model.values()}) == 1:
        settings = len(gaps) // len(by_model)
        verb = "does" if len(by_model) == 1 else "do"
        text = f"{listed_words(list(by_model))} {_clause(gaps, settings, settings, 'setting', verb)}"
    else:
        text = "; ".join(f"{model} {_count_settings(own, 'setting')}" for model, own in by_model.items())
    return f"{_common_advice(gaps)}: {f'{shared}, ' if shared else ''}{text}."


def paper_sentence(labels: Mapping[str, str]) -> str:
    """The verdicts by the rule of the CPG paper, by gap; many are counted."""
    named = [f"{name} {label}" for name, label in labels.items()]
    if len(labels) > LISTED:
        found = list(labels.values())
        named = [f"{label} in {found.count(label)} of {len(found)} comparisons" for label in dict.fromkeys(found)]
    return f"By the rule of the CPG paper: {listed_words(named)}." if labels else ""


def _by_model(gaps: Sequence[JudgedGap]) -> dict[str, list[JudgedGap]]:
    found: dict[str, list[JudgedGap]] = {}
    for gap in gaps:
        found.setdefault(gap.name, []).append(gap)
    return found


def _groups(gaps: Sequence[JudgedGap]) -> dict[Group, list[JudgedGap]]:
    """Gaps of one advice, those of models that act by their own policy apart."""
    found: dict[Group, list[JudgedGap]] = {}
    for gap in gaps:
        found.setdefault((gap.advice, gap.acts_by is not None), []).append(gap)
    return found


def _common_advice(gaps: Sequence[JudgedGap]) -> str:
    """The advice of all gaps, where they agree."""
    found = {gap.advice for gap in gaps}
    if found == {Advice.YES, Advice.WEAK}:
        return Advice.YES
    return found.pop() if len(found) == 1 else MIXED


def _count_settings(gaps: Sequence[JudgedGap], noun: str, verb: str = "does", own: str = "") -> str:
    """What may be done in how many settings, the most frequent first, each with its rates."""
    groups = sorted(_groups(gaps).values(), key=lambda one: -len(one))
    return listed_words([_clause(found, len(found), len(gaps), noun, verb, own) for found in groups])


def _clause(gaps: Sequence[JudgedGap], count: int, total: int, noun: str, verb: str, own: str = "") -> str:
    """What may be done in `count` of `total` settings, with the rates of these gaps; all have one advice.

    `verb` agrees with the models; `own` is added where they act by policies of their own that nothing else names.
    """
    advice, phrase = gaps[0].advice, PLANNED[gaps[0].advice]
    if gaps[0].acts_by is not None:
        phrase = f"{verb} {ACTING[advice]}{own}" if advice in ACTING else f"{phrase}{own}"
    numbers = f"{success_words(gaps)}{_describe_episodes(gaps)}{_describe_correction(gaps)}"
    return f"{phrase}{_share(advice, count, total, noun)}{_reason(gaps)} ({numbers})"


def _reason(gaps: Sequence[JudgedGap]) -> str:
    if gaps[0].advice is Advice.WEAK:
        return ", where the reference is weak"
    reasons = list(dict.fromkeys(str(gap.unseen or gap.open_reason) for gap in gaps if gap.unseen or gap.open_reason))
    return f" because {' or '.join(reasons)}" if reasons else ""


def _describe_episodes(gaps: Sequence[JudgedGap]) -> str:
    """How many episodes would decide these gaps, where the number is known for each."""
    counts = [gap.episodes_to_decide for gap in gaps if gap.episodes_to_decide is not None]
    units = {gap.unit for gap in gaps}
    if len(counts) < len(gaps):
        return ""
    few, many = min(counts), max(counts)
    unit = units.pop() if len(units) == 1 else "episodes per arm"
    return f", about {few:,}{'' if few == many else f' to {many:,}'} fresh {unit} would decide"


def _describe_correction(gaps: Sequence[JudgedGap]) -> str:
    """How many differences do not hold after correction: labels of earlier versions did not allow for it."""
    lost = sum(gap.is_lost_to_correction for gap in gaps)
    verb = "does" if lost == 1 else "do"
    corrected = f"after correction for {gaps[0].comparisons} comparisons"
    return f", {lost} of these differences {verb} not hold {corrected}" if lost else ""


def _share(advice: Advice, count: int, total: int, noun: str) -> str:
    """In how many of several settings."""
    if total == 1:
        return ""
    if count < total:
        return f" in {count} of {total} {noun}s"
    alike = ("either of", "any of") if advice in NEGATIVE else ("both of", "all of")
    return f" in {alike[total > 2]} {total} {noun}s"


PREDICTION_ERROR, STEPS = "prediction-error", "steps_ahead"


def reading_answers(record: StudyRecord) -> list[str]:
    """A sentence for each diagnostic."""
    return [_answer(name, _entries(record, name)) for name in diagnostic_names(record)]


def diagnostic_names(record: StudyRecord) -> list[str]:
    """The diagnostics that were run, in the order of the record; ESNR once for each estimator."""
    return list(dict.fromkeys(map(scale_name, record.readings)))


def reading_intervals(record: StudyRecord, diagnostic: str) -> Intervals:
    """The first number of a diagnostic, by model."""
    return _intervals(diagnostic, _entries(record, diagnostic))


def defined_estimates(entries: Mapping[str, EstimateEntry]) -> dict[str, Estimate]:
    """Those that have a value."""
    return {name: estimate_from(one) for name, one in entries.items() if one.value is not None}


def _entries(record: StudyRecord, diagnostic: str) -> list[ReadingEntry]:
    return [one for one in record.readings if scale_name(one) == diagnostic]


def _answer(diagnostic: str, entries: list[ReadingEntry]) -> str:
    counted = [one for one in entries if one.words.get(STEPS, "").isdecimal() and "rmse" in one.values]
    if diagnostic != PREDICTION_ERROR or len(counted) < len(entries):
        return _range_words(f"The diagnostic {_intervals(diagnostic, entries).title}", diagnostic, entries)
    steps = sorted({int(one.words[STEPS]) for one in entries})
    first, last = ([one for one in entries if int(one.words[STEPS]) == at] for at in (steps[0], steps[-1]))
    if len(first) == len(last) == 1:
        return _prediction_words(first[0], last[0])
    farthest = [one.model_copy(update={"words": {}}) for one in last]
    return _range_words(f"The prediction error (rmse) after {count_words(steps[-1], 'step')}", diagnostic, farthest)


def _prediction_words(first: ReadingEntry, last: ReadingEntry) -> str:
    """The error of one model, and how it compares with the prediction that nothing changes."""
    found = [one for one in (first, last) if one.values["rmse"].value is not None]
    if len(found) < 2:
        return f"The prediction error of {first.arm} is not defined at every step."
    errors = [f"{short(one.values['rmse'].value)} after {one.words[STEPS]}" for one in found]
    ratios = [one.values["relative"].value for one in found if "relative" in one.values]
    ratio = " and ".join(short(one) for one in ratios if one is not None)
    against = f": {ratio} times the error of predicting that nothing changes" if ratio.count("and") else ""
    noun = "step" if found[0].words[STEPS] == "1" else "steps"
    return f"{first.arm} predicts observations with an error (rmse) of {errors[0]} {noun} and {errors[1]}{against}."


def _intervals(diagnostic: str, entries: list[ReadingEntry]) -> Intervals:
    measure = next((name for one in entries for name in one.values), "")
    rows = {name: one.values[measure] for name, one in _name_readings(entries) if measure in one.values}
    is_named = diagnostic.partition(" ")[0] == measure
    return Intervals(defined_estimates(rows), diagnostic if is_named else f"{diagnostic}: {measure}")


def _name_readings(entries: list[ReadingEntry]) -> Iterator[tuple[str, ReadingEntry]]:
    """By model and method, and by environment, objective or seed where there are several."""
    parts = {
        "environment": [one.environment["name"] for one in entries],
        "labels": [" ".join(f"{name}={value}" for name, value in one.labels.items()) for one in entries],
        "seed": [f"seed {one.seed}" for one in entries],
    }
    several = [texts for texts in parts.values() if len(set(texts)) > 1]
    for place, one in enumerate(entries):
        words = (f"{name}={text}" if text.isdigit() else text for name, text in one.words.items())
        yield " ".join([one.arm, *words, *(texts[place] for texts in several if texts[place])]), one


def _range_words(measured: str, diagnostic: str, entries: Sequence[ReadingEntry]) -> str:
    """From the lowest to the highest value, with their models."""
    found = _intervals(diagnostic, list(entries))
    models = count_words(len({one.arm for one in entries}), "model")
    if not found.rows:
        return f"The diagnostic {diagnostic} was run on {models} and is defined for none."
    unknown = len(entries) - len(found.rows)
    without = f"; {unknown} of {count_words(len(entries), 'reading')} without it" if unknown else ""
    (low, least), (high, most) = (pick(found.rows.items(), key=lambda one: one[1].value or 0) for pick in (min, max))
    if len(found.rows) == 1:
        return f"{measured} of {low} is {least.words}{without}."
    if least.value == most.value:
        return f"{measured} of {models} is {least.words} in all {len(found.rows)} readings{without}."
    return f"{measured} of {models} ranges from {least.words} ({low}) to {most.words} ({high}){without}."
