"""wmel.power: how many episodes a decision needs."""

from dataclasses import replace
from typing import Annotated

from wmel.analysis.verdict import answer_questions
from wmel.api import options as o
from wmel.api.verbs import verb
from wmel.reports.analysis_record_types import PowerRecord
from wmel.reports.record_types import stamp
from wmel.reports.small_svg import Curves
from wmel.reports.terminal import lines_of, table
from wmel.results import Result
from wmel.stats.power import MAX_SEARCHED, Design, episodes_for_half_width, required_episodes

Rate = Annotated[
    float,
    o.Option("Expected success rate: --oracle with the true dynamics, --learned with the learned model.", "number"),
]
POINTS, MOST = 20, 400  # of the curve of power, and the most episodes per arm on it


@verb
def power(
    *,
    oracle: Rate,
    learned: Rate,
    paired: Annotated[bool, o.Option("Both arms run the same seeds.", "flag")] = False,
    phi: Annotated[float, o.Option("Correlation of the two outcomes of a pair.", "number")] = 0.0,
    equivalence: Annotated[
        float | None, o.Option("Episodes that show the rates to be equal within this margin, not a gap.", "number")
    ] = None,
    n: Annotated[int | None, o.Option("Episodes per arm; adds what so many can show.", "whole")] = None,
    half_width: Annotated[
        float | None, o.Option("Adds the episodes for an interval of the gap of +- this width.", "number")
    ] = None,
    power: Annotated[float, o.Option("Probability with which the episodes decide.", "number")] = 0.8,
    paper: o.Paper = False,
) -> Result:
    """Compute how many episodes per arm a decision needs, by exact enumeration."""
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
    answers = table("question", "answer", "note")
    for row in rows:
        answers.add_row(row["question"], _round_answer(row["answer"]), row["note"])
    first, answer = rows[0], power_answer(record)
    return Result(
        answer,
        rows,
        record,
        [answer, lines_of(answers)],
        verb="power",
        prints_rows=True,
        curves=lambda: _curve(design, first["answer"] or n or MOST),
    )


def power_answer(record: PowerRecord) -> str:
    """How many episodes decide, in a sentence, and the answers to further options."""
    arms = {name: getattr(record, name) for name in ("oracle", "learned", "paired", "phi")}
    design = Design(**arms, equivalence=record.equivalence)
    unit = "pairs" if record.paired else "episodes per arm"
    rates = f"{record.oracle:g} against {record.learned:g}"
    aim = f"a gap of {record.oracle - record.learned:.3g} ({rates})"
    if record.equivalence is not None:
        aim = f"that {record.oracle:g} and {record.learned:g} are equivalent within {record.equivalence:g}"
    if record.equivalence is None and record.oracle == record.learned:
        return (
            f"Equal rates ({record.oracle:g}) have no gap to show: a margin of equivalence asks what shows them equal."
        )
    needed = required_episodes(design, power=record.power)
    count = f"No number of {unit} up to {MAX_SEARCHED} shows" if needed is None else f"{needed} {unit} show"
    answers = [f"{count} {aim} with probability {record.power:.2f}"]
    if record.n is not None:
        answers.append(f"{record.n} show it with probability {design.power(record.n):.2f}")
    if record.paper:
        theirs = required_episodes(replace(design, agresti_caffo=True), power=record.power)
        answers.append(f"by the interval of the CPG paper {'none' if theirs is None else theirs}")
    if record.half_width is not None:
        enough = episodes_for_half_width(record.oracle, record.learned, record.half_width)
        answers.append(f"{'none' if enough is None else enough} give an interval of +-{record.half_width:g}")
    return f"{'; '.join(answers)}."


def _round_answer(answer: float | None) -> str:
    """A number of episodes as a whole one, a rate with three digits."""
    if answer is None:
        return "n/a"
    return f"{answer:.0f}" if answer >= 1 else f"{answer:.3g}"


def recorded_result(record: PowerRecord) -> Result:
    """The result of a request."""
    settings = record.model_dump(exclude={"kind", *stamp()})
    return power(**settings)


def _curve(design: Design, enough: float) -> Curves:
    """The probability of deciding over the episodes per arm, up to twice as many as are enough."""
    most = min(2 * max(int(enough), POINTS), MOST)
    sizes = sorted({round(most * place / POINTS) for place in range(1, POINTS + 1)})
    line = [(float(size), design.power(size)) for size in sizes]
    return Curves({"power": line}, "episodes per arm", "probability of deciding")
