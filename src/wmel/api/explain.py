"""wmel.list_parts and wmel.explain: every part with its settings, and every word of the outputs."""

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from wmel import catalog
from wmel.api import options as o
from wmel.api.verbs import mark_of, verb
from wmel.catalog import CATALOGUE, PRESETS
from wmel.errors import BadInput, UnknownPart, suggest_name
from wmel.experiments.keys import ENTRY_SETTINGS
from wmel.glossary.lookup import all_groups, find, key_of
from wmel.glossary.words import Word as Meaning
from wmel.glossary.words import list_lines, meaning_lines, word_parts
from wmel.kinds import kind_of, takes_environment
from wmel.parts import Part, Registry, import_object
from wmel.reports.terminal import lines_of, table, terminal_width
from wmel.results import Result

LISTED_PRESETS = "presets"
KINDS = (*CATALOGUE, LISTED_PRESETS)
EXPLAINED = "`wmel list NAME` explains the settings of one."
SINGULAR = {"preset": LISTED_PRESETS, **{registry.kind: kind for kind, registry in CATALOGUE.items()}}

Names = Annotated[
    Any,
    o.Option(
        "Kinds of parts (environments, planners, ...) or parts, whose settings are explained; one of your own is "
        "package.module:object.",
        "texts",
        is_argument=True,
        names=("kinds", *KINDS),
    ),
]


@verb
def list_parts(names: Names = None, *, environment: o.Environment = None) -> Result:
    """List the parts that can be named, by kind, or explain the settings of some.

    The defaults of a trainer are those in an environment, where one is given. `.entries` has the same as data.
    """
    listed = _words(names, "names") or KINDS
    found = {name: _find(name, environment, is_alone=len(listed) == 1) for name in listed}
    entries = {name: entry for name, (entry, _) in found.items()}
    is_part = names is not None and len(listed) == 1 and "settings" in entries[listed[0]]
    answer = "; ".join(_answer(name, entry) for name, (entry, _) in found.items())
    advice = [] if any("settings" in entry for entry in entries.values()) else [f"{answer}. {EXPLAINED}"]
    return Result(
        answer,
        [{"name": name, **row} for name, (entry, _) in found.items() for row in _rows(entry)],
        lines=[*advice, *(line for _, lines in found.values() for line in lines)],
        verb="list_parts",
        data=_plain(entries[listed[0]] if is_part else entries),
        more={"entries": entries},
    )


def _find(name: str, environment: Any, *, is_alone: bool) -> tuple[Mapping[str, Any], list[str]]:
    """What a name stands for, as data and as lines."""
    registries = {part: registry for registry in CATALOGUE.values() for part in registry.parts}
    name = name if name in registries else SINGULAR.get(name, name)
    if name == LISTED_PRESETS:
        return PRESETS, _presets_lines()
    if name in PRESETS and name not in registries:
        return PRESETS[name], _preset_lines(name)
    if name in CATALOGUE:
        return _kind(name, CATALOGUE[name])
    if name in registries or ":" in name:
        return _part(name, registries[name] if name in registries else _registry_of(name), environment)
    known = [*KINDS, *PRESETS, *registries] if is_alone else KINDS
    words = suggest_name(name, known).partition(" known:")[0]
    raise UnknownPart(f"no part or kind of part named '{name}';{words} kinds: {', '.join(KINDS)}")


def _answer(name: str, entry: Mapping[str, Any]) -> str:
    """How much there is of it."""
    if "settings" in entry:
        return f"{name}: {entry['kind']} with {len(entry['settings'])} settings"
    return f"{SINGULAR.get(name, name)}: {len(entry)}"


def _rows(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table: an entry, or the settings of a part or a preset."""
    named = entry.get("settings", entry)
    return [{"entry": name, "what it is": _row_text(one)} for name, one in named.items()]


def _row_text(one: Any) -> str:
    if isinstance(one, Mapping):
        return str(one.get("summary") or one.get("meaning") or dict(one))
    return str(one)


def _presets_lines() -> list[str]:
    rows = table("name", "what it is")
    for name, preset in PRESETS.items():
        rows.add_row(name, f"settings of a published run, of {', '.join(preset)}; `wmel list {name}` shows them")
    return [f"\n{LISTED_PRESETS}", lines_of(rows)]


def _preset_lines(name: str) -> list[str]:
    rows = table("part", "setting", "value")
    for part, settings in PRESETS[name].items():
        for setting, value in settings.items():
            rows.add_row(part, setting, str(value))
    usage = f'--preset {name}, preset = "{name}"'
    return [f"{name}: preset, settings of a published run where nothing else is given: {usage}", lines_of(rows)]


def _kind(kind: str, registry: Registry) -> tuple[Mapping[str, Any], list[str]]:
    entry = {name: {"origin": part.origin, "summary": part.description} for name, part in registry.parts.items()}
    rows = table("name", "origin", "what it is")
    for name, part in entry.items():
        rows.add_row(name, part["origin"], part["summary"])
    skipped = [f"skipped: {one.origin} offers {one.target} under a name that is taken" for one in registry.refused]
    return entry, [f"\n{kind}", lines_of(rows), *skipped]


def _part(name: str, registry: Registry, environment: Any) -> tuple[Mapping[str, Any], list[str]]:
    part = registry.parts.get(name) or Part(name, "", "yours")
    known = {**registry.settings_of(name), **ENTRY_SETTINGS.get(registry.kind, {})}
    resolved = _resolve_defaults(name, registry, environment)
    settings = {
        one.name: {
            "default": None if one.is_required else _as_typed(resolved.get(one.name, one.default)),
            "values": one.expected,
            "meaning": one.meaning.text,
        }
        for one in known.values()
    }
    lines = [f"{name}: {registry.kind}, {part.description or 'no description'}"]
    if known:
        rows = table("setting", "default", "values", "meaning")
        for setting, one in settings.items():
            default = "required" if known[setting].is_required else str(one["default"])
            rows.add_row(setting, default, one["values"], one["meaning"])
        example = f"--set {registry.kind}.{next(iter(known))}=VALUE"
        lines += [lines_of(rows), f"set them with {example}, or as keys of its table in a study"]
    else:
        lines.append("it takes no settings")
    return {"kind": registry.kind, "name": name, "settings": settings}, lines


def _registry_of(name: str) -> Registry:
    """The kind that package.module:object is of, by its methods or those of what it builds."""
    from wmel.testing.kits import build_default

    part = import_object(name)
    kind = kind_of(part) if isinstance(part, type) else None
    if kind is None:
        part = build_default(part, name)
        kind = kind_of(part)
    if kind is None and inspect.isfunction(part) and takes_environment(part):
        raise BadInput(
            f"'{name}' builds a policy or an objective: annotate what it returns, and its settings are listed"
        )
    if kind is None:
        raise BadInput(f"'{name}' is no part: neither it nor what it builds has the methods of one")
    return catalog.REGISTRIES[kind]


def _resolve_defaults(name: str, registry: Registry, environment: Any) -> dict[str, Any]:
    """The defaults of a trainer in an environment."""
    if environment is None or registry is not catalog.TRAINERS:
        return {}
    world = catalog.environment(environment) if isinstance(environment, str) else environment
    return dict(vars(registry.build(name).resolve(world)))


def _as_typed(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    if value is None or isinstance(value, bool | int | float | Mapping):
        return value
    return str(value).strip("\n").replace("\n", "/")


def _plain(entries: Any) -> Any:
    """Entries as JSON has them."""
    return json.loads(json.dumps(entries, default=dict))


def _words(value: Any, what: str) -> list[str]:
    """One text, or several."""
    listed = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else value
    if listed is not None and not (isinstance(listed, list) and all(isinstance(one, str) for one in listed)):
        raise BadInput(f"{what} takes text, got {value!r}")
    return listed or []


Word = Annotated[
    str | Sequence[str] | None,
    o.Option(
        "A word of any output: a metric, a verdict, a column, a field, a part or a setting.  [default: all are listed]",
        "texts",
        is_argument=True,
        metavar="WORD",
        names=("words",),
    ),
]


@verb
def explain(word: Word = None) -> Result:
    """Explain a word of any output: its definition, its formula, how to read it, and a page with more."""
    words = _words(word, "word")
    if not words:
        return _list()
    found = _find_word(" ".join(words))
    rows = [
        {"word": one.name, "group": one.group, "what": heading, "text": text}
        for one in found
        for heading, text in word_parts(one).items()
    ]
    return Result(
        f"{found[0].name}: {found[0].definition}",
        rows,
        lines=meaning_lines(found, terminal_width()),
        verb="explain",
        data=_entries(found),
        more={"entries": _entries(found)},
    )


def _find_word(text: str) -> list[Meaning]:
    """Every meaning of a word; an option of verbs where it has no other."""
    try:
        return find(text)
    except BadInput:
        if found := [one for one in _option_words() if key_of(one.name) == key_of(text)]:
            return found
        raise


def _option_words() -> list[Meaning]:
    """The options of all verbs, as they are declared, with the verbs that have them."""
    import wmel

    owners: dict[tuple[str, str], list[str]] = {}
    for name in wmel.VERBS:
        for parameter in inspect.signature(getattr(wmel, name)).parameters.values():
            if isinstance(mark := mark_of(parameter), o.Option):
                owners.setdefault((parameter.name, mark.help), []).append(f"wmel.{name}")
    return [
        Meaning(name, "Options", f"{' '.join(text.split()).rstrip('.')}.", more=f"option of {', '.join(verbs)}")
        for (name, text), verbs in owners.items()
    ]


def _entries(words: Iterable[Meaning]) -> dict[str, list[dict[str, Any]]]:
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
        data=entries,
        more={"entries": entries},
    )
