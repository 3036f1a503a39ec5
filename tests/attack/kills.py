"""Kills at random moments: the same command goes on, and ends with the rows of one that nothing disturbed."""

import json
import os
import shutil
import signal
import time
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from tests.attack import processes
from tests.attack.cases import Attempt
from tests.attack.stores import MEASURED, rows_of
from tests.conftest import ROOT

NAME = "kills"
PROMISE = "after any kill the same command goes on and ends with the rows of an undisturbed one; no process is left"
STILL = "tests.experiments.still:slow_dynamics"
STUDY = f"""name = "killed"
episodes = 12
block = 2
horizon = 12
seeds = [0, 1]
[[environments]]
name = "maze_toy"
[[models]]
name = "still"
object = "{STILL}"
[[planners]]
name = "random-shooting"
candidates = 8
plan_horizon = 5
"""
POINTS = (ROOT / "tests" / "cli" / "test_train_tdmpc2.py").read_text().partition('POINTS = """')[2].partition('"""')[0]
FILES = {"study.toml": STUDY, "points.py": POINTS}
LINES = {
    "study": "study study.toml --quiet --output out",
    "study with processes": "study study.toml --quiet --executor processes --workers 2 --output out",
    "train tdmpc2": "train tdmpc2 --env points:still --updates 30 --checkpoints 3 --envs 50 --batch 4 "
    "--decoder-steps 10 --updates-per-step 1 --quiet --output out",
    "train mlp": "train mlp --env maze_toy --epochs 6 --quiet --output out",
    "sweep": "sweep --env maze_toy --plan-horizons 5,10 --sweep planner.candidates=20,40 --episodes 60 --quiet "
    "--output out",
    "cpg": "cpg --env maze_toy --model tests.experiments.still:dynamics --plan-horizon 10 --candidates 50 "
    "--episodes 60 --quiet --output out",
    "run": "run --env maze_toy --policy cem --episodes 300 --quiet --output out.json",
    "esnr": f"esnr --env dmc:cartpole-swingup --model {ROOT}/models/cartpole-td1-seed0 --methods zog,cem --states 4 "
    "--samples 4 --plan-horizon 3 --quiet --output out",
}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
KILLED = {
    signal.SIGKILL: (-9, 137),
    signal.SIGTERM: (-15, 143),
    signal.SIGINT: (130, -2),
}  # -2: before or after Python minds signals
STUDIES = ("study", "study with processes")


def attempt(number: int, rng: Random, folder: Path) -> Attempt:
    """Three to six kills of a verb, the last run undisturbed; or of one of its workers."""
    name = list(LINES)[number % len(LINES)]
    whole, seconds = _whole(name, folder.parent / "whole")
    found = Attempt(f"wmel {LINES[name]}")
    _prepare(folder)
    ended = processes.Ended(1, "", 0.0)
    for _ in range(rng.randint(3, 6)):
        how, after = rng.choice(SIGNALS), max(0.3, rng.uniform(0.05, 0.7) * seconds)
        if name == "study with processes" and rng.random() < 0.5:
            ended = _kill_worker(LINES[name], folder, after, rng, found)
            wrong = ended.code not in (0, 1)
            how = signal.SIGKILL
        else:
            ended = processes.interrupt(LINES[name], folder, after, how)
            wrong = ended.code not in (0, *KILLED[how])
        found.kills += 1
        found.add(f"{name}: exit code {ended.code} after {how.name}: {_last_line(ended.err)}", wrong)
        found.add(f"{name}: traceback after {how.name}: {_last_line(ended.err)}", "Traceback (most recent" in ended.err)
        found.add(f"{name}: {ended.left} processes left after {how.name}", ended.left > 0)
        if ended.code == 0:
            break
    ended = ended if ended.code == 0 else processes.run(LINES[name], folder)
    found.add(f"{name}: exit code {ended.code} when it is run again: {_last_line(ended.err)}", ended.code != 0)
    found.add(f"{name}: {ended.left} processes left", ended.left > 0)
    found.add(f"{name}: {_difference(result_of(folder), whole)}", ended.code == 0 and result_of(folder) != whole)
    drafts = [path.name for path in folder.rglob("*.unfinished")]
    found.add(f"{name}: drafts are left: {drafts}", bool(drafts))
    return found


def _kill_worker(line: str, folder: Path, after: float, rng: Random, found: Attempt) -> processes.Ended:
    """Kills one worker of a command; the command must go on."""
    begin = time.monotonic()
    process = processes.start(line, folder)
    time.sleep(after)
    workers = processes.workers_of(process.pid)
    if workers:
        os.kill(rng.choice(workers), signal.SIGKILL)
    found.about = "kill -9 of a worker"
    return processes.finish(process, begin)


def _whole(name: str, folder: Path) -> tuple[Any, float]:
    """The result of an undisturbed run of a line, and how long it takes; it is run once."""
    here = folder / name.replace(" ", "-")
    stored = here / "seconds"
    if not stored.exists():
        _prepare(here)
        ended = processes.run(LINES[name], here)
        if ended.code != 0:
            raise RuntimeError(f"{LINES[name]}: {ended.code}: {ended.err}")
        stored.write_text(str(ended.seconds))
    return result_of(here), float(stored.read_text())


def _prepare(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)


def result_of(folder: Path) -> Any:
    """What a command left: the rows of a store, a record, or the weights of a training."""
    out = folder / "out"
    if (out / "weights.safetensors").exists():
        return sha256((out / "weights.safetensors").read_bytes()).hexdigest()
    if (out / "esnr.json").exists():
        return _without_measures(json.loads((out / "esnr.json").read_text()))
    return rows_of(out if out.is_dir() else folder / "out.json")


def _without_measures(record: Any) -> Any:
    if isinstance(record, dict):
        kept = {name: one for name, one in record.items() if name not in ("generated_at", *MEASURED)}
        return {name: _without_measures(one) for name, one in kept.items()}
    return [_without_measures(one) for one in record] if isinstance(record, list) else record


def _difference(found: Any, whole: Any) -> str:
    if isinstance(found, list) and isinstance(whole, list):
        return f"{len(set(whole) - set(found))} rows of {len(whole)} are lost or changed, {len(found)} found"
    return "another result than the undisturbed one"


def _last_line(text: str) -> str:
    return ascii((text.strip().splitlines() or [""])[-1][:160])
