"""`wmel list`: the catalogue."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from wmel.registry import Part

EXAMPLES = """\b
Examples:
  wmel list
  wmel list policies
"""


def list_parts(
    kind: Annotated[str | None, typer.Argument(help="environments, policies, planners, models, ...")] = None,
) -> None:
    """List the parts that can be named on the command line, and the package each came with."""
    import difflib

    from wmel.catalog import CATALOGUE
    from wmel.cli.screen import console, table
    from wmel.errors import UnknownPart

    if kind is not None and kind not in CATALOGUE:
        nearest = difflib.get_close_matches(kind, CATALOGUE, n=1)
        hint = f" did you mean '{nearest[0]}'?" if nearest else ""
        raise UnknownPart(f"no kind of part named '{kind}';{hint} known: {', '.join(CATALOGUE)}")
    for name, registry in CATALOGUE.items():
        if kind in (None, name):
            rows = table("name", "origin", "what it is")
            for part, line in registry.parts.items():
                rows.add_row(part, line.origin, summary(line))
            print(f"\n{name}")
            console().print(rows)
            for line in registry.refused:
                print(f"skipped: {line.origin} offers {line.target} under a built-in's name")


def summary(part: "Part") -> str:
    """What a part is: its line in the catalogue, or the first line of what a plugin says of itself."""
    from wmel.errors import BadInput

    if part.summary:
        return part.summary
    try:
        return (part.load().__doc__ or "").strip().split("\n")[0]
    except BadInput as error:
        return f"skipped: {error}"
