"""Words found by name, however they are spelled."""

import difflib
import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from wmel.catalog import CATALOGUE, DIAGNOSTICS, METRICS, PRESETS, REGISTRIES, TRAINERS, perturbation_data
from wmel.errors import BadInput, WmelError, shorten
from wmel.experiments.keys import ENTRY_KEYS, ENTRY_SETTINGS
from wmel.glossary.words import MEASURES, Word, WordGroup, written_groups
from wmel.parts import Registry, Setting
from wmel.schema import EPISODE_COLUMNS

SETTINGS = "Settings"
COLUMNS = "Columns of episodes"
NAMED = 4  # more parts than this are counted
SHORTHAND = ("-", ":")  # of perturbations: drop-next-K, composite:A+B
MEASURE = "It depends on the machine as well as on the episode."


def column_group() -> WordGroup:
    """The columns of every table of episodes, as `wmel.schema` declares them."""
    about = "One row per episode, in records, stores and `Result.episodes`."
    words = tuple(
        Word(one.name, COLUMNS, _sentence(one.doc), reading=MEASURE if one.kind == "measure" else "")
        for one in EPISODE_COLUMNS
    )
    return WordGroup(COLUMNS, about, words)


def part_groups(*, built_in: bool = False) -> list[WordGroup]:
    """The names of parts and presets by kind; built-in metrics are defined in a file."""
    groups = []
    for title, registry in CATALOGUE.items():
        known = METRICS.built_in if registry is METRICS else {}
        names = [name for name in _part_names(registry, built_in=built_in) if name not in known]
        words = tuple(_part(name, registry) for name in names)
        groups += [WordGroup(title.capitalize(), f"`wmel list {title}`", words)] if words else []
    presets = (
        Word(name, "preset", f"Settings of a published run, of {', '.join(preset)}.", more=f"`wmel list {name}`")
        for name, preset in PRESETS.items()
    )
    return [*groups, WordGroup("Presets", "`wmel list presets`", tuple(presets))]


def setting_group(*, built_in: bool = False, kinds: Collection[str] = tuple(REGISTRIES)) -> WordGroup:
    """Every setting of every part of some kinds, as the part declares it; those of trainers import torch."""
    found: dict[tuple[str, str], dict[tuple[str, str], Setting]] = {}
    for kind, part, one in _settings(built_in=built_in, kinds=kinds):
        found.setdefault((one.name, one.meaning.text), {})[kind, part] = one
    every = {kind: len(_part_names(one, built_in=built_in)) for kind, one in REGISTRIES.items()}
    words = tuple(_setting(name, text, parts, every) for (name, text), parts in sorted(found.items()))
    about = "Set with `--set KIND.NAME=VALUE`, as a key of the part's table in a study, or as a keyword in Python."
    return WordGroup(SETTINGS, about, words)


def parts_without_settings() -> list[str]:
    """Trainers whose settings cannot be read here: a package that they import is not installed."""
    return [name for name in TRAINERS.parts if _settings_of(TRAINERS, name) is None]


def _part_names(registry: Registry, *, built_in: bool) -> list[str]:
    return list(registry.built_in if built_in else registry.parts)


def _part(name: str, registry: Registry) -> Word:
    """A part by its line in the catalogue, which of a perturbation begins with the rest of its shorthand."""
    text = registry.parts[name].description
    rest, _, meaning = text.partition(": ")
    definition = f"`{name}{rest}`: {meaning}" if rest.startswith(SHORTHAND) else text
    return Word(name, registry.kind, _sentence(definition), more=f"`wmel list {name}`")


def _settings(*, built_in: bool, kinds: Collection[str]) -> Iterator[tuple[str, str, Setting]]:
    """The kind, the part and the setting, of all that can be read."""
    for registry in (one for one in CATALOGUE.values() if one.kind in kinds):
        parts = _part_names(registry, built_in=built_in)
        for part in parts:
            for one in (_settings_of(registry, part) or {}).values():
                yield registry.kind, part, one
        for one in ENTRY_SETTINGS.get(registry.kind, {}).values():
            for part in parts:
                yield registry.kind, part, one


@cache
def _settings_of(registry: Registry, part: str) -> Mapping[str, Setting] | None:
    """None where the part cannot be imported."""
    try:
        return registry.settings_of(part)
    except WmelError:
        return None


def _setting(name: str, text: str, parts: Mapping[tuple[str, str], Setting], every: Mapping[str, int]) -> Word:
    """A setting with the parts that have it; `every` is how many parts of each kind there are."""
    kinds: dict[str, list[str]] = {}
    for kind, part in parts:
        kinds.setdefault(kind, []).append(part)
    owners = " and ".join(
        f"every {kind}" if len(names) == every[kind] > 1 else f"the {kind}{'s' * (len(names) > 1)} {_few(names)}"
        for kind, names in kinds.items()
    )
    expected = " or ".join(dict.fromkeys(one.expected for one in parts.values()))
    owner = f"{owners}: {expected}; {_defaults(parts)}"
    return Word(name, SETTINGS, _sentence(text), owner=owner)


def _defaults(parts: Mapping[tuple[str, str], Setting]) -> str:
    """The default, or each with the parts that have it."""
    values: dict[str, list[str]] = {}
    for (_, part), one in parts.items():
        words = "required" if one.default is inspect.Parameter.empty else f"default {_plain(one.default)}"
        values.setdefault(words, []).append(part)
    if len(values) == 1:
        return next(iter(values))
    return ", ".join(f"{words} ({_few(names)})" for words, names in values.items())


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED + 1} more" if len(names) > NAMED else ""
    return f"{', '.join(names[: NAMED - 1] if more else names)}{more}"


def _plain(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    if isinstance(value, str) and "\n" in value:
        return "its own drawing"
    return "none" if value is None else str(value)


def _sentence(text: str) -> str:
    """With a full stop, and a capital unless it begins with a name: `cem: how many ...`."""
    first, _, rest = (text or "not described").partition(" ")
    start = first if first.endswith(":") else f"{first[:1].upper()}{first[1:]}"
    return f"{start} {rest}".strip() + ("" if text.endswith(".") else ".")


SUGGESTED = 3
QUALIFIERS = (*REGISTRIES, *DIAGNOSTICS.built_in, "swept")  # beginnings: planner.elites, perturbation_k, esnr.median
ENDS = ("low", "high")  # of an interval: success_low
PLURALS = (("ies", "y"), ("s", ""))  # ends of plurals, and of the words that they are of
WITHOUT_TRAINERS = tuple(kind for kind in REGISTRIES if kind != TRAINERS.kind)
BESIDE = {**ENTRY_KEYS, "model": ("rollout", "device")}  # kind -> settings of it that no part declares


def all_groups() -> list[WordGroup]:
    """Every word, by group."""
    return [*_groups_without_settings(), setting_group()]


def names() -> list[str]:
    """Every name but those of settings, which take long to read."""
    return list(dict.fromkeys(word.name for group in _groups_without_settings() for word in group.words))


def find(text: str) -> list[Word]:
    """Every meaning of a word; case, spaces, hyphens and underscores do not matter.

    KIND.NAME is a setting of that kind alone. The modules of trainers import torch: their settings are read only for
    words that name nothing wmel measures.
    """
    kind, dot, name = text.partition(".")
    if dot and kind.strip().casefold() in REGISTRIES:
        return _find_setting(kind.strip().casefold(), name)
    measured = {group.title for group in written_groups(MEASURES)}
    for key in _keys(text):
        found = _index().get(key, [])
        kinds = WITHOUT_TRAINERS if any(word.group in measured for word in found) else tuple(REGISTRIES)
        if meanings := [*found, *_setting_index(kinds).get(key, [])]:
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
def _setting_index(kinds: tuple[str, ...]) -> dict[str, list[Word]]:
    return _words_by_key([setting_group(kinds=kinds)])


def _find_setting(kind: str, name: str) -> list[Word]:
    """The meanings of a setting among the parts of one kind. The settings of a trainer are keys of its model too."""
    key, kinds = key_of(name), ("model", "trainer") if kind == "model" else (kind,)
    beside = _index().get(key, []) if key in BESIDE.get(kind, ()) else []
    if meanings := [*beside, *_setting_index(kinds).get(key, [])]:
        return meanings
    known = {key: words[0].name for key, words in _setting_index(kinds).items()}
    close = difflib.get_close_matches(key, known, n=SUGGESTED)
    nearest = f"; nearest: {', '.join(f'{kind}.{known[one]}' for one in close)}" if close else ""
    others = [f"{one}.{name}" for one in REGISTRIES if one != kind and key in _setting_index((one,))]
    elsewhere = f"; it is a setting of another kind: {', '.join(others)}" if others else ""
    raise BadInput(f"no {kind} has a setting {shorten(name)}{elsewhere or nearest}{_unread_words()}")


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
    yield re.sub(r"^\d+ ", "", key)  # 80% sure
    yield from (key.removesuffix(end) + one for end, one in PLURALS if key.endswith(end))
    yield from (key.removeprefix(first) for one in QUALIFIERS if key.startswith(first := f"{key_of(one)} "))
    yield from (end for end in ENDS if key.endswith(f" {end}"))
    try:
        yield key_of(perturbation_data(text)["name"])
    except BadInput:  # it names no perturbation with its strength
        return


def _refusal(text: str) -> str:
    """Why a word is refused, with the nearest ones."""
    indices = (_setting_index(tuple(REGISTRIES)), _index())
    names = {key: words[0].name for index in indices for key, words in index.items()}
    key = key_of(text)
    close = difflib.get_close_matches(key, names, n=SUGGESTED) or [one for one in names if key and key in one]
    nearest = ", ".join(dict.fromkeys(names[one] for one in close[:SUGGESTED]))
    suggestion = f"; nearest: {nearest}" if nearest else ""
    return f"no word {shorten(text)} is known{suggestion}; `wmel explain` lists all{_unread_words()}"


def _unread_words() -> str:
    """Which settings cannot be looked up here, as the end of a message."""
    unread = ", ".join(parts_without_settings())
    return f", but for the settings of {unread}, which cannot be imported here" if unread else ""
