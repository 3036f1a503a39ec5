"""What `wmel esnr over-training` reads: runs with their checkpoints, and a table of numbers beside them."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from wmel.errors import BadInput

KEYS = ("run", "updates")


def runs_of(folders: Sequence[Path]) -> dict[str, dict[int, Path]]:
    """The checkpoints of every run by name and updates; a run is called as its folder."""
    found = {folder.resolve().name: checkpoints_of(folder) for folder in folders}
    if len(found) < len(folders):
        raise BadInput(f"each run needs a name of its own, got {', '.join(map(str, folders))}")
    return found


def checkpoints_of(run: Path) -> dict[int, Path]:
    """Folders in RUN/checkpoints named by their updates, rising; one without a card is not whole and is left out."""
    from wmel.training.checkpoints import CARD
    from wmel.training.tdmpc2.keeper import CHECKPOINTS

    folder = run / CHECKPOINTS
    if not folder.is_dir():
        raise BadInput(f"{run} has no folder {CHECKPOINTS}: train with --checkpoints to have one")
    named = [one for one in folder.iterdir() if one.name.isdecimal() and (one / CARD).is_file()]
    if not named:
        raise BadInput(f"{folder} holds no checkpoint: they are folders named by their updates, such as 0000100")
    found = {int(one.name): one for one in sorted(named, key=lambda one: int(one.name))}
    if len(found) < len(named):
        raise BadInput(f"two checkpoints in {folder} have the same number of updates")
    return found


def read_beside(path: Path | None, runs: Mapping[str, Mapping[int, object]]) -> dict[str, dict[str, dict[int, float]]]:
    """Numbers by run, column and updates, of a CSV file with the columns run, updates and at least one more.

    An empty cell is no number; rows between checkpoints are drawn, and correlated with nothing.
    """
    found: dict[str, dict[str, dict[int, float]]] = {name: {} for name in runs}
    if path is None:
        return found
    header, rows = _table(path)
    names = [name for name in header if name not in KEYS]
    if len(names) + len(KEYS) != len(header) or not names or len(set(header)) < len(header) or "" in header:
        wanted = "run, updates and one or more others, each once"
        raise BadInput(f"{path} must have the columns {wanted}; it has {', '.join(header) or 'none'}")
    for line, row in enumerate(rows, 2):
        if not row:
            continue
        if len(row) != len(header):
            raise BadInput(f"line {line} of {path} has {len(row)} cells, and the header {len(header)}")
        cells = dict(zip(header, map(str.strip, row), strict=True))
        run, updates = cells.pop("run"), _whole(cells.pop("updates"), line, path)
        if run not in found:
            raise BadInput(f"line {line} of {path} is of a run {run!r}; those read here: {', '.join(runs)}")
        for name, text in cells.items():
            column = found[run].setdefault(name, {})
            if updates in column:
                raise BadInput(f"line {line} of {path} has {updates} updates of {run} a second time")
            column[updates] = _number(text, name, line, path)
    if not any(runs[run].keys() & column.keys() for run, columns in found.items() for column in columns.values()):
        raise BadInput(f"no line of {path} has the updates of a checkpoint")
    return found


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines(), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    return ([name.strip() for name in lines[0]] if lines else []), lines[1:]


def _whole(text: str, line: int, path: Path) -> int:
    if not text.isdecimal():
        raise BadInput(f"line {line} of {path}: updates must be a whole number, got {text!r}")
    return int(text)


def _number(text: str, name: str, line: int, path: Path) -> float:
    """NaN where the cell is empty."""
    try:
        value = float(text) if text else math.nan
    except ValueError:
        raise BadInput(f"line {line} of {path}: {name} must be a number, got {text[:40]!r}") from None
    if text and not math.isfinite(value):
        raise BadInput(f"line {line} of {path}: {name} must be finite or empty, got {text!r}")
    return value
