"""Without an output nothing is written; what is trained lives as long as the result, and is saved with it."""

import gc
import tempfile
from pathlib import Path

import pytest

import wmel

RECIPE = {"m": {"trainer": "mlp", "epochs": 2}}
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
    assert result.episodes.height == 2 and not made


def test_a_trained_model_lives_as_long_as_its_result_and_is_saved_with_it(temporary, tmp_path):
    gap = wmel.cpg("maze_toy", RECIPE, **TINY)
    again = wmel.cpg("maze_toy", {"m": gap.models["m"]}, **TINY)
    assert again.gaps["m"].gap == gap.gaps["m"].gap
    weights = (gap.models["m"] / "weights.safetensors").read_bytes()
    gap.save(tmp_path / "saved")
    del gap, again
    gc.collect()
    assert not list(temporary.glob("wmel-*"))
    loaded = wmel.load(tmp_path / "saved")
    assert loaded.models["m"].is_relative_to(tmp_path / "saved")
    assert (loaded.models["m"] / "weights.safetensors").read_bytes() == weights


def test_a_result_that_is_saved_elsewhere_takes_its_trained_models_along(tmp_path):
    gap = wmel.cpg("maze_toy", RECIPE, output=tmp_path / "first", **TINY)
    assert gap.models["m"].parent == tmp_path / "first" / "models"
    gap.save(tmp_path / "second")
    assert wmel.load(tmp_path / "second").models["m"].parent == tmp_path / "second" / "models"


def test_a_run_whose_record_is_one_file_keeps_its_trained_model(temporary, tmp_path):
    result = wmel.run(
        "maze_toy",
        "random-shooting",
        model={"name": "m", **RECIPE["m"]},
        output=tmp_path / "run.json",
        episodes=2,
        quiet=True,
    )
    result.save(tmp_path / "saved")
    assert list((tmp_path / "saved" / "models").glob("*/weights.safetensors"))
