"""wmel.explain: what a word of any output means."""

from typing import Annotated

from wmel.api import options as o
from wmel.api.verbs import verb
from wmel.glossary.explanation import list_lines, meaning_lines, part_words, title_words
from wmel.glossary.lookup import all_groups, find
from wmel.reports.terminal import width
from wmel.results import Result

Word = Annotated[
    str | None,
    o.Option(
        "A word of any output: a metric, a verdict, a column, a setting.  [default: all are listed]", is_argument=True
    ),
]


@verb
def explain(word: Word = None) -> Result:
    """What a word of any output means: its definition, formula, how to read it, and the page to read on."""
    if word is None:
        return _list()
    found = find(word)
    rows = [
        {"word": title_words(one), "what": heading, "text": text}
        for one in found
        for heading, text in part_words(one).items()
    ]
    return Result(
        f"{found[0].name}: {found[0].definition}",
        rows,
        lines=meaning_lines(found, width()),
        verb="explain",
        prints_rows=True,
        more={"entries": {found[0].name: [one.data for one in found]}},
    )


def _list() -> Result:
    """Every word, by group."""
    groups = all_groups()
    entries: dict[str, list] = {}
    for one in (one for group in groups for one in group.words):
        entries.setdefault(one.name, []).append(one.data)
    answer = f"{len(entries)} words are explained: wmel explain WORD"
    return Result(
        answer,
        [{"group": group.title, "words": ", ".join(one.name for one in group.words)} for group in groups],
        lines=[answer, "", *list_lines(groups, width())],
        verb="explain",
        prints_rows=True,
        more={"entries": entries},
    )
