"""wmel.show: a stored record, checked, and shown again from its rows."""

from pathlib import Path

from wmel.api import options as o
from wmel.api.episodes import check_outputs
from wmel.api.load import recorded_result
from wmel.api.verbs import verb
from wmel.errors import BadInput
from wmel.files import write_atomically
from wmel.reports.cpg_record import recorded_arms
from wmel.reports.json_envelope import CPGRecord
from wmel.reports.records import read_record
from wmel.results import Result


@verb
def show(
    record: o.Stored,
    *,
    markdown: o.Markdown = None,
) -> Result:
    """Check a stored record and show what it holds, computed anew from its rows."""
    check_outputs(markdown)
    stored = read_record(record)
    if isinstance(stored, CPGRecord):
        recorded_arms(Path(record), stored)  # refused where it does not follow from them
    result = recorded_result(stored, Path(record).parent)
    if markdown is None:
        return result
    if result.markdown is None:
        raise BadInput(f"a {stored.kind} has no Markdown of its own; `wmel.load(...).report(...)` writes its table")
    write_atomically(Path(markdown), result.markdown())
    result.files = {"table": Path(markdown)}
    return result
