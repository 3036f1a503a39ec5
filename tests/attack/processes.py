"""Starts the command line in processes of its own, in a session that can be searched for what is left over."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.attack.scratch import LARGEST_FILE, environment

LONGEST = 300  # seconds of a command on a busy machine
OUTLIVE = 12.0  # seconds within which the workers of a killed command end


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, negative for a signal, what it printed, and who outlived it."""

    code: int
    err: str
    seconds: float
    left: int = 0


def start(line: str, folder: Path, largest_file: int = LARGEST_FILE) -> subprocess.Popen:
    """Starts `wmel LINE` in a folder, in a session of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "wmel", *line.split()]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment(folder.parent),
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file)),
        **streams,
    )


def finish(process: subprocess.Popen, begin: float) -> Ended:
    """Waits for a process, and then for those that it started."""
    try:
        _, err = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        end_session(process.pid)
        return Ended(-999, f"it did not end within {LONGEST} s", LONGEST)
    seconds, until = time.monotonic() - begin, time.monotonic() + OUTLIVE
    while (left := session_of(process.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    end_session(process.pid)
    return Ended(process.returncode, err, seconds, len(left))


def run(line: str, folder: Path) -> Ended:
    """Runs a command to its end."""
    begin = time.monotonic()
    return finish(start(line, folder), begin)


def interrupt(line: str, folder: Path, after: float, how: signal.Signals) -> Ended:
    """Runs a command and sends it a signal after some seconds."""
    begin = time.monotonic()
    process = start(line, folder)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=after)
    process.send_signal(how)
    return finish(process, begin)


def session_of(leader: int) -> list[int]:
    """The living processes of a session, the leader among them."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                found += [int(entry.name)] if int(session) == leader and state != "Z" else []
    return found


def workers_of(leader: int) -> list[int]:
    """The spawned workers of a session."""
    found = []
    for one in session_of(leader):
        with contextlib.suppress(OSError):
            found += [one] if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes() else []
    return found


def end_session(leader: int) -> None:
    """Kills what is left of a session that this process started."""
    for one in session_of(leader):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
