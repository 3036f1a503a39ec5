"""Workers that die or stop cost their own job at most; the others go on, and none is left behind."""

import gc
import os
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from functools import partial
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import pytest

from tests.conftest import says
from wmel.errors import WmelError
from wmel.experiments import executors
from wmel.experiments.executors import Failure, Processes, Serial

ROOT = Path(__file__).parents[2]
LONG, SHORT = 30, 0.05  # seconds


def noted(job: tuple[Path, int, float]) -> int:
    """Leave a file for every try, named by number and process, then take some time."""
    folder, number, seconds = job
    (folder / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(seconds)
    return os.getpid()


def tries(folder: Path) -> list[tuple[int, int]]:
    """Number and process of every try, in order."""
    names = sorted((path.name.split("-") for path in folder.iterdir()), key=lambda name: int(name[2]))
    return [(int(number), int(process)) for number, process, _ in names]


def wait_for(number: int, folder: Path) -> int:
    """The process that has begun a job."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found = [process for one, process in tries(folder) if one == number]
        if found:
            return found[-1]
        time.sleep(0.01)
    raise AssertionError(f"job {number} was never begun")


def long_at_first(job: tuple[Path, int, float]) -> int:
    """The second job takes long when it is first tried."""
    folder, number, seconds = job
    is_first = number == 2 and 2 not in [one for one, _ in tries(folder)]
    return noted((folder, number, LONG if is_first else seconds))


def test_a_killed_worker_has_its_job_alone_run_twice(tmp_path):
    jobs = [(tmp_path, number, 5 * SHORT) for number in range(9)]
    outcomes = {}
    with closing(Processes(3)(long_at_first, jobs)) as results:
        for job, outcome in results:
            if not outcomes:
                os.kill(wait_for(2, tmp_path), signal.SIGKILL)
            outcomes[job[1]] = outcome
    assert set(outcomes) == set(range(9)) and not any(isinstance(one, Failure) for one in outcomes.values())
    count = Counter(number for number, _ in tries(tmp_path))
    assert count == {**dict.fromkeys(range(9), 1), 2: 2}
    assert len({process for _, process in tries(tmp_path)}) == 4  # three and the one that came for the dead


def fatal_at_two(job: tuple[Path, int, float]) -> int:
    process = noted(job)
    if job[1] == 2:
        os._exit(9)
    return process


def test_a_job_that_kills_its_worker_every_time_fails_after_two_tries(tmp_path):
    outcomes = dict(Processes(2)(fatal_at_two, [(tmp_path, number, SHORT) for number in range(6)]))
    failed = {job[1] for job, outcome in outcomes.items() if isinstance(outcome, Failure)}
    assert failed == {2} and len(outcomes) == 6
    assert Counter(number for number, _ in tries(tmp_path)) == {**dict.fromkeys(range(6), 1), 2: 2}


def test_a_stopped_worker_does_not_stall_the_others_and_closing_ends_it(tmp_path):
    jobs = [(tmp_path, number, LONG if number == 0 else SHORT) for number in range(6)]
    results = Processes(2)(noted, jobs)
    done = {next(results)[0][1]}
    stopped = wait_for(0, tmp_path)
    os.kill(stopped, signal.SIGSTOP)
    done |= {next(results)[0][1] for _ in range(4)}
    assert done == {1, 2, 3, 4, 5}
    begin = time.monotonic()
    results.close()
    assert time.monotonic() - begin < LONG  # before the stopped job could have ended
    assert not is_alive(stopped)


def half_sent(job: tuple[Path, int, float]) -> int:
    """At its first try, die while the result is on its way."""
    process = noted(job)
    if [number for number, _ in tries(job[0])].count(1) == 1 and job[1] == 1:
        (queue,) = (one for one in gc.get_objects() if isinstance(one, SimpleQueue))
        os.write(queue._writer.fileno(), struct.pack("!i", 1000) + b"the first of a thousand bytes")
        os._exit(9)
    return process


def test_a_worker_that_dies_while_it_sends_its_result_does_not_hold_up_the_rest(tmp_path):
    outcomes = dict(Processes(2)(half_sent, [(tmp_path, number, SHORT) for number in range(4)]))
    assert len(outcomes) == 4 and not any(isinstance(one, Failure) for one in outcomes.values())


def test_a_job_that_cannot_be_sent_fails_alone():
    outcomes = [outcome for _, outcome in Processes(2)(type, [1, lambda: None, 2])]
    assert sum(one is int for one in outcomes) == 2
    (failure,) = (one for one in outcomes if isinstance(one, Failure))
    assert "could not be sent" in failure.reason and "lambda" in failure.reason


def test_workers_that_cannot_start_are_refused_after_some_tries(monkeypatch):
    monkeypatch.setattr(executors, "_initialize_worker", os._exit)  # by its first argument, before any job
    with pytest.raises(WmelError, match="while it started"):
        list(Processes(2)(abs, [1, 2, 3]))


def killed_at_start(parent: int, path: list[str], folder: Path) -> None:
    """In place of the start of a worker: the first three are killed."""
    sys.path[:] = path
    (folder / f"start-{os.getpid()}").touch()
    if len(list(folder.iterdir())) <= 3:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_while_it_starts_costs_its_own_job_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "_initialize_worker", partial(killed_at_start, folder=tmp_path))
    outcomes = dict(Processes(1)(abs, [1, 2, 3]))
    assert isinstance(outcomes[1], Failure) and says(outcomes[1].reason, "killed 3 times")
    assert outcomes[2] == 2 and outcomes[3] == 3


class Halt(BaseException):
    """An exception that is no Exception."""


def ends(job: str) -> str:
    if job == "exit":
        sys.exit(0)
    if job == "interrupt":
        raise KeyboardInterrupt
    if job == "halt":
        raise Halt("enough")
    return job


def test_a_job_that_ends_python_or_raises_what_is_no_exception_fails_alone():
    expected = {"one": "one", "exit": "SystemExit: 0", "halt": "Halt: enough", "interrupt": "KeyboardInterrupt"}
    outcomes = dict(Processes(1)(ends, list(expected)))
    for job, text in expected.items():
        assert outcomes[job] == text if job == "one" else says(outcomes[job].reason, text)
    outcomes = dict(Serial()(ends, ["exit", "halt", "one"]))
    assert isinstance(outcomes["exit"], Failure) and isinstance(outcomes["halt"], Failure) and outcomes["one"] == "one"


SCRIPT = """
from pathlib import Path
from tests.experiments.test_workers import noted
from wmel.experiments.executors import Processes

if __name__ == "__main__":
    list(Processes(3)(noted, [(Path("{folder}"), number, 60) for number in range(3)]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_parent(tmp_path, how):
    notes = tmp_path / "notes"
    notes.mkdir()
    (tmp_path / "script.py").write_text(SCRIPT.format(folder=notes))
    path = os.pathsep.join([str(ROOT), *sys.path])
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py")], env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE
    )
    workers = [wait_for(number, notes) for number in range(3)]
    os.kill(workers[0], signal.SIGSTOP)
    parent.send_signal(how)
    parent.wait(timeout=LONG)  # its streams are open while a worker lives
    until = time.monotonic() + LONG
    while any(map(is_alive, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    alive = [worker for worker in workers if is_alive(worker)]
    for worker in alive:
        os.kill(worker, signal.SIGKILL)
    assert not alive
    parent.communicate()


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def nothing(job):
    """Work that returns nothing."""


def test_work_may_return_nothing():
    assert dict(Processes(2)(nothing, range(3))) == dict.fromkeys(range(3))
