"""Options are declared once and shared, or generated from the settings of parts."""

import ast

from tests.architecture.test_layers import FILES, name_of, package_of, tree_of

MOST = 60


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


def test_few_options_are_typed_by_hand():
    options = [place for package in ("api", "cli") for place, is_argument in declarations(package) if not is_argument]
    assert len(options) <= MOST, f"{len(options)} options are typed by hand: {options}"
    assert len(declarations("api")) <= MOST, "with their arguments, the verbs declare too many"
