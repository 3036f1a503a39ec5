"""The words of what every verb prints: headings, names of facts, labels and short notes of rendered results."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import wmel
from wmel.reports.document import Document, Points, Section, Table, Text
from wmel.results import Result

ROOT = Path(__file__).parents[2]
EARLIER = ROOT / "tests" / "golden" / "version_2_0"
STORED = [
    *(EARLIER / name for name in ("run.json", "sweep.json", "compare.json", "cpg/cpg.json", "esnr.json")),
    *(EARLIER / name for name in ("results.json", "results_anytime.json")),
    ROOT / "results" / "esnr-cartpole" / "esnr.json",
    ROOT / "results" / "oracle-cartpole-long-plans" / "run.json",
    EARLIER / "over_training",
]
NAMED = ("model", "policy", "environment")  # facts whose value is a name, which the user may have given
WORDED = ("note", "method", "rule", "verdict", "metric", "estimator")  # columns that hold words
OLD_NAME = re.compile(r"([A-Z][a-z]+){2}\(?")  # records of schema 2.0 name parts by their classes
SHORT = 4  # words of a note that is no sentence


@cache
def every_result() -> tuple[Result, ...]:
    """Results of all verbs that print words, from records where there are some."""
    quiet = {"quiet": True}
    return (
        *map(wmel.load, STORED),
        wmel.sweep("maze_toy", "cem", plan_horizons=[10, 20], episodes=4, candidates=8, iterations=1, **quiet),
        wmel.diagnose("prediction-error", "maze_toy", steps=2, states=2, **quiet),
        wmel.esnr_toy(seeds=2, speeds=[5.0], **quiet),
        wmel.power(oracle=0.9, learned=0.5, n=30),
        wmel.check("cem"),
        wmel.list_parts(),
    )


def printed_words() -> dict[str, str]:
    """Each word, with the verb that prints it."""
    return {word: one.verb for one in every_result() for word in words_of(one)}


def printed_text() -> str:
    """All that is printed, on one line."""
    return " ".join(" ".join(map(str, every_result())).split())


def words_of(result: Result) -> Iterator[str]:
    yield from result.table.columns if result.rows else ()
    for row in result.rows:
        shown = [row.get(key) for key in WORDED if key != "note" or row.get("value", row.get("answer", 0)) is not None]
        yield from (text for one in shown if isinstance(one, str) for text in fragments(one))
    for block in () if result.document is None else blocks_of(result.document()):
        if isinstance(block, Text):
            yield from words_of_facts(block.words)
        if isinstance(block, Table):
            yield from words_of_table(block)
        if isinstance(block, Points):
            yield from (item.label for item in block.items if item.label)


def blocks_of(document: Document) -> Iterator[object]:
    """Every block, those of sections among them."""
    waiting = [*document.shared, *document.sections]
    while waiting:
        block = waiting.pop()
        yield block
        waiting += block.blocks if isinstance(block, Section) else []


def words_of_table(table: Table) -> Iterator[str]:
    for place, column in enumerate(table.columns):
        yield column.title
        if column.title in WORDED:
            rows = [row for row in table.rows if column.title != "note" or row[1].text != "n/a"]  # else it is a reason
            yield from (text for row in rows for text in fragments(row[place].text))


def words_of_facts(text: str) -> Iterator[str]:
    """Names of facts (`starts: sampled from the task; ...`), and their values where these are words."""
    facts = re.findall(r"(?:^|; )([a-z ]+): ([^;]*)", text)
    for name, value in facts if len(facts) > 1 else ():
        yield name
        yield from fragments(value) if name not in NAMED else ()


def fragments(text: str) -> Iterator[str]:
    """The parts of a note that are words: no sentence, and no number but a share (`80% sure`)."""
    for part in re.split(r"[,;]|\s(?=\()", text):
        inner = part.strip("()") if part.startswith("(") else part
        words = [word for word in inner.split() if "=" not in word and not OLD_NAME.match(word) and word != ")"]
        if 0 < len(words) <= SHORT and not re.search(r"\d", re.sub(r"^\d+% ", "", " ".join(words))):
            yield " ".join(words)
