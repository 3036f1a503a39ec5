"""Words and their definitions, read from the TOML files beside this one."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

MEASURES = ("metrics", "gaps", "verdicts", "statistics", "esnr", "errors")  # files of what wmel measures and concludes
FILES = (*MEASURES, "episodes", "tables", "records")
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
