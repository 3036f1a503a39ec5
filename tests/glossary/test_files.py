"""Every key of every file that wmel writes, and of what `--json` prints, can be looked up."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import wmel
from tests.glossary.rendered import every_result
from wmel.errors import BadInput
from wmel.glossary.lookup import find

ROOT = Path(__file__).parents[2]
STUDY = {
    "name": "every-file",
    "environments": ["maze_toy"],
    "planners": [{"name": "cem", "candidates": 8, "iterations": 1}],
    "models": [{"name": "net", "trainer": "mlp", "epochs": 2, "checkpoints": [1]}],
    "diagnostics": [{"name": "prediction-error", "steps": 2, "states": 2}],
    "episodes": 2,
    "horizon": 6,
}
BY_NAME = {  # keys whose own keys are names: of packages, arms, settings, tasks, cells, columns, quantities
    *("versions", "arms", "scorecards", "coverage", "cpgs", "gaps", "labels", "arm_labels", "shared_labels", "bases"),
    *("sweeps", "models", "looks", "moved", "looked", "swept", "beside"),
}
NUMBERED = "beside"  # its columns have updates as keys


@pytest.fixture(scope="module")
def written(tmp_path_factory, maze_training):
    """Folders with all kinds of files: results and checkpoints of this repository, and what this version writes."""
    folder = tmp_path_factory.mktemp("files")
    wmel.study(STUDY, output=folder / "study", trajectories=folder / "steps", quiet=True)
    wmel.run("maze_toy", "random", episodes=2, trajectories=folder / "steps.npz", quiet=True)
    forecast = wmel.study(STUDY, output=folder / "study", dry_run=True, quiet=True)
    results = [*every_result(), maze_training, forecast, wmel.doctor(), wmel.explain("gap"), wmel.list_parts("cem")]
    for number, one in enumerate(results):
        (folder / f"{number}.json").write_text(one.to_json())
    return [
        folder,
        maze_training.folder,
        ROOT / "models",
        *(one for one in (ROOT / "results").iterdir() if one.is_dir()),
    ]


def keys_of_files(folders: list[Path]) -> dict[str, str]:
    """Each key, with the kind of file that has it."""
    found = {}
    for path in (path for folder in folders for path in folder.rglob("*")):
        found |= dict.fromkeys(keys_of_file(path), path.name if path.parent.name != "cells" else "cells")
    return found


def keys_of_file(path: Path) -> Iterator[str]:
    if path.suffix == ".json":
        yield from keys_of(json.loads(path.read_text()))
    elif path.suffix == ".parquet":
        yield from polars.read_parquet_schema(path)
    elif path.suffix == ".npz":
        with np.load(path) as arrays:
            yield from arrays.files


def keys_of(value: Any, *, are_names: bool = False) -> Iterator[str]:
    """The keys of nested data, without those that are names."""
    if isinstance(value, list):
        for one in value:
            yield from keys_of(one, are_names=are_names)
    elif isinstance(value, dict):
        yield from () if are_names else value
        for key, one in value.items():
            yield from keys_of(one, are_names=key in BY_NAME and not are_names) if key != NUMBERED else ()


def is_explained(key: str) -> bool:
    try:
        return bool(find(key))
    except BadInput:
        return False


@pytest.mark.slow
def test_every_key_of_a_file_is_explained(written):
    found = keys_of_files(written)
    assert {"weights_sha256", "provenance", "moved", "verdicts", "seconds", "observations"} <= found.keys()
    assert {key: file for key, file in found.items() if not is_explained(key)} == {}


def test_a_key_without_a_meaning_is_found():
    nested = {"versions": {"numpy": "2"}, "card": [{"no_such_key": {"numpy": 1}}]}
    assert [key for key in keys_of(nested) if not is_explained(key)] == ["no_such_key", "numpy"]
