"""Two workers against one on a study of equal cells, and the report of 100,000 stored episodes."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import polars as pl

from side_by_side import verdict
from wmel.experiments.build import ModelPaths
from wmel.experiments.expand import study_of
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.jobs import Block, run_block
from wmel.experiments.spec import parse_study
from wmel.files import read_toml
from wmel.schema import EpisodeTable

EIGHT = """
name = "eight equal cells"
episodes = 20
seeds = [0, 1, 2, 3, 4, 5, 6, 7]
horizon = 60
block = 20
floor = false

[[environments]]
name = "dmc_acrobot"
init = "fixed"

[[planners]]
name = "cem"
plan_horizon = 15
"""
LARGE = """
name = "a hundred thousand episodes"
episodes = 5000
seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
block = 500
floor = false
horizon = 40

[[environments]]
name = "maze_toy"

[[models]]
name = "still"
object = "study_speed:still"

[[planners]]
name = "random-shooting"
candidates = 20
plan_horizon = 10
"""
BARE_READ = """
import sys
from pathlib import Path
import polars as pl
for block in Path(sys.argv[1]).rglob("*.parquet"):
    pl.read_parquet(block)
"""
COMMAND = [sys.executable, "-c", "from wmel.cli.main import main; main()"]


def still(state, action):
    """A model in which nothing moves."""
    return state


def seconds_with(workers: int, file: Path, folder: Path) -> float:
    """The study run anew with so many workers, imports and their start included."""
    begin = time.perf_counter()
    options = ["--output", str(folder), "--executor", "processes", "--workers", str(workers), "--quiet"]
    subprocess.run([*COMMAND, "study", str(file), *options], check=True)
    return time.perf_counter() - begin


def two_workers(folder: Path) -> bool:
    file = folder / "eight.toml"
    file.write_text(EIGHT)
    best = {workers: float("inf") for workers in (1, 2)}
    for turn in range(2):
        for workers in best:
            best[workers] = min(best[workers], seconds_with(workers, file, folder / f"{workers}-{turn}"))
    print(f"eight equal cells: one worker {best[1]:.1f} s, two {best[2]:.1f} s")
    return verdict("one worker over two, 8 equal cells", best[1] / best[2], at_least=1.7)


def fill(file: Path, store: FolderStore) -> int:
    """Every block of a study, the rows of one block written under the seeds of all others."""
    study = study_of(parse_study(*read_toml(file), file))
    cells, paths, episodes = study.cells, ModelPaths(store.models, study.folder), 0
    with store.locked():
        store.write_manifest(study, anytime=False)
        made = {cell.arm.name: run_block(Block(cell, 0, study.block, paths)) for cell in cells[:2]}
        for cell in cells:
            for first in range(0, cell.episodes, study.block):
                one = made[cell.arm.name]
                seeds = one.run.table["episode_seed"] - one.run.seeds[0] * 100_000 + cell.seed * 100_000 + first
                table: EpisodeTable = one.run.table.with_column("episode_seed", seeds)
                block = Block(cell, first, study.block, paths)
                store.write_block(block, replace(one, run=replace(one.run, seeds=(cell.seed,), table=table)))
                episodes += study.block
    return episodes


def large_report(folder: Path) -> bool:
    file, store = folder / "large.toml", FolderStore(folder / "large")
    file.write_text(LARGE)
    episodes = fill(file, store)
    blocks = list(store.folder.rglob("*.parquet"))
    size = sum(pl.read_parquet(block).estimated_size() for block in blocks)
    read, read_bytes = run_process([sys.executable, "-c", BARE_READ, str(store.folder)])
    report, report_bytes = run_process([*COMMAND, "report", str(store.folder), "--quiet"])
    rows = f"{episodes} episodes in {len(blocks)} blocks"
    print(f"{rows}, {size / 1e6:.0f} MB of rows: read in {read:.1f} s of CPU, reported in {report:.1f} s")
    holds = verdict("report over the bare read of its rows, imports included", report / read, at_most=20)
    memory = (report_bytes - read_bytes) / size
    return holds & verdict("memory of the report beyond that of the bare read, over the rows", memory, at_most=20)


def run_process(command: list[str]) -> tuple[float, int]:
    """Seconds of CPU and the most bytes of a process."""
    _, status, usage = os.wait4(subprocess.Popen(command).pid, 0)
    if status:
        raise SystemExit(f"{command} ended with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> int:
    sys.path.insert(0, str(Path(__file__).parent))
    with tempfile.TemporaryDirectory() as folder:
        holds = large_report(Path(folder))
        holds &= two_workers(Path(folder))
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
