"""wmel.explain: what a word of any output means."""

from collections.abc import Iterable
from typing import Annotated, Any

from wmel.api import options as o
from wmel.api.verbs import verb
from wmel.glossary.explanation import list_lines, meaning_lines, part_words
from wmel.glossary.lookup import all_groups, find
from wmel.glossary.words import Word
from wmel.reports.terminal import terminal_width
from wmel.results import Result

Name = Annotated[
    str | None,
    o.Option(
        "A word of any output: a metric, a verdict, a column, a setting.  [default: all are listed]", is_argument=True
    ),
]


@verb
def explain(word: Name = None) -> Result:
    """What a word of any output means: its definition, formula, how to read it, and the page to read on."""
    if word is None:
        return _list()
    found = find(word)
    rows = [
        {"word": one.name, "group": one.group, "what": heading, "text": text}
        for one in found
        for heading, text in part_words(one).items()
    ]
    return Result(
        f"{found[0].name}: {found[0].definition}",
        rows,
        lines=meaning_lines(found, terminal_width()),
        verb="explain",
        prints_rows=True,
        more={"entries": _entries(found)},
    )


def _entries(words: Iterable[Word]) -> dict[str, list[dict[str, Any]]]:
    """Every meaning, by word."""
    entries: dict[str, list[dict[str, Any]]] = {}
    for one in words:
        entries.setdefault(one.name, []).append(one.data)
    return entries


def _list() -> Result:
    """Every word, by group."""
    groups = all_groups()
    entries = _entries([one for group in groups for one in group.words])
    answer = f"{len(entries)} words are explained: wmel explain WORD"
    return Result(
        answer,
        [{"group": group.title, "words": ", ".join(one.name for one in group.words)} for group in groups],
        lines=[answer, "", *list_lines(groups, terminal_width())],
        verb="explain",
        prints_rows=True,
        more={"entries": entries},
    )
