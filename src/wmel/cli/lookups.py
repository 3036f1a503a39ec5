"""How the tables of `wmel list`, `wmel explain` and `wmel doctor` are printed."""

import json as json_format
from typing import Annotated

import typer

from wmel.cli.completion import complete_listed, complete_word, names_of

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
    from wmel.api.lookups import as_json
    from wmel.api.lookups import list_parts as find_parts

    found = find_parts(names, environment=env)
    print(json_format.dumps(as_json(found.entries, names), indent=1, default=dict) if json else found)


def explain(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD",
            help="A word of any output: a metric, a verdict, a column, a field, a part or a setting; without one, all.",
            autocompletion=complete_word,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print what a word means: its definition, formula, how to read it, and the page to read on."""
    from wmel.api.lookups import explain as explain_word

    found = explain_word(" ".join(words) if words else None)
    print(json_format.dumps(found.entries, indent=1) if json else found)


def doctor(json: Json = False) -> None:
    """Print versions, and for every extra what is installed or how to install it."""
    from wmel.api.check import doctor as examine

    found = examine()
    print(json_format.dumps(found.entries, indent=1) if json else found)
