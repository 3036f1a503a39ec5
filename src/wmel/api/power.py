"""wmel.power: how many episodes a decision needs."""

from typing import Annotated

from wmel.analysis.sample_size import answer_questions
from wmel.api import options as o
from wmel.api.verbs import verb
from wmel.reports.envelopes import PowerRecord
from wmel.reports.records import stamp
from wmel.reports.small_svg import Curves
from wmel.reports.terminal import lines_of, table
from wmel.results import Result
from wmel.stats.power import Design

Rate = Annotated[float, o.Option("Success rate you expect of the oracle, and of the learned model.", "number")]
POINTS, MOST = 20, 400  # of the curve of power, and the most episodes per arm on it


@verb
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
    rows = answer_questions(design, n=n, half_width=half_width, power=power, paper=paper)
    record = PowerRecord(
        **stamp(),
        kind="power",
        **{name: getattr(design, name) for name in ("oracle", "learned", "paired", "phi", "equivalence")},
        n=n,
        half_width=half_width,
        power=power,
        paper=paper,
    )
    shown = table("question", "answer", "note")
    for row in rows:
        shown.add_row(row["question"], "n/a" if row["answer"] is None else f"{row['answer']:g}", row["note"])
    first = rows[0]
    answer = "n/a" if first["answer"] is None else f"{first['answer']:g}"
    return Result(
        f"{first['question']}: {answer} ({first['note']}).",
        rows,
        record,
        [lines_of(shown)],
        verb="power",
        prints_rows=True,
        curves=lambda: _curve(design, first["answer"] or n or MOST),
    )


def recorded_result(record: PowerRecord) -> Result:
    """The result from what was asked."""
    asked = record.model_dump(exclude={"kind", *stamp()})
    return power(**asked)


def _curve(design: Design, enough: float) -> Curves:
    """The probability of deciding over the episodes per arm, up to twice as many as are enough."""
    most = min(2 * max(int(enough), POINTS), MOST)
    sizes = sorted({round(most * place / POINTS) for place in range(1, POINTS + 1)})
    line = [(float(size), design.power(size)) for size in sizes]
    return Curves({"power": line}, "episodes per arm", "probability of deciding")
