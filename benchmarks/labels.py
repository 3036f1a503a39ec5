"""The labels of results before decision 0015 beside today's: writes the table of changes into results/README.md."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from findings_figures import END, START
from reproduction import RESULTS, names, result_of
from wmel.analysis.verdict import ALPHA
from wmel.reports.analysis_record_types import ComparedEntry, StudyRecord

BEFORE, PAGE, NAME = RESULTS / "labels-before-0015.json", RESULTS / "README.md", "changed labels"


BLIND = "the oracle is not shown to beat random actions, which the report states first"


def labels_of(record: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """The label of every gap of a results.json, with the counts and the interval that it was made from."""
    return {
        one["name"]: {
            model: {
                "label": gap["verdict"],
                "rates": [gap["oracle_success_rate"], gap["learned_success_rate"]],
                "episodes": gap["n_episodes_learned"],
                "interval": [gap["gap_ci_low"], gap["gap_ci_high"]],
            }
            for model, gap in one["gaps"].items()
        }
        for one in record["comparisons"]
    }


def reason(old: dict[str, Any], gap: ComparedEntry) -> str:
    """Why a label changed: other rows, the exact test, or Holm's correction."""
    rates = [gap.oracle_success_rate, gap.learned_success_rate]
    rounded = [[round(value, 9) for value in values] for values in (rates, old["rates"])]
    if rounded[0] != rounded[1] or old["episodes"] != gap.n_episodes_learned:
        first, last = (f"{a:.3f} and {b:.3f}" for a, b in (old["rates"], rates))
        return f"run again on another machine: the rates were {first} and are {last}"
    p_value = None if gap.p_value is None else gap.p_value.value
    if p_value is not None and gap.p_value_holm is not None and p_value <= ALPHA < gap.p_value_holm:
        return f"Holm: p = {p_value:.2g} is {gap.p_value_holm:.2g} after correction for {gap.comparisons} gaps"
    return (
        f"exact test: p = {p_value:.2g}; the interval [{old['interval'][0]:+.4f}, {old['interval'][1]:+.4f}] of the "
        f"approximate test is [{gap.gap_ci_low:+.4f}, {gap.gap_ci_high:+.4f}]"
    )


def compared() -> Iterator[tuple[str, str, str, dict[str, Any] | None, ComparedEntry, bool]]:
    """(study, setting, model, what it was, what it is, whether the oracle is shown to beat random actions)."""
    from wmel.reports.study_gaps import study_gaps

    before = json.loads(BEFORE.read_text())["studies"]
    for folder in sorted(path.parent for path in RESULTS.glob("*/study.json")):
        record: StudyRecord = result_of(folder.name)
        blind = {(one.comparison.name, one.model) for one in study_gaps(record) if one.judged.unseen is not None}
        old = {now: labels for name, labels in before.get(folder.name, {}).items() for now in names(name)}
        for one in record.comparisons:
            for model, gap in one.gaps.items():
                was = old.get(one.name, {}).get(model)
                yield folder.name, one.name, model, was, gap, (one.name, model) not in blind


def table() -> str:
    found = list(compared())
    known = [one for one in found if one[3] is not None]
    lines = ["| study | setting | model | label before | label now | reason |", "|---|---|---|---|---|---|"]
    changed = blind = 0
    for study, setting, model, was, gap, seen in found:
        if was is None:
            continue
        reasons = [reason(was, gap)] if was["label"] != gap.verdict else []
        changed += bool(reasons)
        if not seen:
            reasons.append(BLIND)
            blind += 1
        if reasons:
            lines.append(f"| {study} | {setting} | {model} | {was['label']} | {gap.verdict} | {'; '.join(reasons)} |")
    head = (
        f"Of {len(known)} gaps that were published before decision 0015 and whose rows are stored, {changed} have "
        f"another label now. In {blind}, changed or not, the oracle is not shown to beat random actions. "
        f"{len(found) - len(known)} gaps are new."
    )
    return "\n".join([head, "", *lines])


def write_labels() -> None:
    text, start, end = PAGE.read_text(), START.format(NAME), END.format(NAME)
    before, _, rest = text.partition(start)
    if end not in rest:
        raise SystemExit(f"{PAGE} needs the marks {start!r} and {end!r}")
    PAGE.write_text(f"{before}{start}{table()}\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    write_labels()
    sys.exit(0)
