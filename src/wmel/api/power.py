"""wmel.power: how many episodes a decision needs."""

from typing import Annotated

from wmel.analysis.sample_size import needs
from wmel.api import options as o
from wmel.reports.terminal import lines_of, table
from wmel.results import Result
from wmel.stats.power import Design

Rate = Annotated[float, o.Option("Success rate you expect of the oracle, and of the learned model.", "number")]


@o.verb
def power(
    *,
    oracle: Rate,
    learned: Rate,
    paired: Annotated[bool, o.Option("Both arms run the same seeds.", "flag")] = False,
    phi: Annotated[float, o.Option("Correlation within a pair.", "number")] = 0.0,
    equivalence: Annotated[float | None, o.Option("Ask for equivalence within this margin.", "number")] = None,
    n: Annotated[int | None, o.Option("Episodes per arm you can afford.", "whole")] = None,
    half_width: Annotated[float | None, o.Option("Ask for an interval this narrow, +-.", "number")] = None,
    power: Annotated[float, o.Option("Probability of deciding.", "number")] = 0.8,
    paper: o.Paper = False,
) -> Result:
    """The episodes per arm a decision needs, by exact enumeration, and what n of them can find."""
    design = Design(oracle, learned, paired, phi, equivalence)
    rows = needs(design, n=n, half_width=half_width, power=power, paper_first=paper)
    shown = table("question", "answer", "note")
    for row in rows:
        shown.add_row(row["question"], "n/a" if row["answer"] is None else f"{row['answer']:g}", row["note"])
    first = rows[0]
    answer = "n/a" if first["answer"] is None else f"{first['answer']:g}"
    return Result(f"{first['question']}: {answer} ({first['note']}).", rows, lines=[lines_of(shown)])
