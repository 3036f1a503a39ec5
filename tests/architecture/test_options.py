"""Options are declared once and shared, or generated from the settings of parts."""

import ast
import sys

from tests.architecture.test_layers import FILES, name_of, package_of, tree_of
from wmel.cli.main import VERBS

MOST = 61


def declarations(package: str) -> list[tuple[str, bool]]:
    """Where options and arguments are declared in a package, and whether each is an argument."""
    found = []
    for path in FILES:
        if package_of(path) != package:
            continue
        for node in ast.walk(tree_of(path)):
            made = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
            is_generated = name_of(path) == "cli/generate.py" and isinstance(getattr(node, "func", None), ast.Attribute)
            if made in ("Option", "Argument") and not is_generated:
                marked = any(keyword.arg == "is_argument" for keyword in node.keywords)
                found.append((f"{name_of(path)}:{node.lineno}", marked or made == "Argument"))
    return found


CLI_MAY_IMPORT = {  # beside wmel.api, and itself: errors, and what names parts and words
    "wmel.errors": {
        "BadInput",
        "WmelError",
        "suggest_name",
        "LONGEST_LINE",
        "escape_unprintable",
        "describe_error",
        "locate_error",
        "message_of",
        "printable",
    },
    "wmel": {"catalog"},
    "wmel.catalog": {"CATALOGUE", "PRESETS", "REGISTRIES"},
    "wmel.analysis.scorecard": {"metric_data"},  # which metric a text names
    "wmel.experiments.keys": {"ENTRY_SETTINGS"},
    "wmel.parts": {"Registry", "Setting", "import_object"},
    "wmel.glossary.lookup": {"names"},
}


def test_the_command_line_calls_verbs_and_holds_none():
    offenders = []
    for path in (path for path in FILES if package_of(path) == "cli"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import):
                used = [(alias.name, None) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                used = [(node.module or "", alias.name) for alias in node.names]
            else:
                continue
            offenders += [f"{name_of(path)} imports {module}: {name}" for module, name in used if not may(module, name)]
    assert offenders == []
    assert [target for target, _ in VERBS.values() if not target.startswith("wmel.api.")] == []


def may(module: str, name: str | None) -> bool:
    """Whether the command line may import a name of a module."""
    if module.partition(".")[0] != "wmel":
        return module.partition(".")[0] in {*sys.stdlib_module_names, "typer"}
    return f"{module}.".startswith(("wmel.api.", "wmel.cli.")) or name in CLI_MAY_IMPORT.get(module, ())


def test_few_options_are_typed_by_hand():
    options = [place for package in ("api", "cli") for place, is_argument in declarations(package) if not is_argument]
    assert len(options) <= MOST, f"{len(options)} options are typed by hand: {options}"
    assert len(declarations("api")) <= MOST, "with their arguments, the verbs declare too many"
