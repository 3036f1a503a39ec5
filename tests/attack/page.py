"""docs/reliability.md: what is promised, and what the attack tried of it."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from platform import python_version

from tests.attack.cases import signature
from tests.attack.scratch import sandbox
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "reliability.md"
PACKAGES = ("numpy", "polars", "pydantic", "typer", "torch", "mujoco")
INTRODUCTION = """# Reliability
Nothing is lost and nothing is faked. What you may rely on:

- **Rows survive.** Whatever stops a verb that stores its work (Ctrl-C, a signal, a dead worker, a full disk), the
  same command goes on and ends with the rows of a run that nothing stopped.
- **Exit codes.** 0: all requested work is done. 1: something failed in the run, and is named. 2: the input is
  refused before anything runs. 130: Ctrl-C. There are no others, but for a process that a signal ends.
- **One line.** Wrong input is refused in one line: what is wrong, its value, what to do. There are no tracebacks and
  no control characters; messages are short whatever a part says.
- **A part that breaks costs itself.** A model, environment, planner or metric of yours that raises, exits or returns
  nonsense costs its row or its line, which names it. Its run does not end with 0.
- **Damage is seen.** A stored file that was changed, cut or swapped is named or computed again, never read as if it
  were whole.
- **Nothing in the folder runs by itself.** Only `package.module:object` that you name is imported from there, last;
  no pickle is loaded, and git starts no program of the folder.

`make attack` tries to break these promises. It generates inputs from a seed, runs them in a scratch folder, and fails
if it finds a traceback, another exit code, a changed or lost row, a long message or raw control character, an exit 0
with work missing, or a process that is left over. `ATTACK_SECONDS` is the time of each kind (kills have twelve times as
long), `ATTACK_SEED` repeats a run, and `ATTACK_CASE` one of its cases. A smaller part runs with the slow tests.
"""


@dataclass
class Row:
    """What was tried of one kind, and what failed: signature -> the cases, each with its fault and its line."""

    kind: str
    promise: str
    inputs: int = 0
    kills: int = 0
    cut: int = 0  # accepted inputs that were interrupted
    seconds: float = 0.0
    failures: dict[str, list[dict]] = field(default_factory=dict)

    def add(self, fault: str, case: str, message: dict) -> None:
        self.failures.setdefault(signature(fault), []).append({**message, "fault": fault, "case": case})

    @property
    def failed(self) -> int:
        """The cases that failed."""
        return len({one["case"] for cases in self.failures.values() for one in cases})


def write_page(rows: Iterable[Row], seed: int) -> None:
    """Writes the page with the table of a run."""
    PAGE.write_text(page(list(rows), seed), encoding="utf-8")


def page(rows: list[Row], seed: int) -> str:
    """The page in Markdown."""
    table = [
        f"| {row.kind} | {row.promise} | {row.inputs:,} | {row.kills} | {row.failed} | {row.seconds / 60:.0f} |"
        for row in rows
    ]
    inputs, kills, failed = (sum(getattr(row, name) for row in rows) for name in ("inputs", "kills", "failed"))
    packages = ", ".join(f"{name} {found}" for name in PACKAGES if (found := _installed(name)))
    where = "with a file system, processes and network of their own" if sandbox() else "in a scratch folder"
    stamp = f"{datetime.now(UTC):%Y-%m-%d}, commit {_commit()}, seed {seed}, Python {python_version()}, {packages}"
    return "\n".join(
        [
            INTRODUCTION,
            f"## The last run\n{stamp}; inputs ran {where}.\n",
            "| kind | the promise that it tests | inputs | kills | failures | minutes |",
            "|---|---|---:|---:|---:|---:|",
            *table,
            f"| all | | {inputs:,} | {kills} | {failed} | {sum(row.seconds for row in rows) / 60:.0f} |",
            "",
        ]
    )


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str:
    """The commit that was tried; `+` where the tree had further changes."""
    commit, changes = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    )
    return f"{commit}+" if changes else commit
