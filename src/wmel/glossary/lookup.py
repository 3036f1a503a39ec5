"""Words found by name, however they are spelled."""

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import cache

from wmel.catalog import DIAGNOSTICS, REGISTRIES, perturbation_data
from wmel.errors import BadInput, shorten
from wmel.glossary.catalogued import column_group, part_groups, parts_without_settings, setting_group
from wmel.glossary.words import MEASURES, Word, WordGroup, written_groups

SUGGESTED = 3
QUALIFIERS = (*REGISTRIES, *DIAGNOSTICS.built_in, "swept")  # beginnings: planner.elites, perturbation_k, esnr.median
ENDS = ("low", "high")  # of an interval: success_low


def all_groups() -> list[WordGroup]:
    """Every word, by group."""
    return [*_groups_without_settings(), setting_group()]


def names() -> list[str]:
    """Every name but those of settings, which take long to read."""
    return list(dict.fromkeys(word.name for group in _groups_without_settings() for word in group.words))


def find(text: str) -> list[Word]:
    """Every meaning of a word; case, spaces, hyphens and underscores do not matter.

    The modules of trainers import torch: their settings are read only for words that name nothing wmel measures.
    """
    measured = {group.title for group in written_groups(MEASURES)}
    for key in _keys(text):
        found = _index().get(key, [])
        trainers = not any(word.group in measured for word in found)
        if meanings := [*found, *_setting_index(trainers=trainers).get(key, [])]:
            return meanings
    raise BadInput(_refusal(text))


def key_of(text: str) -> str:
    """A name without what may differ in how it is typed; of success@20 the number is left out too."""
    plain = " ".join(re.sub(r"[^\w*@]|_", " ", text.casefold()).split())
    return plain.partition("@")[0].strip() + "@" if "@" in plain else plain


def _groups_without_settings() -> list[WordGroup]:
    return [*written_groups(), column_group(), *part_groups()]


@cache
def _index() -> dict[str, list[Word]]:
    return _words_by_key(_groups_without_settings())


@cache
def _setting_index(*, trainers: bool) -> dict[str, list[Word]]:
    return _words_by_key([setting_group(trainers=trainers)])


def _words_by_key(groups: Iterable[WordGroup]) -> dict[str, list[Word]]:
    found: dict[str, list[Word]] = {}
    for word in (word for group in groups for word in group.words):
        for key in dict.fromkeys(map(key_of, (word.name, *word.also))):
            found.setdefault(key, []).append(word)
    return found


def _keys(text: str) -> Iterator[str]:
    """What a word may be found by: as typed, without brackets, without what it is of, as an end, as a perturbation."""
    key = key_of(text)
    yield key
    yield key_of(re.sub(r"\(.*?\)|\[.*?\]", " ", text))
    yield from (key.removeprefix(first) for one in QUALIFIERS if key.startswith(first := f"{key_of(one)} "))
    yield from (end for end in ENDS if key.endswith(f" {end}"))
    try:
        yield key_of(perturbation_data(text)["name"])
    except BadInput:  # it names no perturbation with its strength
        return


def _refusal(text: str) -> str:
    """Why a word is refused, with the nearest ones."""
    names = {key: words[0].name for index in (_setting_index(trainers=True), _index()) for key, words in index.items()}
    key = key_of(text)
    close = difflib.get_close_matches(key, names, n=SUGGESTED) or [one for one in names if key and key in one]
    nearest = ", ".join(dict.fromkeys(names[one] for one in close[:SUGGESTED]))
    unread = ", ".join(parts_without_settings())
    return (
        f"no word {shorten(text)} is known{f'; nearest: {nearest}' if nearest else ''}; `wmel explain` lists all"
        f"{f', but for the settings of {unread}, which cannot be imported here' if unread else ''}"
    )
