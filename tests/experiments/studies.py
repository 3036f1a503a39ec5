"""Small studies, and what of a store must not depend on how it was made."""

import signal
import subprocess
import sys
from pathlib import Path

import polars as pl

from wmel.experiments.folder_store import FolderStore
from wmel.experiments.spec import StudySpec, parse_study
from wmel.files import read_toml

MAZE = """
name = "maze"
episodes = 12
seeds = [0, 1]
block = 5
horizon = 40

[[environments]]
name = "maze_toy"

[[models]]
name = "still"
object = "tests.experiments.still:dynamics"

[[planners]]
name = "random-shooting"
candidates = 20
plan_horizon = { sweep = [5, 10] }
"""
LEARNED = """
name = "learned"
episodes = 4
seeds = [0, 1]
block = 2
horizon = 30

[[environments]]
name = "maze_toy"

[[models]]
name = "mlp"
trainer = "mlp"
epochs = 20
seeds = [0, 1]

[[planners]]
name = "random-shooting"
candidates = 20
plan_horizon = 10
"""


def written(folder: Path, text: str, name: str = "study") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def read_study(path: Path) -> StudySpec:
    """The study of a file; an error names its place in the file."""
    return parse_study(*read_toml(path), path)


def started(path: Path, folder: Path, *options: str) -> subprocess.Popen:
    """`wmel study` in a process group of its own, which heeds Ctrl-C."""
    command = [
        sys.executable,
        "-m",
        "wmel",
        "study",
        str(path),
        "--output",
        str(folder),
    ]
    return subprocess.Popen(
        [*command, *options],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def outcomes(folder: Path) -> dict[str, bytes]:
    """By cell, its stored rows without what is measured, as bytes; blocks in order."""
    store, found = FolderStore(folder), {}
    for cell in store.manifest().cells:
        blocks, wrong = store.blocks(cell)
        assert not wrong
        rows = pl.concat([pl.read_parquet(block.rows) for block in blocks], rechunk=True).drop("planning_latencies_ms")
        assert rows["episode_seed"].to_list() == [cell.seed * 100_000 + place for place in range(cell.episodes)]
        found[cell.key] = rows.write_ipc(None, compression="uncompressed").getvalue()
    return found
