"""`wmel study`: run what is missing of an experiment that a TOML file describes."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from wmel.cli import options
from wmel.cli.options import count

EXAMPLES = """\b
Examples:
  wmel study studies/paper/acrobot-pooled.toml --dry-run
  wmel study studies/paper/acrobot-pooled.toml --output runs/acrobot-pooled --executor processes --workers 2
  wmel study my.toml --only '*/cem-*' --limit 4
  wmel study my.toml --device cuda
Run it again after an interruption: what is stored is kept, what failed is tried again. Then: wmel report DIR
"""


def study(
    file: Annotated[Path, typer.Argument(help="The study, as TOML.")],
    output: Annotated[
        Path | None, typer.Option("--output", "--out", help="Folder of its store.  [default: runs/<file name>]")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is left and how long it will take; store nothing.")
    ] = False,
    only: Annotated[str | None, typer.Option("--only", help="Cells whose name fits a pattern: '*/cem-*'.")] = None,
    limit: Annotated[int | None, count("--limit", "The first so many cells.")] = None,
    executor: Annotated[str, typer.Option("--executor", help="serial, or processes.")] = "serial",
    workers: Annotated[int | None, count("--workers", "Processes.  [default: as many as there are cores]")] = None,
    anytime: Annotated[bool, typer.Option("--anytime", help="Add pairs until each gap decides or hardly can.")] = False,
    rerun: Annotated[
        str | None,
        typer.Option(
            "--rerun", metavar="changed", help="Run cells again whose versions, code, weights or device changed."
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Let such cells stand.")] = False,
    device: options.Device = None,
    quiet: options.Quiet = False,
) -> int:
    """Run what is missing of a study, and store it."""
    from wmel.arrays import keep_freed_memory
    from wmel.cli import inputs
    from wmel.cli.watching import ScreenWatch
    from wmel.study.cells import cells_of
    from wmel.study.check import check_entries
    from wmel.study.run import How, run_study
    from wmel.study.spec import read_study
    from wmel.study.store import Store

    keep_freed_memory()
    inputs.find_from_here()
    how = How(only, limit, _workers(executor, workers), anytime, _when_changed(rerun, keep), device or "cpu")
    spec = read_study(file)
    check_entries(spec)
    cells, store = cells_of(spec), Store(output or Path("runs") / file.stem)
    if dry_run:
        return _dry_run(spec, cells, store, how, quiet)
    with ScreenWatch(spec.study.name, quiet=quiet) as watch:
        summary = run_study(spec, cells, store, how, watch.watch)
    for failure in summary.failures:
        print(f"wmel: {failure}", file=sys.stderr)
    if not quiet:
        print(f"{summary.trained} models trained, {summary.episodes} episodes run, {len(summary.failures)} failures")
        print(f"store: {store.folder}; look at it with: wmel report {store.folder}")
    return 1 if summary.failures else 0


def _dry_run(spec, cells, store, how, quiet: bool) -> int:
    from wmel.study.check import check_cells
    from wmel.study.estimate import forecast
    from wmel.study.run import chosen_cells, places_of

    mine, places = chosen_cells(cells, how), places_of(spec, store, how)
    check_cells(mine, places)
    say = (lambda line: None) if quiet else (lambda line: print(line, file=sys.stderr, flush=True))
    left = forecast(mine, store, places, spec.study.block, how.workers, say)
    done = f", {left.whole} of them stored" if left.whole else ""
    most = "at most " if how.anytime else ""
    print(f"{left.cells} cells{done}; {most}{left.episodes} episodes to run, {left.models} models to train")
    print(f"about {most}{_duration(left.seconds)}, processes: {how.workers or 1}")
    return 0


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _workers(executor: str, workers: int | None) -> int | None:
    import os

    from wmel.errors import BadInput, require

    if executor not in ("serial", "processes"):
        raise BadInput(f"no executor named '{executor}'; known: serial, processes")
    if executor == "serial":
        if workers not in (None, 1):
            raise BadInput(f"one process has one worker: add --executor processes, or leave out --workers {workers}")
        return None
    require(workers is None or workers > 0, "--workers must be positive", workers)
    return workers or len(os.sched_getaffinity(0))


def _when_changed(rerun: str | None, keep: bool) -> str | None:
    from wmel.errors import BadInput

    if rerun not in (None, "changed"):
        raise BadInput(f"--rerun takes 'changed', got {rerun!r}")
    if rerun and keep:
        raise BadInput("--rerun changed and --keep say the opposite of each other: give one")
    return "rerun" if rerun else ("keep" if keep else None)
