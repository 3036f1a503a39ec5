"""`make attack`: tries what should be refused or survived, prints each failure with a command that repeats it."""

import json
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.attack.kinds import KINDS, KNOWN
from tests.attack.page import Row, write_page
from tests.attack.scratch import confined, environment

LONGER = {"kills": 12}  # kinds that take this many times the seconds of the others
SILENCE = 400  # seconds without a word after which a worker hangs


def attack(scratch: Path, kind: str, seed: int, seconds: float, first: int = 0, most: int = 10**9) -> Row:
    """Runs cases of a kind in workers; one that ends or hangs costs its case, which is a failure."""
    row, begin, number, last = Row(kind, KNOWN[kind].PROMISE), time.monotonic(), first, first + most
    while number < last and time.monotonic() < begin + seconds:
        left = max(1, int(begin + seconds - time.monotonic()))
        number = _run_worker(row, scratch, kind, seed, number, left, last - number)
    row.seconds = time.monotonic() - begin
    return row


def _run_worker(row: Row, scratch: Path, kind: str, seed: int, first: int, seconds: int, most: int) -> int:
    """Runs cases until the worker ends; the number of the next case."""
    reader, writer = os.pipe()
    words = [str(scratch), kind, str(seed), str(first), str(seconds), str(most), str(writer)]
    log = (scratch.parent / "worker.log").open("ab")
    process = subprocess.Popen(
        confined([sys.executable, "-m", "tests.attack.worker", *words], scratch),
        cwd=scratch,
        env=environment(scratch),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=[writer],
        start_new_session=True,
    )
    os.close(writer)
    begun, line, next_one = None, "", first
    with os.fdopen(reader) as report:
        while True:
            if not select.select([report], [], [], SILENCE)[0]:
                process.kill()
                row.add("it hangs, also after Ctrl-C", f"{kind}:{begun}", {"line": line})
                break
            text = report.readline()
            if not text:
                break
            message = json.loads(text)
            if message.get("made"):
                raise SystemExit("\n".join(["the fixtures cannot be made:", *message["made"]]))
            if "begun" in message:
                begun, line = message["begun"], message["line"]
            elif "ended" in message:
                row.inputs, row.cut, next_one, begun = (
                    row.inputs + 1,
                    row.cut + message.get("cut", 0),
                    message["ended"] + 1,
                    None,
                )
                line, row.kills = message.get("line", line), row.kills + message.get("kills", 0)
                for fault in message["faults"]:
                    row.add(fault, f"{kind}:{message['ended']}", {**message, "line": line})
                if most == 1:
                    print(ascii(line), json.dumps(message, indent=1), sep="\n")
    code = process.wait()
    if begun is not None:
        row.inputs, next_one = row.inputs + 1, begun + 1
        words = (scratch.parent / "worker.log").read_text(errors="replace").strip().splitlines()[-1:]
        row.add(f"the process ended with {code}: {''.join(words)[:500]}", f"{kind}:{begun}", {"line": line})
    elif code and next_one == first:
        raise SystemExit(f"a worker cannot start: see {scratch.parent / 'worker.log'}")
    return next_one


def main() -> int:
    variables = {name: os.environ.get(f"ATTACK_{name}") for name in ("SEED", "SECONDS", "CASE", "KINDS")}
    seed = int(variables["SEED"] or random.SystemRandom().randrange(10**6))
    seconds, case = float(variables["SECONDS"] or 120), variables["CASE"]
    with scratch_folder() as scratch:
        if case:
            kind, _, number = case.rpartition(":")
            return 1 if attack(scratch, kind, seed, 600, int(number), 1).failures else 0
        kinds = [kind for kind in KINDS if not variables["KINDS"] or kind.split()[0] in variables["KINDS"].split(",")]
        rows = []
        for kind in kinds:
            rows.append(attack(scratch, kind, seed, seconds * LONGER.get(kind, 1)))
            show(rows[-1], seed)
    if not variables["KINDS"]:
        write_page(rows, seed)
    return 1 if any(row.failures for row in rows) else 0


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that everything is done in, and that is removed; beside it is what workers print."""
    home = Path(tempfile.mkdtemp(prefix="wmel-attack-"))
    try:
        (home / "scratch").mkdir()
        yield home / "scratch"
    finally:
        shutil.rmtree(home, ignore_errors=True)


def show(row: Row, seed: int) -> None:
    """Prints what was tried of a kind, and each failure once."""
    count = sum(map(len, row.failures.values()))
    tried = f"{row.inputs} inputs, {row.cut} interrupted, {row.kills} kills, {row.seconds:.0f} s"
    print(f"{row.kind}: {tried}, {count} failures", flush=True)
    for cases in row.failures.values():
        one = min(cases, key=lambda case: len(case["line"]))
        print(f"  {len(cases)}x {one['fault']}\n      {one['line'][:300]!a}")
        print(f"      make attack ATTACK_SEED={seed} ATTACK_CASE='{one['case']}'", flush=True)


if __name__ == "__main__":
    sys.exit(main())
