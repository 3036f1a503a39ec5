"""`--output` of every verb survives a kill: the same command goes on, and ends as one that was never killed."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import IS_FULL, ROOT, process_environment

KILLS = int(os.environ.get("WMEL_KILLS", "40" if IS_FULL else "4"))
MEASURED = ("generated_at", "seconds", "planning_latencies_ms", "latency")  # of the machine, not of the episodes
LINES = {
    "cpg": "cpg --env maze_toy --model tests.experiments.still:dynamics --plan-horizon 20 --candidates 100 "
    "--episodes 60 --output out",
    "cpg anytime": "cpg --env maze_toy --model tests.experiments.truth:model --plan-horizon 20 --candidates 200 "
    "--anytime --output out",
    "esnr": f"esnr --env dmc:cartpole-swingup --model {ROOT}/models/cartpole-td1-seed0 "
    f"--model {ROOT}/models/cartpole-td1-seed1 --model {ROOT}/models/cartpole-td1-seed2 --methods zog,cem --states 16 "
    "--samples 16 --plan-horizon 5 --output out",
    "sweep": "sweep --env maze_toy --plan-horizons 5,10,20 --sweep planner.candidates=50,100 "
    "--episodes 200 --output out",
    "sweep to a file": "sweep --env maze_toy --plan-horizons 5,10,20 --episodes 400 --output out.json",
    "run to a file": "run --env maze_toy --policy cem --episodes 1500 --output out.json",
}
RECORDS = {"cpg": "out/cpg.json", "esnr": "out/esnr.json", "sweep": "out/sweep.json"}


def start(line: str, folder: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "wmel", *line.split()]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, env=process_environment(), text=True, **streams)


def without_measures(record):
    """A record without what differs from machine to machine and from time to time."""
    if isinstance(record, dict):
        kept = {name: one for name, one in record.items() if not any(word in name for word in MEASURED)}
        return {name: without_measures(one) for name, one in kept.items()}
    return [without_measures(one) for one in record] if isinstance(record, list) else record


def ended(process: subprocess.Popen) -> str:
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return err


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("verb", LINES)
def test_killed_at_random_moments_it_ends_with_the_same_table(verb, tmp_path):
    record = RECORDS.get(verb.split()[0]) if "file" not in verb else "out.json"
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    begin = time.monotonic()
    ended(start(LINES[verb], whole))
    seconds, rng = time.monotonic() - begin, random.Random(verb)
    for _ in range(KILLS):
        process = start(LINES[verb], killed)
        time.sleep(rng.uniform(0.2, 0.95) * seconds)
        process.kill()
        process.communicate(timeout=30)
        assert not list(killed.rglob("failed.json"))
    ended(start(LINES[verb], killed))
    expected, found = (json.loads((folder / record).read_text()) for folder in (whole, killed))
    assert without_measures(found) == without_measures(expected)
    assert not list(tmp_path.rglob("*.unfinished"))


@pytest.mark.slow
def test_a_killed_run_does_not_begin_anew(tmp_path):
    """Stored blocks are not run again: the episodes said to be left are fewer."""
    line = LINES["run to a file"]
    process = start(line, tmp_path)
    until = time.monotonic() + 60
    while len(list(tmp_path.rglob("*.parquet"))) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    done = sum(int(path.stem.partition("-")[2]) for path in tmp_path.rglob("*.json") if path.stem[0].isdigit())
    assert done >= 100
    assert f"{1500 - done}/{1500 - done} episodes" in ended(start(line, tmp_path))
