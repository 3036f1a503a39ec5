"""`wmel list`: the catalogue."""

from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  wmel list
  wmel list policies
"""


def list_parts(
    kind: Annotated[str | None, typer.Argument(help="environments, policies, planners, models, ...")] = None,
) -> None:
    """List the parts that can be named on the command line; nothing is imported for it."""
    from wmel.catalog import CATALOGUE
    from wmel.cli.screen import console, table
    from wmel.errors import UnknownPart

    if kind is not None and kind not in CATALOGUE:
        raise UnknownPart(f"no kind of part named '{kind}'; known: {', '.join(CATALOGUE)}")
    for name, registry in CATALOGUE.items():
        if kind in (None, name):
            rows = table("name", "what it is")
            for part, line in registry.parts.items():
                rows.add_row(part, line.summary)
            print(f"\n{name}")
            console().print(rows)
