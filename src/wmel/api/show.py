"""wmel.show: a stored record or folder, checked, and shown again from its rows."""

from pathlib import Path

from wmel.api import options as o
from wmel.api.episodes import check_outputs
from wmel.api.load import load, recorded_result
from wmel.api.train import CARD
from wmel.api.verbs import verb
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
    """Check a stored record, or the folder of any verb, and show what it holds, computed anew from its rows."""
    check_outputs(markdown)
    path = Path(record)
    if path.is_dir() or path.name == CARD:
        result = load(path)
    else:
        stored = read_record(path)
        if isinstance(stored, CPGRecord):
            recorded_arms(path, stored)  # refused where it does not follow from them
        result = recorded_result(stored, path.parent)
    if markdown is None:
        return result
    write_atomically(Path(markdown), result.to_markdown())
    result.files = {"table": Path(markdown)}
    return result
