"""What the diagnostics of a study found, in a sentence each."""

from collections.abc import Iterator, Mapping, Sequence

from wmel.reports.entries import estimate_from
from wmel.reports.envelopes import ReadingEntry, StudyRecord
from wmel.reports.json_envelope import EstimateEntry
from wmel.reports.small_svg import Intervals
from wmel.reports.study_readings import scale_name
from wmel.reports.words import count_words, short
from wmel.stats.estimate import Estimate

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
    if diagnostic != PREDICTION_ERROR or any(STEPS not in one.words for one in entries):
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
    rows = {name: one.values[measure] for name, one in _named(entries) if measure in one.values}
    is_named = diagnostic.partition(" ")[0] == measure
    return Intervals(defined_estimates(rows), diagnostic if is_named else f"{diagnostic}: {measure}")


def _named(entries: list[ReadingEntry]) -> Iterator[tuple[str, ReadingEntry]]:
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
