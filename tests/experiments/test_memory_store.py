"""Without an output nothing is written; what is trained lives as long as the result, and is saved with it."""

import gc
import tempfile
from pathlib import Path

import pytest

import wmel

RECIPE = {"name": "m", "trainer": "mlp", "epochs": 2, "episodes": 4}
TINY = {"planner": "random-shooting", "episodes": 2, "horizon": 5, "quiet": True}


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files of this process alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_where_no_model_is_trained_no_folder_is_made(temporary, monkeypatch):
    made = []
    monkeypatch.setattr(Path, "mkdir", lambda path, *_, **__: made.append(path))
    monkeypatch.setattr("os.mkdir", lambda path, *_: made.append(path))
    result = wmel.run("maze_toy", "random", episodes=2, quiet=True)
    assert result.episodes["steps"].size == 2 and not made
