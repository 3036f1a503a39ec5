"""What a study comes to: a sentence, and intervals to draw where it has no gap."""

from collections.abc import Iterator, Mapping, Sequence

from wmel.reports.answers import answer_of_gaps, place_of
from wmel.reports.entries import estimate_from
from wmel.reports.json_envelope import EstimateEntry
from wmel.reports.small_svg import Intervals
from wmel.reports.study_envelope import ReadingEntry, StudyRecord
from wmel.reports.study_gaps import StudyGap, places_without_gaps, study_gaps
from wmel.reports.words import count_words, listed_words
from wmel.stats.estimate import Estimate

LISTED = 4  # more arms than this are counted, not named

MEASURES = {"success_rate": "success", "average_return": "return"}  # the first that some arm has is shown


def study_answer(record: StudyRecord) -> str:
    """May the models be planned with; without a gap, what the arms reached and what was read of the models."""
    gaps = study_gaps(record)
    if gaps:
        answer = answer_of_gaps([gap.judged for gap in gaps], _shared_place(gaps))
        paper = [f"{gap.name} {gap.entry.verdict_paper}" for gap in gaps if gap.entry.verdict_paper is not None]
        return f"By the paper's rule: {', '.join(paper)}. {answer}" if record.paper_first and paper else answer
    found = [_reached(one) for one in _arms(record)[:1]] + [_read(record, one) for one in _diagnostics(record)]
    return " ".join(found) or answer_of_gaps([])


def _shared_place(gaps: Sequence[StudyGap]) -> str:
    """The environment and the planner where all gaps share them."""
    places = {place_of(gap.comparison.setting, gap.acts_by) for gap in gaps}
    if len(places) == 1:
        return places.pop()
    environments = {gap.comparison.setting.env for gap in gaps}
    return f"on {environments.pop()}" if len(environments) == 1 else ""


def study_intervals(record: StudyRecord) -> Intervals | None:
    """Of the arms where episodes were run, else of the first diagnostic; None where there is nothing to draw."""
    if study_gaps(record):
        return None
    found = [*_arms(record), *(_readings(record, one) for one in _diagnostics(record))]
    return next((one for one in found if one.rows), None)


def _arms(record: StudyRecord) -> list[Intervals]:
    """The arms of settings without a gap, by each measure that some of them have."""
    settings = places_without_gaps(record)
    found = []
    for metric, word in MEASURES.items():
        cards = {f"{place} {arm}": card for place, one in settings for arm, card in one.scorecards.items()}
        rows = _defined({name: card.estimates[metric] for name, card in cards.items() if metric in card.estimates})
        found += [Intervals(rows, f"{word}, with 95% interval")] if rows else []
    return found


def _diagnostics(record: StudyRecord) -> list[str]:
    return list(dict.fromkeys(one.diagnostic["name"] for one in record.readings))


def _readings(record: StudyRecord, diagnostic: str) -> Intervals:
    """The first number of a diagnostic, by model."""
    entries = [one for one in record.readings if one.diagnostic["name"] == diagnostic]
    measure = next((name for one in entries for name in one.values), "")
    rows = {name: one.values[measure] for name, one in _named(entries) if measure in one.values}
    return Intervals(_defined(rows), f"{diagnostic}: {measure}" if measure != diagnostic else measure)


def _named(entries: list[ReadingEntry]) -> Iterator[tuple[str, ReadingEntry]]:
    """By model and method, and by environment, objective or seed where there are several."""
    parts = {
        "environment": [one.environment["name"] for one in entries],
        "labels": [" ".join(f"{name}={value}" for name, value in one.labels.items()) for one in entries],
        "seed": [f"seed {one.seed}" for one in entries],
    }
    several = [texts for texts in parts.values() if len(set(texts)) > 1]
    for place, one in enumerate(entries):
        yield " ".join([one.arm, *one.words.values(), *(texts[place] for texts in several if texts[place])]), one


def _defined(entries: Mapping[str, EstimateEntry]) -> dict[str, Estimate]:
    return {name: estimate_from(one) for name, one in entries.items() if one.value is not None}


def _reached(arms: Intervals) -> str:
    best = max(one.value or 0 for one in arms.rows.values())
    highest = {name: one for name, one in arms.rows.items() if one.value == best}
    measure, count, (value, *_) = arms.title.partition(",")[0], len(arms.rows), highest.values()
    if count == 1:
        return f"{listed_words(list(highest))}: {measure} {value.words}."
    if len(highest) == count:
        return f"{measure} of all {count} arms is {value.words}."
    return f"{measure} of {count} arms is highest in {listed_words(list(highest), LISTED)}, {value.words}."


def _read(record: StudyRecord, diagnostic: str) -> str:
    found = _readings(record, diagnostic)
    entries = [one for one in record.readings if one.diagnostic["name"] == diagnostic]
    models = count_words(len({one.arm for one in entries}), "model")
    if not found.rows:
        return f"{diagnostic} was read of {models}, and is defined for none."
    unknown = len(entries) - len(found.rows)
    without = f"; {count_words(unknown, 'reading')} of {len(entries)} without it" if unknown else ""
    (low, least), (high, most) = (pick(found.rows.items(), key=lambda one: one[1].value or 0) for pick in (min, max))
    if len(found.rows) == 1:
        return f"{found.title} of {low} is {least.words}{without}."
    if least.value == most.value:
        return f"{found.title} of {models} is {least.words} in all {len(found.rows)} readings{without}."
    return f"{found.title} of {models} ranges from {least.words} ({low}) to {most.words} ({high}){without}."
