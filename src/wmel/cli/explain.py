"""`wmel explain`: what a word of any output means."""

import json as json_format
from typing import Annotated

import typer

from wmel.cli.completion import complete_word
from wmel.cli.list_parts import Json


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
    from wmel.api.explain import explain as explain_word

    found = explain_word(" ".join(words) if words else None)
    print(json_format.dumps(found.entries, indent=1) if json else found)
