"""`wmel list`: the catalogue, and the settings of a part."""

import json as json_format
from typing import Annotated

import typer

from wmel.cli.completion import complete_listed, names_of

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def list_parts(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Kinds of parts (environments, planners, ...) or parts, whose settings are explained; one of your "
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
    """List the parts that can be named on the command line, or explain the settings of some."""
    from wmel.api.list_parts import as_json
    from wmel.api.list_parts import list_parts as find_parts

    found = find_parts(names, environment=env)
    print(json_format.dumps(as_json(found.entries, names), indent=1, default=dict) if json else found)
