"""Kills, dead workers and full disks: nothing is lost, nothing is doubled, the rest goes on."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

import wmel
from tests.conftest import IS_FULL
from tests.experiments.studies import LEARNED, outcomes, started, written
from wmel.errors import WmelError
from wmel.experiments.executors import Failure, Processes, Serial
from wmel.experiments.folder_store import FolderStore
from wmel.schema import EPISODE_COLUMNS

KILLS = int(os.environ.get("WMEL_KILLS", "50" if IS_FULL else "5"))


@pytest.fixture(scope="module")
def unkilled(tmp_path_factory):
    """A study that trains and runs for some seconds, its rows, and how long it took."""
    folder = tmp_path_factory.mktemp("unkilled")
    text = LEARNED.replace("epochs = 20", "epochs = 300").replace("episodes = 4", "episodes = 60")
    path = written(folder, text.replace("candidates = 20", "candidates = 100").replace("block = 2", "block = 10"))
    begin = time.monotonic()
    assert started(path, folder / "store").wait(timeout=120) == 0
    return path, outcomes(folder / "store"), time.monotonic() - begin


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("options", [(), ("--executor", "processes", "--workers", "2")], ids=["serial", "processes"])
def test_killed_anywhere_it_goes_on_to_the_same_rows(unkilled, tmp_path, options):
    path, expected, seconds = unkilled
    rng = random.Random(len(options))
    for _ in range(KILLS):
        process = started(path, tmp_path, *options)
        time.sleep(rng.uniform(0, seconds))
        process.kill()
        process.communicate(timeout=30)
    last = started(path, tmp_path, *options)
    _, err = last.communicate(timeout=120)
    assert last.returncode == 0, err
    assert outcomes(tmp_path) == expected
    assert not list(tmp_path.rglob("failed.json"))


def fatal_for_three(number: int) -> int:
    if number == 3:
        os._exit(9)
    if number == 5:
        raise WmelError("five is not wanted")
    if number == 6:
        raise RuntimeError("six\nbreaks")
    return number * number


def test_a_worker_that_dies_costs_its_own_job_alone():
    outcome = dict(Processes(2)(fatal_for_three, range(9)))
    assert {number: one for number, one in outcome.items() if not isinstance(one, Failure)} == {
        number: number * number for number in (0, 1, 2, 4, 7, 8)
    }
    assert "worker died" in outcome[3].reason
    assert outcome[5].reason == "five is not wanted"
    assert outcome[6].reason == f"RuntimeError: six breaks ({__file__}, line 62, in fatal_for_three)"


def test_in_one_process_a_job_that_breaks_costs_itself_alone():
    outcome = dict(Serial()(fatal_for_three, [1, 5, 6, 7]))
    assert outcome[1] == 1 and outcome[7] == 49 and isinstance(outcome[5], Failure) and isinstance(outcome[6], Failure)


def threads_of(number: int) -> str:
    return os.environ["OMP_NUM_THREADS"]


def test_workers_have_one_thread_each_and_leave_ours_alone():
    before = os.environ.get("OMP_NUM_THREADS")
    assert [outcome for _, outcome in Processes(2)(threads_of, range(3))] == ["1"] * 3
    assert os.environ.get("OMP_NUM_THREADS") == before


ON_A_SMALL_DISK = """
mount -t tmpfs -o size=64k tmpfs {folder}
{python} -m wmel study {study} --output {folder}/store
echo code $?
mount -o remount,size=64m {folder}
{python} -m wmel study {study} --output {folder}/store
echo code $?
{python} -c 'from tests.experiments.studies import outcomes; import pickle, pathlib, sys
pickle.dump(outcomes(pathlib.Path("{folder}/store")), open("{result}", "wb"))'
"""


@pytest.mark.slow
def test_a_full_disk_is_said_and_healed_by_a_second_run(tmp_path):
    import pickle

    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        assert not os.environ.get("CI"), "CI must be able to mount a tmpfs"
        pytest.skip("no private mounts here")
    path, result = written(tmp_path, LEARNED.replace("episodes = 4", "episodes = 40")), tmp_path / "outcomes"
    small = tmp_path / "small"
    small.mkdir()
    script = ON_A_SMALL_DISK.format(folder=small, python=sys.executable, study=path, result=result)
    root = Path(__file__).parents[2]
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=root, capture_output=True, text=True, timeout=200)
    assert "code 1" in done.stdout and "code 0" in done.stdout, done.stdout + done.stderr
    assert "No space left on device" in done.stderr and "Traceback" not in done.stderr
    assert started(path, tmp_path / "whole").wait(timeout=120) == 0
    assert pickle.loads(result.read_bytes()) == outcomes(tmp_path / "whole")


def run_two(folder: Path) -> wmel.Result:
    return wmel.run("maze_toy", "random", episodes=2, output=folder, quiet=True)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The store of two episodes."""
    folder = tmp_path_factory.mktemp("stored")
    run_two(folder)
    return folder


def without_column(stored: Path, folder: Path, column: str) -> Path:
    """A copy of a store whose rows lack a column, with the right hash beside them: the file of the rows."""
    shutil.copytree(stored, folder, dirs_exist_ok=True)
    (rows,) = folder.rglob("*.parquet")
    pl.read_parquet(rows).drop(column).write_parquet(rows)
    vouching = json.loads(rows.with_suffix(".json").read_text())
    vouching["sha256"] = sha256(rows.read_bytes()).hexdigest()
    rows.with_suffix(".json").write_text(json.dumps(vouching))
    return rows


NEEDED = [one.name for one in EPISODE_COLUMNS if not one.can_be_missing]


@pytest.mark.parametrize("column", NEEDED)
def test_a_block_without_a_column_that_every_episode_has_is_damage(stored, tmp_path, column):
    rows, store = without_column(stored, tmp_path, column), FolderStore(tmp_path)
    blocks, wrong = store.blocks(store.manifest().cells[0])
    assert not blocks and rows.name in wrong[0] and f"'{column}'" in wrong[0]


def test_a_damaged_block_is_run_again(stored, tmp_path):
    rows = without_column(stored, tmp_path, NEEDED[0])
    assert run_two(tmp_path).exit_code == 0
    assert NEEDED[0] in pl.read_parquet_schema(rows)
