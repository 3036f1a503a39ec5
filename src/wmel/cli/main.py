"""`wmel`: the verbs, and how an error is said."""

import sys

import typer

from wmel.cli import check, doctor, explain, list_parts, run, show, sweep
from wmel.errors import WmelError

app = typer.Typer(
    name="wmel",
    help="World Model Evaluation Lab: may we plan with this world model?",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", epilog=run.EXAMPLES)(run.run)
app.command("sweep", epilog=sweep.EXAMPLES)(sweep.sweep)
app.command("show", epilog=show.EXAMPLES)(show.show)
app.command("list", epilog=list_parts.EXAMPLES)(list_parts.list_parts)
app.command("check", epilog=check.EXAMPLES)(check.check)
app.command("explain", epilog=explain.EXAMPLES)(explain.explain)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit code 2."""
    try:
        sys.exit(app(standalone_mode=False))
    except WmelError as error:
        _fail(str(error), 2)
    except typer.TyperException as error:
        _fail(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", 130)


def _fail(message: str, code: int) -> None:
    print(f"wmel: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
