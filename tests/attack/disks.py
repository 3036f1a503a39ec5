"""Full and read-only disks, and two processes in one store."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.attack import processes
from tests.attack.cases import Attempt
from tests.attack.kills import LINES, STUDIES, _last_line, _prepare, _whole, result_of

NAME = "disks"
PROMISE = "a full or read-only disk, or a second process, is one line; what was finished stays, and goes on later"


def attempt(number: int, rng: Random, folder: Path) -> Attempt:
    """A verb on a disk of some kilobytes, on one that cannot be written, or twice in one folder."""
    deed = DEEDS[number % len(DEEDS)]
    name = rng.choice(list(LINES) if deed is not _two_processes else list(STUDIES))
    whole, _ = _whole(name, folder.parent / "whole")
    found = Attempt(f"wmel {LINES[name]}", about=(deed.__doc__ or "").strip("."))
    _prepare(folder)
    deed(name, rng, folder, found)
    ended = processes.run(LINES[name], folder)
    found.add(f"{name}: exit code {ended.code} with room again: {_last_line(ended.err)}", ended.code != 0)
    found.add(f"{name}: another result than the undisturbed one", ended.code == 0 and result_of(folder) != whole)
    return found


def _judge(name: str, ended: processes.Ended, found: Attempt, what: str, *, may_end_well: bool) -> None:
    codes = (0, 1, 2) if may_end_well else (1, 2)
    found.add(f"{name} {what}: exit code {ended.code}: {_last_line(ended.err)}", ended.code not in codes)
    found.add(f"{name} {what}: traceback: {_last_line(ended.err)}", "Traceback (most recent" in ended.err)
    lines = ended.err.splitlines()
    found.add(f"{name} {what}: {len(lines)} lines: {_last_line(ended.err)}", len(lines) > 40)
    found.add(f"{name} {what}: {ended.left} processes left", ended.left > 0)


def _full_disk(name: str, rng: Random, folder: Path, found: Attempt) -> None:
    """a full disk"""
    size = rng.choice((8, 20, 40, 80, 200))
    with _mounted(folder, f"size={size}k") as is_mounted:
        if is_mounted:
            _prepare_files(folder)
            ended = processes.run(LINES[name], folder)
            _judge(name, ended, found, f"on a disk of {size} kB", may_end_well=True)
            _keep(folder)
    if not is_mounted:
        ended = _with_small_files(LINES[name], folder, size)
        _judge(name, ended, found, f"with files of at most {size} kB", may_end_well=True)
    else:
        _restore(folder)


def _read_only(name: str, rng: Random, folder: Path, found: Attempt) -> None:
    """a read-only disk"""
    with _mounted(folder, "size=4m") as is_mounted:
        if not is_mounted:
            return
        _prepare_files(folder)
        done = subprocess.run(["mount", "-o", "remount,ro", str(folder)], capture_output=True)
        if done.returncode == 0:
            _judge(name, processes.run(LINES[name], folder), found, "on a read-only disk", may_end_well=False)


def _two_processes(name: str, rng: Random, folder: Path, found: Attempt) -> None:
    """two processes in one store"""
    begin = time.monotonic()
    first = processes.start(LINES[name], folder)
    time.sleep(rng.uniform(0, 2))
    second = processes.start(LINES[name], folder)
    for process in (first, second):
        _judge(name, processes.finish(process, begin), found, "twice at once", may_end_well=True)


DEEDS: tuple[Callable[[str, Random, Path, Attempt], None], ...] = (_full_disk, _read_only, _two_processes)


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[bool]:
    """A small disk in place of a folder, where this process may mount one."""
    if os.environ.get("ATTACK_CONFINED") != "1":
        yield False
        return
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "attack", str(folder)], capture_output=True)
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)


def _prepare_files(folder: Path) -> None:
    from tests.attack.kills import FILES

    for name, text in FILES.items():
        (folder / name).write_text(text)


def _keep(folder: Path) -> None:
    """Copies what is on the disk, which is about to vanish."""
    subprocess.run(["cp", "-a", f"{folder}/.", f"{folder}.kept"], check=True, capture_output=True)


def _restore(folder: Path) -> None:
    subprocess.run(["cp", "-a", f"{folder}.kept/.", str(folder)], check=True, capture_output=True)
    subprocess.run(["rm", "-rf", f"{folder}.kept"], check=True, capture_output=True)


def _with_small_files(line: str, folder: Path, kilobytes: int) -> processes.Ended:
    """Runs a command whose files cannot grow beyond a size, where no disk can be mounted."""
    begin = time.monotonic()
    return processes.finish(processes.start(line, folder, largest_file=kilobytes * 1024), begin)
