"""How ESNR readings look on the screen."""

from wmel.cli.screen import console, table
from wmel.reports.entries import estimate_from
from wmel.reports.esnr_envelope import EsnrEntry, EsnrRecord
from wmel.reports.esnr_words import difference_table, esnr_sentences, esnr_table, setting_words
from wmel.reports.json_envelope import EstimateEntry
from wmel.reports.words import short

INTERVAL = "95% interval"


def print_esnr(record: EsnrRecord) -> None:
    """A table, the paired differences, and what may be said."""
    print(setting_words(record))
    rows = table(
        "name", "ESNR", INTERVAL, "per rollout", "pooled", "median", "alignment", INTERVAL, "against", "steps", "s"
    )
    for one in record.readings:
        rows.add_row(f"{one.model} {one.method}", *_cells(one), f"{one.model_steps / 1e6:.2f}M", f"{one.seconds:.1f}")
    console().print(rows)
    for note in esnr_table(record).notes:
        print(note)
    if record.differences:
        pairs = table("name", "ESNR", INTERVAL)
        for one in record.differences:
            pairs.add_row(f"{one.model} - {one.other} {one.method}", *_estimate(one.estimate))
        console().print(pairs)
        for note in difference_table(record).notes:
            print(note)
    for sentence in esnr_sentences(record):
        print(sentence)


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
