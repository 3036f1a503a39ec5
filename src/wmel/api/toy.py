"""wmel.esnr_toy: the ceiling bounce, where ESNR can be held against the truth."""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from wmel.api import options as o
from wmel.api.episodes import check_outputs, listener_for
from wmel.api.verbs import verb
from wmel.errors import BadInput, is_number, requires_package
from wmel.reports.analysis_record_types import ToyRecord
from wmel.reports.document import draw_figure, plotly_needed
from wmel.reports.records import FILES, write_record
from wmel.results import Result


@verb
def esnr_toy(
    *,
    output: o.Output = None,
    speeds: Annotated[Sequence[float], o.Option("Launch speeds in m/s, separated by commas.", "numbers")] = (5.0, 6.0),
    seeds: Annotated[int, o.Option("Ascents per estimator and speed.", "whole")] = 300,
    quiet: o.Quiet = False,
) -> Result:
    """Compare gradient estimators on a launch whose distance jumps: their ESNR, and how far they ascend.

    With OUTPUT, toy.html, toy.md and toy.json are written there.
    """
    with requires_package("torch", "the ceiling bounce needs torch: install wmel[learned]"):
        from wmel.diagnostics.ceiling_bounce.panel import STEPS, check_launch, measure_panel
    with plotly_needed():
        import wmel.reports.toy_figures  # noqa: F401  # before anything is measured
    launches = [float(speed) if is_number(speed) else speed for speed in speeds]
    if not launches or len(set(launches)) < len(launches):
        raise BadInput(f"speeds must be one or more numbers, all different, got {launches}")
    for speed in launches:
        check_launch(speed, seeds)
    names = {"page": "toy.html", "markdown": "toy.md", "record": FILES["toy"]}
    files = {} if output is None else {kind: Path(output) / name for kind, name in names.items()}
    check_outputs(*files.values())
    with listener_for("", quiet=quiet) as listener:
        listener.begin("ceiling bounce", STEPS * len(launches), "steps")
        panels = [measure_panel(speed, seeds, progress=listener.advance) for speed in launches]
    result = _result(panels)
    if files:
        write_record(files.pop("record"), result.record)
        for path in files.values():
            result.report(path)
        result.files, result.folder = files, files["page"].parent
    return result


def recorded_result(record: ToyRecord) -> Result:
    """The result from its record."""
    with requires_package("torch", "the ceiling bounce needs torch: install wmel[learned]"):
        from wmel.reports.toy_report import recorded_panels
    return _result(recorded_panels(record))


def _result(panels: Sequence[Any]) -> Result:
    from wmel.reports.toy_report import toy_answer, toy_document, toy_record

    rows = [
        {"speed": one.speed, "estimator": read.name, "esnr_per_rollout": read.mean, "median": read.median,
         "literal": read.literal, "right_sign": read.right_sign.value, "reached": read.reached.value,
         "ascent": read.speed_of_ascent.value, "low": read.speed_of_ascent.low, "high": read.speed_of_ascent.high}
        for one in panels
        for read in one.readings
    ]  # fmt: skip
    return Result(
        toy_answer(panels),
        rows,
        cache(lambda: toy_record(panels)),
        verb="esnr_toy",
        draw=partial(draw_figure, "toy_figures:all_ratios_figure", panels),
        document=lambda: toy_document(panels),
        prints_rows=True,
        more={"panels": panels},
    )
