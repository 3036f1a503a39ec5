"""`wmel`: the verbs, and how an error is shown. Only the command that is called is built."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from wmel.cli.completion import VARIABLE, typed_words
from wmel.cli.examples import EXAMPLES
from wmel.cli.unknown_options import describe_refusal, part_of
from wmel.errors import (
    LONGEST_LINE,
    BadInput,
    WmelError,
    describe_error,
    escape_unprintable,
    locate_error,
    message_of,
    printable,
)

if TYPE_CHECKING:
    from wmel.cli.generate import OwnSettings

INTERRUPTED = 130
LOOKS: dict[str, Any] = {
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
VERBS = {  # name -> the function behind it, and what it does
    "run": ("wmel.api.run:run", "Run a policy in an environment and print its scorecard."),
    "sweep": ("wmel.api.sweep:sweep", "Sweep the planning horizon, or any settings, of a policy."),
    "cpg": ("wmel.api.cpg:cpg", "Measure what a planner loses when a model replaces the true dynamics."),
    "diagnose": ("wmel.api.diagnose:diagnose", "Apply a diagnostic to models, without planning with them."),
    "esnr": ("wmel.api.esnr:esnr", "Measure the signal of policy gradients through models; also: toy, over-training."),
    "esnr toy": ("wmel.api.toy:esnr_toy", "Compare gradient estimators where the truth is known."),
    "esnr over-training": ("wmel.api.over_training:esnr_over_training", "ESNR at every checkpoint of trainings."),
    "train": ("wmel.api.train:train", "Train a world model and write its checkpoint and card."),
    "convert": ("wmel.api.train:convert", "Convert a published TD-MPC2 file to a checkpoint."),
    "study": ("wmel.api.study:study", "Run what is missing of a study, and store it."),
    "report": ("wmel.api.load:report", "Write the report of any result: a page, and Markdown."),
    "compare": ("wmel.api.compare:compare", "Compare two runs on the episodes both ran."),
    "show": ("wmel.api.load:show", "Check a stored record and print what it holds."),
    "power": ("wmel.api.power:power", "Print the episodes a decision needs."),
    "check": ("wmel.api.check:check", "Run the conformance kit of a part."),
    "list": ("wmel.api.explain:list_parts", "List the parts of the catalogue, or the settings of one."),
    "explain": ("wmel.api.explain:explain", "Print what a word of any output means."),
    "doctor": ("wmel.api.check:doctor", "Print what is installed and what is missing."),
}


class EachOnce(TyperCommand):
    """A command that refuses an option given twice, unless it takes several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for option in order:
                if order.count(option) > 1 and not getattr(option, "multiple", False):
                    raise BadInput(f"{'/'.join(option.opts)} is given twice{_values_of(option, args)}: give it once")
        return super().parse_args(ctx, args)


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit code 2."""
    _open_closed_streams()
    typed = typed_words(VERBS) if VARIABLE in os.environ else _join_names(sys.argv[1:])
    debug = "--debug" in typed
    try:
        code = app_for(typed)(typed or ["--help"], standalone_mode=False, prog_name="wmel")
        sys.stdout.flush()
    except WmelError as error:
        code = _fail(message_of(error), 2, error, debug=debug)
    except typer.TyperException as error:
        code = _fail(_words_of(error, typed), error.exit_code, error, debug=debug)
    except MemoryError as error:
        code = _fail(f"not enough memory: {error}", 2, error, debug=debug)
    except SystemExit as error:  # a part called sys.exit before its verb began, or typer has printed completions
        if VARIABLE in os.environ:
            raise
        code = _fail(f"{describe_error(error)}{locate_error(error)}", 2, error, debug=debug)
    except (KeyboardInterrupt, typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C has nothing left to stop
        code = INTERRUPTED
    except OSError as error:
        words, code = (f"cannot print: {error.strerror}", 1) if error.filename is None else (str(error), 2)
        _fail(words, code, error, debug=debug)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer has nowhere to go
    if code == INTERRUPTED:
        _fail("interrupted", code)
    sys.exit(code)


def app_for(typed: list[str]) -> typer.Typer:
    """The command line with the one command built that was called; of the others, names and summaries."""
    called = next((word for word in typed if not word.startswith("-")), "")
    app = typer.Typer(name="wmel", help="World Model Evaluation Lab: may we plan with this world model?", **LOOKS)
    app.callback(invoke_without_command=True)(_version_option)
    for name, (target, summary) in VERBS.items():
        if name != called:
            app.command(name, help=summary)(lambda: None)
            continue
        app.command(name, cls=EachOnce, epilog=EXAMPLES[name])(_command(target, typed))
    return app


def _command(target: str, typed: list[str]) -> Callable[..., Any]:
    from wmel.cli.generate import command_of
    from wmel.parts import import_object

    verb = import_object(target)
    return command_of(verb, show_result, _own_settings(verb, typed))


def _own_settings(verb: Callable[..., Any], typed: list[str]) -> "OwnSettings | None":
    """The settings that are options of this call: those of its diagnostic, or of the trainer that was typed."""
    from wmel.api.verbs import own_settings
    from wmel.catalog import REGISTRIES
    from wmel.cli.generate import OwnSettings

    mark = own_settings(verb)
    if mark is None:
        return None
    registry = REGISTRIES[mark.kind]
    part = mark.part or part_of(typed, registry)
    if part is None or (VARIABLE in os.environ and not registry.has(part)):
        return OwnSettings(mark.kind, {})
    return OwnSettings(f"{mark.kind} '{part}'", registry.settings_of(part))


def show_result(verb: Callable[..., Any], arguments: dict[str, Any], *, as_json: bool, debug: bool) -> int:
    """Call a verb and print its result; the exit code."""
    quiet = arguments.get("quiet", False) or as_json
    if "quiet" in arguments:
        arguments["quiet"] = quiet
    result = verb(**arguments)
    for failure in result.failures:
        print(f"wmel: {printable(failure, LONGEST_LINE)}", file=sys.stderr)
    if as_json:
        print(result.to_json())
    elif not quiet:
        print(*map(escape_unprintable, str(result).split("\n")), sep="\n")
        for what, path in result.files.items():
            print(escape_unprintable(f"{what}: {path}"))
    return result.exit_code


def _version_option(
    version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True),
) -> None:
    if version:
        from importlib.metadata import version as version_of

        print(f"wmel {version_of('wmel')}")
        raise typer.Exit


def _words_of(error: Any, typed: list[str]) -> str:
    """What was typed wrong."""
    from wmel.parts import import_object

    called = next(iter(typed), "")
    is_verb = called in VERBS
    return describe_refusal(error, typed, import_object(VERBS[called][0]) if is_verb else None)


def _values_of(option: Any, typed: list[str]) -> str:
    """The values of an option that was given several times, in words; nothing for a flag."""
    if getattr(option, "is_flag", False):
        return ""
    apart = [value for flag, value in pairwise(typed) if flag in option.opts]
    joined = [word.partition("=")[2] for word in typed if word.partition("=")[0] in option.opts and "=" in word]
    return f" ({' and '.join(map(repr, [*apart, *joined]))})"


def _join_names(typed: list[str]) -> list[str]:
    """`esnr toy` is one command."""
    joined = " ".join(typed[:2])
    return [joined, *typed[2:]] if joined in VERBS and len(typed) > 1 else typed


def _fail(message: str, code: int, error: BaseException | None = None, *, debug: bool = False) -> int:
    """One line on standard error, and the exit code that goes with it; the traceback where it is wanted."""
    if debug and error is not None:
        traceback.print_exception(error)
    print(f"wmel: {printable(message, LONGEST_LINE)}", file=sys.stderr)
    return code


def _open_closed_streams() -> None:
    """Give a process started without standard output or error somewhere to write."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
