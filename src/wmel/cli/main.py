"""`wmel`: the verbs, and how an error is said."""

import os
import signal
import sys
from typing import Any

import typer

from wmel.cli import (
    check,
    compare,
    convert,
    cpg,
    doctor,
    esnr,
    esnr_over_training,
    esnr_toy,
    explain,
    list_parts,
    power,
    report,
    run,
    show,
    study,
    sweep,
    train,
)
from wmel.errors import WmelError

INTERRUPTED = 130

LOOKS: dict[str, Any] = {
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "add_completion": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}

app = typer.Typer(name="wmel", help="World Model Evaluation Lab: may we plan with this world model?", **LOOKS)
esnr_app = typer.Typer(subcommand_metavar="[toy|over-training]", **LOOKS)
app.command("run", epilog=run.EXAMPLES)(run.run)
app.command("sweep", epilog=sweep.EXAMPLES)(sweep.sweep)
app.command("cpg", epilog=cpg.EXAMPLES)(cpg.cpg)
app.command("train", epilog=train.EXAMPLES)(train.train)
app.command("convert", epilog=convert.EXAMPLES)(convert.convert)
app.command("study", epilog=study.EXAMPLES)(study.study)
app.command("report", epilog=report.EXAMPLES)(report.report)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.command("show", epilog=show.EXAMPLES)(show.show)
app.command("power", epilog=power.EXAMPLES)(power.power)
app.command("list", epilog=list_parts.EXAMPLES)(list_parts.list_parts)
app.command("check", epilog=check.EXAMPLES)(check.check)
app.command("explain", epilog=explain.EXAMPLES)(explain.explain)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
app.add_typer(esnr_app, name="esnr", epilog=esnr.EXAMPLES)
esnr_app.callback(invoke_without_command=True)(esnr.esnr)
esnr_app.command("toy", epilog=esnr_toy.EXAMPLES)(esnr_toy.toy)
esnr_app.command("over-training", epilog=esnr_over_training.EXAMPLES)(esnr_over_training.over_training)


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit code 2."""
    _open_closed_streams()
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except WmelError as error:
        code = _said(str(error), 2)
    except typer.TyperException as error:
        code = _said(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C has nothing left to stop
        code = INTERRUPTED
    except OSError as error:
        code = _said(f"cannot print: {error.strerror}", 1) if error.filename is None else _said(str(error), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer has nowhere to go
    if code == INTERRUPTED:
        _said("interrupted", code)
    sys.exit(code)


def _said(message: str, code: int) -> int:
    """One line on standard error, and the exit code that goes with it."""
    print(f"wmel: {' '.join(message.split())}", file=sys.stderr)
    return code


def _open_closed_streams() -> None:
    """Give a process started without standard output or error somewhere to write."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
