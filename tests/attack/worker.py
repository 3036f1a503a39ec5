"""A process that runs cases of one kind in itself, one after the other, and writes how each ended."""

import contextlib
import importlib
import json
import os
import pkgutil
import shutil
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import wmel
from tests.attack.cases import faults_of
from tests.attack.fixtures import make_fixtures
from tests.attack.here import run_here
from tests.attack.kinds import KNOWN, TO_PROCESSES
from tests.attack.scratch import limit_resources


def import_everything() -> None:
    """Imports all of wmel and what it needs: an import that is interrupted would break the cases after it."""
    for module in pkgutil.walk_packages(wmel.__path__, "wmel."):
        with contextlib.suppress(ImportError):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    with contextlib.suppress(ImportError):
        importlib.import_module("torch._dynamo")  # which torch imports at the first step of an optimiser


def main() -> None:
    """`worker SCRATCH KIND SEED FIRST SECONDS MOST FILE`: a JSON line before and after each case, to an open file."""
    scratch, kind, seed, first, seconds, most, file = Path(sys.argv[1]), *sys.argv[2:4], *map(int, sys.argv[4:8])
    os.chdir(scratch)
    limit_resources()
    with os.fdopen(file, "w") as report:

        def tell(**what: Any) -> None:
            report.write(json.dumps(what) + "\n")
            report.flush()

        fixtures, problems = (None, []) if kind in TO_PROCESSES else make_fixtures(scratch / "fixtures")
        tell(made=problems)
        if kind not in TO_PROCESSES:
            import_everything()
        module, end = KNOWN[kind], time.monotonic() + seconds
        for number in range(first, first + most):
            if time.monotonic() > end:
                break
            rng, folder = Random(f"{seed}:{kind}:{number}"), scratch / f"{kind.split()[0]}-{number}"
            if kind in TO_PROCESSES:
                tell(begun=number, line=kind)
                found = module.attempt(number, rng, folder)
                tell(ended=number, line=found.line, about=found.about, kills=found.kills, faults=found.faults)
                shutil.rmtree(folder, ignore_errors=True)
                continue
            case = module.case(number, rng, fixtures)
            tell(begun=number, line=case.line)
            outcome = run_here(case, folder)
            faults = faults_of(outcome)
            if case.check is not None and not outcome.was_cut:
                wrong = case.check(folder, outcome)
                faults += [] if wrong is None else [wrong]
            message = {"code": outcome.code, "seconds": outcome.seconds, "cut": outcome.was_cut, "faults": faults}
            if faults or most == 1:
                message |= {"out": outcome.out[-3000:], "err": outcome.err[-6000:], "escaped": outcome.escaped[-6000:]}
            tell(ended=number, **message)
            if most > 1:
                with contextlib.suppress(OSError):
                    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
