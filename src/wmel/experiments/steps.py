"""Every step of stored episodes as .npz files: one for each arm of a setting, its seeds one after the other."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wmel.closed_loop.trajectories import write_trajectories
from wmel.contract.cell import Cell
from wmel.errors import BadInput
from wmel.experiments.store import Store
from wmel.files import check_writable

SUFFIX = ".npz"


def check_steps_path(path: Path, cells: Sequence[Cell]) -> None:
    """Refuse a place that cannot be written, and one file for several arms."""
    files = _files(path, cells)
    if path.suffix == SUFFIX and len(files) > 1:
        raise BadInput(f"there are {len(files)} arms to record, each in a file of its own: give a folder, got {path}")
    check_writable(*files)


def write_steps(path: Path, store: Store, cells: Sequence[Cell]) -> Path:
    """Write the steps of some cells to one .npz file, or to a folder with one for each arm."""
    for file, group in _files(path, cells).items():
        write_trajectories(file, stored_steps(store, group))
    return path


def stored_steps(store: Store, cells: Sequence[Cell]) -> dict[str, np.ndarray]:
    """The steps of all blocks of some cells, episodes one after the other, NaN beyond the last step of each."""
    parts = []
    for cell in cells:
        for block in store.blocks(cell)[0]:
            steps = block.trajectories
            parts.append(dict(np.load(steps)) if isinstance(steps, Path) else dict(steps or {}))
    longest = max(part["actions"].shape[1] for part in parts)

    def padded(array: np.ndarray) -> np.ndarray:
        room = [(0, 0), (0, longest - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
        return np.pad(array, room, constant_values=np.nan)

    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {
        name: np.concatenate([part[name] if part[name].ndim == 1 else padded(part[name]) for part in parts])
        for name in names
    }


def _files(path: Path, cells: Sequence[Cell]) -> dict[Path, list[Cell]]:
    """Which cells go into which file: a file is called as its arm, with its setting where arms share a name."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.name.removesuffix(f"/seed-{cell.seed}"), []).append(cell)
    if path.suffix == SUFFIX and len(groups) == 1:
        return {path: list(cells)}
    arms = Counter(group[0].arm.name for group in groups.values())
    found: dict[Path, list[Cell]] = {}
    for name, group in groups.items():
        called = group[0].arm.name if arms[group[0].arm.name] == 1 else name
        file = path / (re.sub(r"[^\w.=@+-]+", "_", called) + SUFFIX)
        found[file if file not in found else path / f"{file.stem}-{group[0].key}{SUFFIX}"] = group
    return found
