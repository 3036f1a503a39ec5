"""Explanations as lines for a terminal: a short definition first, then the rest of what is known."""

import textwrap
from collections.abc import Iterable, Sequence

from wmel.glossary.words import HEADINGS, Word, WordGroup

PAGES = "docs/"


def meaning_lines(words: Sequence[Word], width: int) -> list[str]:
    """Every meaning, wrapped to a width."""
    return "\n".join("\n".join([*_lines(word, width), ""]) for word in words).rstrip("\n").split("\n")


def list_lines(groups: Iterable[WordGroup], width: int) -> list[str]:
    """The words of every group, wrapped to a width."""
    found = []
    for group in groups:
        listed = "; ".join(dict.fromkeys(word.name for word in group.words))
        found += ["", group.title, *_wrapped(listed, width, "  ", "  ")]
    return found[1:]


def part_words(word: Word) -> dict[str, str]:
    """What is known of a word, by heading; a page by its file."""
    return {HEADINGS[name]: f"{PAGES}{text}" if name == "page" else text for name, text in word.parts.items()}


def _title(word: Word) -> str:
    """The word, its group and its other names."""
    others = f"; also: {', '.join(word.also)}" if word.also else ""
    return f"{word.name} ({word.group}{others})"


def _lines(word: Word, width: int) -> list[str]:
    parts = part_words(word)
    definition = parts.pop(HEADINGS["definition"])
    rest = [line for heading, text in parts.items() for line in _wrapped(f"{heading}: {text}", width, "  ", "    ")]
    return [*_wrapped(_title(word), width, "", "  "), *_wrapped(definition, width, "  ", "  "), *rest]


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
