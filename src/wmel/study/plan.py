"""What is left to do of a study: blocks not stored, of cells whose stored rows may stay."""

from collections.abc import Iterator
from dataclasses import dataclass

from wmel.contract.cell import Cell
from wmel.errors import WmelError
from wmel.study.build import Block, Places, model_folder
from wmel.study.provenance import code_of, differences
from wmel.study.store import Store, StoredBlock
from wmel.versions import versions_in_use


@dataclass(frozen=True, eq=False)
class Changed:
    """A cell with rows that were made with something else than is here now."""

    cell: Cell
    differences: list[str]
    is_whole: bool


def missing_blocks(
    store: Store, cell: Cell, places: Places, block: int, *, first: int = 0, last: int | None = None
) -> list[Block]:
    """Blocks of the episodes of a cell that are not stored, from `first` up to `last`."""
    last = cell.episodes if last is None else last
    stored, _ = store.blocks(cell)
    return [
        Block(cell, start, min(block, until - start), places)
        for begin, until in _gaps(stored, first, last)
        for start in range(begin, until, block)
    ]


def changed_cells(store: Store, cells: list[Cell], places: Places) -> list[Changed]:
    """Cells whose stored rows were made with other versions, code or weights or elsewhere, and what differs."""
    found, weights = [], {}
    for cell in cells:
        stored, _ = store.blocks(cell)
        if not stored:
            continue
        folder = model_folder(cell, places)
        if folder is not None and folder not in weights:
            weights[folder] = _weights(cell, places)
        now = {"versions": versions_in_use(), "code": code_of(cell), "weights": weights.get(folder)}
        now["device"] = places.device_of(cell)
        differ = list(
            dict.fromkeys(one for block in stored for one in differences(block.said.provenance.model_dump(), now))
        )
        if differ:
            whole = not list(_gaps(stored, 0, cell.episodes))
            found.append(Changed(cell, differ, whole))
    return found


def _gaps(stored: list[StoredBlock], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Stretches of episodes [first, last) that no block holds."""
    at = first
    for block in sorted(stored, key=lambda one: one.first):
        if block.first > at:
            yield at, min(block.first, last)
        at = max(at, block.first + block.count)
        if at >= last:
            return
    if at < last:
        yield at, last


def _weights(cell: Cell, places: Places) -> str | None:
    """The hash of a cell's model as it is now; None where it is not there to be read."""
    folder = model_folder(cell, places)
    if folder is None or not (folder / "card.json").exists():
        return None
    try:
        return Block(cell, 0, 1, places).runner.policy.settings.get("weights")
    except WmelError:
        return None  # it is trained again where it is needed
