"""`wmel power`: how many episodes a decision needs."""

from typing import Annotated

import typer

from wmel.cli.options import number, whole_number

EXAMPLES = """\b
Examples:
  wmel power --oracle 0.9 --learned 0.5
  wmel power --oracle 0.5 --learned 0.3 --paired --phi 0.3
  wmel power --oracle 0.9 --learned 0.9 --equivalence 0.1
  wmel power --oracle 0.5 --learned 0.3 --half-width 0.05
  wmel power --oracle 0.5 --learned 0.3 --n 50 --json
"""


def power(
    oracle: Annotated[
        float, typer.Option(parser=number, metavar="<float>", help="Success rate you expect of the oracle.")
    ],
    learned: Annotated[
        float, typer.Option(parser=number, metavar="<float>", help="Success rate you expect of the model.")
    ],
    paired: Annotated[bool, typer.Option("--paired", help="Both arms run the same seeds.")] = False,
    phi: Annotated[float, typer.Option(parser=number, metavar="<float>", help="Correlation within a pair.")] = 0.0,
    equivalence: Annotated[
        float | None, typer.Option(parser=number, metavar="<float>", help="Ask for equivalence within this margin.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", parser=whole_number, metavar="<int>", help="Episodes per arm you can afford.")
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(parser=number, metavar="<float>", help="Ask for an interval this narrow, +-.")
    ] = None,
    target: Annotated[
        float, typer.Option("--power", parser=number, metavar="<float>", help="Probability of deciding.")
    ] = 0.8,
    paper: Annotated[bool, typer.Option("--paper", help="The documents' Agresti-Caffo interval first.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the episodes per arm a decision needs, by exact enumeration, and what n of them can find."""
    import json

    from wmel.analysis.planning_ahead import needs
    from wmel.cli.screen import console, table
    from wmel.stats.power import Design

    rows = needs(
        Design(oracle, learned, paired, phi, equivalence), n=n, half_width=half_width, power=target, paper_first=paper
    )
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    shown = table("question", "answer", "note")
    for row in rows:
        shown.add_row(row["question"], "n/a" if row["answer"] is None else f"{row['answer']:g}", row["note"])
    console().print(shown)
