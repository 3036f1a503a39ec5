"""What is left to do of a study: blocks not stored, of cells whose stored rows may stay."""

from collections.abc import Iterator
from dataclasses import dataclass

from wmel.contract.cell import Cell, Diagnostic
from wmel.errors import WmelError
from wmel.experiments.build import ModelPaths, build_model
from wmel.experiments.jobs import Block
from wmel.experiments.provenance import code_of, differences
from wmel.experiments.store import Store, StoredBlock
from wmel.versions import versions_in_use


@dataclass(frozen=True, eq=False)
class Changed:
    """A cell with rows that were made with something else than is here now."""

    cell: Cell | Diagnostic
    differences: list[str]
    is_whole: bool


def missing_blocks(
    store: Store,
    cell: Cell,
    paths: ModelPaths,
    block: int,
    *,
    first: int = 0,
    last: int | None = None,
    trajectories: bool = False,
) -> list[Block]:
    """Blocks of the episodes of a cell that are not stored, from `first` up to `last`.

    With `trajectories`, those whose steps are not stored are missing too.
    """
    last = cell.episodes if last is None else last
    stored = [one for one in store.blocks(cell)[0] if one.trajectories is not None or not trajectories]
    return [
        Block(cell, start, min(block, until - start), paths, trajectories, store.is_kept)
        for begin, until in _gaps(stored, first, last)
        for start in range(begin, until, block)
    ]


def changed_cells(store: Store, cells: list[Cell], paths: ModelPaths) -> list[Changed]:
    """Cells whose stored rows were made with other versions, code or weights or elsewhere, and what differs."""
    found = []
    for cell in cells:
        stored, _ = store.blocks(cell)
        if not stored:
            continue
        environment, model = cell.task.environment, cell.arm.model
        now = {"versions": versions_in_use(), "code": code_of(cell), "weights": _weights(cell, paths)}
        now["device"] = paths.device_of(environment, model)
        differ = list(dict.fromkeys(one for block in stored for one in differences(block.provenance, now)))
        if differ:
            found.append(Changed(cell, differ, not list(_gaps(stored, 0, cell.episodes))))
    return found


def changed_readings(store: Store, cells: list[Diagnostic], paths: ModelPaths) -> list[Changed]:
    """The same of readings, which are whole."""
    found = []
    for cell in cells:
        stored = store.reading(cell)
        if stored is not None:
            device = paths.device_of(cell.environment, cell.model)
            now = {"versions": versions_in_use(), "code": code_of(cell), "device": device}
            differ = differences(stored["provenance"], now)
            found += [Changed(cell, differ, True)] if differ else []
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


def _weights(cell: Cell, paths: ModelPaths) -> str | None:
    """The hash of a cell's model as it is now; None where it is not there to be read."""
    folder = paths.folder_of(cell.task.environment, cell.arm.model)
    if folder is None or not (folder / "card.json").exists():
        return None
    try:
        return build_model(cell.task.environment, cell.arm.model, paths).spec.weights
    except WmelError:
        return None  # it is trained again where it is needed
