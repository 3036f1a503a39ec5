"""wmel.check: does a part keep the contract it declares?"""

from dataclasses import asdict
from typing import Any

from wmel import catalog
from wmel.api import options as o
from wmel.api.objects import refuse_no_part
from wmel.api.verbs import verb
from wmel.reports.records import stamp
from wmel.reports.tool_envelopes import CheckRecord, FindingEntry
from wmel.results import Result
from wmel.testing.findings import Finding


@verb
def check(
    name: o.PartName,
    *,
    environment: o.Environment = "maze_toy",
) -> Result:
    """Run the conformance kit of a part; every broken promise is a sentence that says how to put it right."""
    from wmel.testing.kits import check_part

    if not isinstance(environment, str):
        refuse_no_part("environment", environment)
    world = catalog.environment(environment) if isinstance(environment, str) else environment
    kind, found = check_part(name, world)
    called = name if isinstance(name, str) else getattr(name, "__name__", None) or type(name).__name__
    findings = [FindingEntry(**asdict(one)) for one in found]
    return recorded_result(CheckRecord(**stamp(), kind="check", name=called, part=kind, findings=findings))


def recorded_result(record: CheckRecord) -> Result:
    """The result from what was found."""
    found = [Finding(**dict(one)) for one in record.findings]
    lines = [f"{record.name} as {record.part}"]
    for finding in found:
        mark, words = ("ok  ", finding.note) if finding.kept else ("FAIL", finding.problem)
        after = f" ({words})" if finding.kept and words else f": {words}" if words else ""
        lines.append(f"{mark} {finding.promise}{after}")
    broken = sum(not finding.kept for finding in found)
    lines.append(f"{len(found) - broken} of {len(found)} promises kept")
    rows = [{"promise": one.promise, "kept": one.kept, "problem": one.problem} for one in found]
    return Result(
        f"{record.name}: {lines[-1]}.",
        rows,
        record,
        lines,
        1 if broken else 0,
        "check",
        draw=lambda: _figure(record),
        prints_rows=True,
    )


def _figure(record: CheckRecord) -> Any:
    from wmel.reports.document import plotly_needed

    with plotly_needed():
        from wmel.reports.figures import promises_figure
    return promises_figure(record)
