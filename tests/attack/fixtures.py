"""What cases damage or read: one small study, records of every verb and a checkpoint, made once."""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

STUDY = """name = "small"
episodes = 4
block = 2
horizon = 4
[[environments]]
name = "maze_toy"
[[models]]
name = "still"
object = "tests.experiments.still:dynamics"
[[planners]]
name = "random-shooting"
candidates = 4
plan_horizon = 3
"""
TINY = "--episodes 2 --horizon 3 --candidates 2 --plan-horizon 2"
ESNR = "esnr --env maze_toy --model net --methods zog --states 2 --samples 4 --plan-horizon 2"
MADE = (  # what is made once; every line writes what its last word names
    ("store", "study study.toml --quiet --output store"),
    ("run.json", f"run --env maze_toy --policy random-shooting {TINY} --quiet --output run.json"),
    ("runs", f"run --env maze_toy --policy random-shooting {TINY} --quiet --output runs"),
    ("sweep.json", "sweep --env maze_toy --plan-horizons 1,2 --episodes 1 --horizon 2 --quiet --output sweep.json"),
    ("gap", f"cpg --env maze_toy --model tests.experiments.still:dynamics {TINY} --quiet --output gap"),
    ("report", "report store --output report"),
    ("compare.json", "compare run.json run.json --output compare.json"),
    ("net", "train mlp --env maze_toy --epochs 1 --quiet --output net"),
    ("esnr", f"{ESNR} --quiet --output esnr"),
    ("errors", "diagnose prediction-error --env maze_toy --model net --states 2 --steps 2 --quiet --output errors"),
    ("toy", "esnr toy --speeds 5 --seeds 2 --quiet --output toy"),
)  # fmt: skip
INPUTS: Mapping[str, bytes] = {
    "study.toml": STUDY.encode(),
    "deep.json": b"[" * 100_000,
    "binary": bytes(range(256)),
    "layout": b"#####\n#S.G#\n#####\n",
}


@dataclass(frozen=True)
class Fixtures:
    """A folder with what `MADE` makes."""

    folder: Path

    def path(self, name: str) -> Path:
        return self.folder / name

    def some(self, words: Iterable[str]) -> dict[str, Path]:
        """What words name, to be copied beside a case."""
        named = {word.split("/")[0] for word in words}
        return {name: self.path(name) for name, _ in MADE if name in named}

    @cached_property
    def records(self) -> dict[str, dict]:
        """Every record of every kind, by the path of its file here."""
        found = [path for path in sorted(self.folder.rglob("*.json")) if "cells" not in path.parts]
        return {path.relative_to(self.folder).as_posix(): json.loads(path.read_text()) for path in found}


def make_fixtures(folder: Path) -> tuple[Fixtures, list[str]]:
    """Makes what is missing, by the command line; the lines that failed with their last words."""
    from tests.attack.cases import Case
    from tests.attack.here import run_here

    folder.mkdir(parents=True, exist_ok=True)
    problems = []
    for name, line in MADE:
        if not (folder / name).exists():
            outcome = run_here(Case(tuple(line.split()), INPUTS, _made(folder)), folder / ".draft", seconds=120)
            if outcome.code or outcome.escaped:
                problems.append(f"{line}: {outcome.code} {outcome.err}{outcome.escaped}")
            else:
                (folder / ".draft" / name).rename(folder / name)
            shutil.rmtree(folder / ".draft")
    return Fixtures(folder), problems


def _made(folder: Path) -> dict[str, Path]:
    return {path.name: path for path in folder.iterdir() if not path.name.startswith(".")}
