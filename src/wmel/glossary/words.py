"""Words and their definitions, read from the TOML files beside this one."""

import textwrap
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

MEASURES = ("metrics", "gaps", "verdicts", "statistics", "esnr", "errors")  # files of what wmel measures and concludes
TABLED = ("tables", "records", "files")  # files whose words are rows of a table in the glossary
FILES = (*MEASURES, "episodes", *TABLED)
HEADINGS = {  # field of a word -> what it is called
    "definition": "Definition",
    "formula": "Formula",
    "unit": "Unit",
    "reading": "How to read it",
    "use": "Why a team acts on it",
    "example": "Example",
    "owner": "Setting of",
    "more": "More",
    "page": "Read on",
}


@dataclass(frozen=True)
class Word:
    """One meaning of a word; `page` is a file of docs/."""

    name: str
    group: str
    definition: str
    formula: str = ""
    unit: str = ""
    reading: str = ""
    use: str = ""
    example: str = ""
    owner: str = ""
    more: str = ""
    page: str = ""
    also: tuple[str, ...] = ()

    @property
    def parts(self) -> dict[str, str]:
        """What is known of it, by field."""
        return {name: text for name in HEADINGS if (text := getattr(self, name))}

    @property
    def data(self) -> dict[str, Any]:
        """The same as JSON, with its group and other names."""
        return {"group": self.group, **self.parts, **({"also": list(self.also)} if self.also else {})}


@dataclass(frozen=True)
class WordGroup:
    """Words under one heading."""

    title: str
    about: str
    words: tuple[Word, ...]
    page: str = ""  # of the words that have no other


@cache
def written_group(file: str) -> WordGroup:
    """The words of one file."""
    text = files("wmel.glossary").joinpath(f"{file}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    title, about, page = data["title"], data["about"], data.get("page", "")
    words = (_word(name, title, {"page": page, **fields}) for name, fields in data["words"].items())
    return WordGroup(title, about, tuple(words), page)


def written_groups(names: tuple[str, ...] = FILES) -> list[WordGroup]:
    """The words of several files."""
    return [written_group(name) for name in names]


def _word(name: str, group: str, fields: Mapping[str, Any]) -> Word:
    texts = {key: " ".join(value.split()) for key, value in fields.items() if key != "also"}
    return Word(name, group, also=tuple(fields.get("also", ())), **texts)


PAGES = "docs/"


def meaning_lines(words: Sequence[Word], width: int) -> list[str]:
    """Every meaning, wrapped to a width."""
    return "\n".join("\n".join([*_lines(word, width), ""]) for word in words).rstrip("\n").split("\n")


def list_lines(groups: Iterable[WordGroup], width: int) -> list[str]:
    """The words of every group, wrapped to a width."""
    found = []
    for group in groups:
        names = "; ".join(dict.fromkeys(word.name for word in group.words))
        found += ["", group.title, *_wrap(names, width, "  ", "  ")]
    return found[1:]


def word_parts(word: Word) -> dict[str, str]:
    """What is known of a word, by heading; a page by its file."""
    return {HEADINGS[name]: f"{PAGES}{text}" if name == "page" else text for name, text in word.parts.items()}


def _title(word: Word) -> str:
    """The word, its group and its other names."""
    others = f"; also: {', '.join(word.also)}" if word.also else ""
    return f"{word.name} ({word.group}{others})"


def _lines(word: Word, width: int) -> list[str]:
    parts = word_parts(word)
    definition = parts.pop(HEADINGS["definition"])
    rest = [line for heading, text in parts.items() for line in _wrap(f"{heading}: {text}", width, "  ", "    ")]
    return [*_wrap(_title(word), width, "", "  "), *_wrap(definition, width, "  ", "  "), *rest]


def _wrap(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
