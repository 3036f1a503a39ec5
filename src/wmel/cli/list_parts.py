"""`wmel list`: the catalogue, and the settings of a part."""

import json as json_format
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wmel.cli.completion import complete_listed, names_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wmel.parts import Registry

LISTED_PRESETS = "presets"
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def list_parts(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Kinds of parts (environments, planners, ...) or one part, whose settings are explained; one of your "
            "own is package.module:object.",
            autocompletion=complete_listed,
        ),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            help="Show the defaults of a trainer in this environment.",
            autocompletion=names_of("environments"),
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the parts that can be named on the command line, or explain the settings of one."""
    from wmel.catalog import CATALOGUE, PRESETS
    from wmel.errors import UnknownPart, suggest_name

    kinds = list(names or (*CATALOGUE, LISTED_PRESETS))
    parts = {name: (kind, registry) for kind, registry in CATALOGUE.items() for name in registry.parts}
    if json and all(name in CATALOGUE or name == LISTED_PRESETS for name in kinds):
        lines = {name: PRESETS if name == LISTED_PRESETS else _lines(CATALOGUE[name]) for name in kinds}
        print(json_format.dumps(lines, indent=1, default=dict))
        return
    for name in kinds:
        if name == LISTED_PRESETS:
            _print_presets(PRESETS)
        elif name in PRESETS and name not in parts:
            _print_preset(name, PRESETS[name], as_json=json)
        elif name in CATALOGUE:
            _print_kind(name, CATALOGUE[name])
        elif name in parts:
            _print_settings(name, parts[name][1], env, as_json=json)
        elif ":" in name:
            _print_settings(name, _registry_of(name), env, as_json=json)
        else:
            listed = [*CATALOGUE, LISTED_PRESETS]
            known = [*listed, *PRESETS, *parts] if names and len(names) == 1 else listed
            words = suggest_name(name, known).partition(" known:")[0]
            raise UnknownPart(f"no part or kind of part named '{name}';{words} kinds: {', '.join(listed)}")


def _lines(registry: "Registry") -> dict[str, dict[str, str]]:
    return {name: {"origin": line.origin, "summary": line.description} for name, line in registry.parts.items()}


def _print_presets(presets: "Mapping[str, Mapping[str, Any]]") -> None:
    from wmel.reports.terminal import lines_of, table

    rows = table("name", "what it is")
    for name, preset in presets.items():
        rows.add_row(name, f"settings of a published run, of {', '.join(preset)}; `wmel list {name}` shows them")
    print(f"\n{LISTED_PRESETS}")
    print(lines_of(rows))


def _print_preset(name: str, preset: "Mapping[str, Mapping[str, Any]]", *, as_json: bool) -> None:
    from wmel.reports.terminal import lines_of, table

    if as_json:
        print(json_format.dumps({name: preset}, indent=1, default=dict))
        return
    rows = table("part", "setting", "value")
    for part, settings in preset.items():
        for setting, value in settings.items():
            rows.add_row(part, setting, str(value))
    print(
        f'{name}: preset, settings of a published run where nothing else is given: --preset {name}, preset = "{name}"'
    )
    print(lines_of(rows))


def _print_kind(kind: str, registry: "Registry") -> None:
    from wmel.reports.terminal import lines_of, table

    lines = _lines(registry)
    rows = table("name", "origin", "what it is")
    for name, line in lines.items():
        rows.add_row(name, line["origin"], line["summary"])
    print(f"\n{kind}")
    print(lines_of(rows))
    for line in registry.refused:
        print(f"skipped: {line.origin} offers {line.target} under a built-in's name")


def _print_settings(name: str, registry: "Registry", env: str | None, *, as_json: bool) -> None:
    from wmel.experiments.keys import ENTRY_SETTINGS
    from wmel.parts import Part
    from wmel.reports.terminal import lines_of, table

    line = registry.parts.get(name) or Part(name, "", "yours")
    known = {**registry.settings_of(name), **ENTRY_SETTINGS.get(registry.kind, {})}
    here = _defaults_in(name, registry, env)
    data = {
        one.name: {
            "default": None if one.is_required else _plain(here.get(one.name, one.default)),
            "values": one.expected,
            "meaning": one.meaning.text,
        }
        for one in known.values()
    }
    if as_json:
        print(json_format.dumps({"kind": registry.kind, "name": name, "settings": data}, indent=1))
        return
    print(f"{name}: {registry.kind}, {line.description}")
    if not known:
        print("it takes no settings")
        return
    rows = table("setting", "default", "values", "meaning")
    for setting, one in data.items():
        required = known[setting].is_required
        rows.add_row(setting, "required" if required else str(one["default"]), one["values"], one["meaning"])
    print(lines_of(rows))
    print(f"set them with --set {registry.kind}.{next(iter(known))}=VALUE, or as keys of its table in a study")


def _registry_of(name: str) -> "Registry":
    """The kind that package.module:object is of, by its methods or those of what it makes."""
    from wmel import catalog
    from wmel.api.given import add_cwd_to_path
    from wmel.errors import BadInput
    from wmel.kinds import kind_of
    from wmel.parts import import_object
    from wmel.testing.kits import what_it_makes

    add_cwd_to_path()
    kind = kind_of(what_it_makes(import_object(name), name))
    if kind is None:
        raise BadInput(f"'{name}' is no part: neither it nor what it makes has the methods of one")
    return catalog.REGISTRIES[kind]


def _defaults_in(name: str, registry: "Registry", env: str | None) -> dict[str, Any]:
    """What the defaults of a trainer come to in an environment."""
    from wmel import catalog

    if env is None or registry is not catalog.TRAINERS:
        return {}
    return dict(vars(registry.build(name).resolve(catalog.environment(env))))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return value.strip("\n").replace("\n", "/") if isinstance(value, str) else value
