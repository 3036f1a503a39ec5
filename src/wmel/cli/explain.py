"""`wmel explain`: what a metric means and why a team acts on it."""

from typing import Annotated

import typer


def explain(
    metric: Annotated[str | None, typer.Argument(help="A metric; without one, the names of all.")] = None,
) -> None:
    """Print the definition, formula, unit, use and an example of a metric."""
    from wmel.analysis.scorecard import explained, explanation

    if metric is None:
        print("\n".join(explained()))
    else:
        print(f"{metric}\n{explanation(metric).replace('**', '')}")
