"""`wmel explain`: what a metric means and why a team acts on it."""

import json as json_format
from typing import Annotated

import typer

from wmel.cli.completion import names_of
from wmel.cli.list_parts import Json


def explain(
    metric: Annotated[
        str | None,
        typer.Argument(help="A metric; without one, the names of all.", autocompletion=names_of("metrics")),
    ] = None,
    json: Json = False,
) -> None:
    """Print the definition, formula, unit, use and an example of a metric."""
    from wmel.analysis.scorecard import explained, explanation

    if json:
        names = explained() if metric is None else [metric]
        print(json_format.dumps({name: explanation(name).replace("**", "") for name in names}, indent=1))
    elif metric is None:
        print("\n".join(explained()))
    else:
        print(f"{metric}\n{explanation(metric).replace('**', '')}")
