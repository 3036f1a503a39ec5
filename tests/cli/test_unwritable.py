"""Outputs that cannot be written at the end of a run: the result is printed all the same, and the exit code is 1."""

import json
import sys

import pytest

from tests.conftest import says
from wmel.api.episodes import write_outputs
from wmel.errors import CannotWrite
from wmel.results import Result

CODE = """
from pathlib import Path
import wmel

MAZE = wmel.environment("maze_toy")

class World:
    def __getattr__(self, name): return getattr(MAZE, name)

    def reset(self, seeds):
        blocked = Path("blocked")
        if len(seeds) > 1 and blocked.exists():  # not when a study is checked
            Path(blocked.read_text()).mkdir(parents=True)
            blocked.unlink()
        return MAZE.reset(seeds)
"""
RUN = "run --env closing:World --policy random --episodes 4"
CPG = "cpg --env closing:World --model tests.experiments.still:dynamics --episodes 4 --candidates 5 --output out"
STUDY = 'name = "s"\nepisodes = 4\nfloor = false\nenvironments = ["closing:World"]\npolicies = ["random"]\n'
LINES = {  # what cannot be written -> the command, and a word of what it prints
    "out.json": (f"{RUN} --output out.json", "success_rate"),
    "table.md": (f"{RUN} --markdown table.md", "success_rate"),
    "steps.npz": (f"{RUN} --trajectories steps.npz", "success_rate"),
    "swept.json": (
        "sweep --env closing:World --policy cem --plan-horizons 3 --episodes 4 --candidates 5 --output swept.json",
        "plan_horizon",
    ),
    "out/cpg.json": (CPG, "oracle"),
    "steps/random.npz": ("study study.toml --output out --trajectories steps", "4 episodes run"),
    "out/report.html": ("diagnose prediction-error --env closing:World --output out", "oracle predicts"),
    "net/card.json": (
        "train mlp --env closing:World --collect random --transitions 40 --episode-steps 5 --epochs 1 --output net",
        "mlp learned",
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with an environment that turns the path in the file `blocked` into a folder while it runs."""
    (tmp_path / "closing.py").write_text(CODE)
    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("closing", None)


@pytest.mark.parametrize("path", LINES)
def test_a_result_is_printed_though_its_file_cannot_be_written(folder, wmel_command, path):
    line, word = LINES[path]
    (folder / "blocked").write_text(path)
    done = wmel_command(*line.split(), cwd=folder)
    assert done.returncode == 1 and word in done.stdout, done.stdout + done.stderr
    named = [one for one in done.stderr.splitlines() if says(one, f"cannot write ... {path.partition('/')[0]}")]
    assert len(named) == 1 and "Traceback" not in done.stderr, done.stderr


def test_rows_that_cannot_be_stored_are_in_the_result_and_run_again(folder, wmel_command):
    assert wmel_command(*f"{RUN} --output first".split(), cwd=folder).returncode == 0
    (rows,) = (folder / "first").rglob("*.parquet")
    place = folder / "out" / rows.relative_to(folder / "first")
    (folder / "blocked").write_text(str(place))
    done = wmel_command(*f"{RUN} --output out".split(), cwd=folder)
    assert done.returncode == 1 and "success_rate" in done.stdout and says(done.stderr, place.name), done.stderr
    place.rmdir()
    again = wmel_command(*f"{RUN} --output out".split(), cwd=folder)
    assert again.returncode == 0 and "4/4 episodes" in again.stderr
    assert place.is_file()


def test_rows_of_a_record_that_cannot_be_written_wait_for_the_same_command(folder, wmel_command):
    line, _ = LINES["out.json"]
    (folder / "blocked").write_text("out.json")
    assert "out.json.unfinished" in wmel_command(*line.split(), cwd=folder).stderr
    (folder / "out.json").rmdir()
    again = wmel_command(*line.split(), cwd=folder)
    assert again.returncode == 0 and "episodes" not in again.stderr
    assert len(json.loads((folder / "out.json").read_text())["results"]) == 4
    assert not (folder / "out.json.unfinished").exists()


def test_one_output_that_cannot_be_written_costs_no_other(tmp_path):
    def refuse(path):
        raise CannotWrite(f"cannot write {path}")

    result = Result("done", failures=["an earlier one"])
    files = write_outputs(
        result, {"page": (tmp_path / "a", refuse), "record": (tmp_path / "b", lambda one: one.touch())}
    )
    assert files == {"record": tmp_path / "b"} and (tmp_path / "b").exists()
    assert result.exit_code == 1 and result.failures == ["an earlier one", f"cannot write {tmp_path / 'a'}"]
