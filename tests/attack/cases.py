"""A case of the attack: a command line, the files that it finds, and what counts as a failure."""

import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

CODES = {0, 1, 2, 130}
MOST_LINES = 3  # of a refusal
MOST_FAILURES = 40  # lines of what failed in a run
MOST_SECONDS = 10  # of the processor; what is accepted is interrupted long before
LONGEST = 1500  # characters of a line on standard error
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
READABLE = ("/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/proc/self/status")  # files outside that a case names
PLACE = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')


@dataclass(frozen=True)
class Case:
    """One input; `folders` are copied and `files` written into an empty folder, in which the line is run.

    A file without content is removed.
    """

    words: tuple[str, ...]
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)  # name -> what is copied
    check: Callable[[Path, "Outcome"], str | None] | None = None  # a further fault of what was written
    about: str = ""

    @property
    def line(self) -> str:
        return "wmel " + shlex.join(self.words)


@dataclass(frozen=True)
class Outcome:
    """How a case ended; `escaped` is the traceback of an error that left the command line."""

    code: int | None
    out: str = ""
    err: str = ""
    escaped: str = ""
    seconds: float = 0.0  # of the processor
    was_cut: bool = False  # by Ctrl-C, as it was accepted and would have taken long


@dataclass
class Attempt:
    """What was done to processes of their own: its line, how many were killed, and what was wrong."""

    line: str
    kills: int = 0
    faults: list[str] = field(default_factory=list)
    about: str = ""

    def add(self, fault: str, is_wrong: bool) -> None:
        """Adds a fault where there is one."""
        self.faults += [fault] if is_wrong else []


def faults_of(outcome: Outcome) -> list[str]:
    """What is wrong with an outcome; empty for a sound one."""
    if outcome.escaped:
        return [f"traceback: {_last_place(outcome.escaped)}"]
    found = []
    if outcome.code not in CODES:
        found.append(f"exit code {outcome.code}")
    if outcome.was_cut and outcome.code not in (130, 0, 1, 2):
        found.append(f"Ctrl-C ended it with {outcome.code}")
    if "Traceback (most recent call last)" in outcome.err:
        found.append(f"traceback printed: {_last_place(outcome.err)}")
    if outcome.seconds > MOST_SECONDS:
        found.append(f"it takes more than {MOST_SECONDS} s of the processor")
    lines = _without_warnings(outcome.err)
    if len(lines) > (MOST_LINES if outcome.code == 2 else MOST_FAILURES):
        found.append(f"{len(lines)} lines on standard error, exit {outcome.code}: {_pattern(lines[0])}")
    elif any(len(line) > LONGEST for line in lines):
        longest = max(lines, key=len)
        found.append(f"a message of more than {LONGEST} characters: {_pattern(longest)}")
    if outcome.code in (1, 2) and not outcome.err and not outcome.out:
        found.append(f"exit {outcome.code} without a word")
    for name, text in (("error", outcome.err), ("output", outcome.out)):
        if raw := CONTROL.search(text):
            before = text[max(0, raw.start() - 50) : raw.start()]
            found.append(f"raw character {raw[0]!a} on standard {name} after {before!a}")
    return found


def safe_text(text: str) -> str:
    """A value that names no file outside of the scratch folder, and no device that could be replaced by a file."""
    if text in READABLE and os.environ.get("ATTACK_CONFINED"):
        return text
    return re.sub(r"(^|[=,:@\s'\"])[/~]+", r"\1", re.sub(r"\.\.+", ".", text))


def signature(fault: str) -> str:
    """Failures of one cause have one signature."""
    return re.sub(r"\d+", "N", fault.partition(" after ")[0])[:160]


def _without_warnings(text: str) -> list[str]:
    """The lines of standard error; a warning of Python has two lines, the second indented."""
    lines = text.splitlines()
    return [line for line in lines if not re.search(r":\d+: \w*Warning: ", line) and not line.startswith("  ")]


def _last_place(text: str) -> str:
    """The error of a traceback and the last line of wmel in it."""
    places = [f"{path.rpartition('wmel/')[2]}:{line} {name}" for path, line, name in PLACE.findall(text)]
    own = [place for place, whole in zip(places, PLACE.findall(text), strict=True) if "/wmel/" in whole[0]]
    error = next((line for line in reversed(text.splitlines()) if line and not line.startswith(" ")), "")
    return f"{own[-1] if own else (places or ['?'])[-1]}: {error[:120]}"


def _pattern(line: str) -> str:
    return re.sub(r"'[^']*'|\d+", "_", line)[:80]
