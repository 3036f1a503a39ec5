"""No run of six or more equal lines of code occurs twice in `src`."""

import ast
import re
from collections import defaultdict

from tests.architecture.test_layers import FILES, name_of, tree_of

LINES = 6  # of a run
PUNCTUATION = re.compile(r"[\s()\[\]{},:.\"']*")


def code_lines(path) -> list[tuple[int, str]]:
    """The lines of code: not blank ones, comments, docstrings, imports, signatures and lone punctuation."""
    skipped = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            skipped |= set(range(node.lineno, node.body[0].lineno))
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            skipped |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(path.read_text().splitlines(), start=1)
    found = [(number, " ".join(line.split())) for number, line in lines if number not in skipped]
    return [(number, line) for number, line in found if not line.startswith("#") and not PUNCTUATION.fullmatch(line)]


def repeated_runs(files: dict[str, list[tuple[int, str]]]) -> list[str]:
    """Places that share six lines in a row."""
    places = defaultdict(list)
    for name, lines in files.items():
        for start in range(len(lines) - LINES + 1):
            run = lines[start : start + LINES]
            places[tuple(line for _, line in run)].append(f"{name}:{run[0][0]}")
    return [" and ".join(found) for found in places.values() if len(found) > 1]


def test_no_run_of_six_lines_occurs_twice():
    assert repeated_runs({name_of(path): code_lines(path) for path in FILES}) == []


def test_a_repeated_run_is_found():
    lines = [(number, f"line {number}") for number in range(7)]
    assert repeated_runs({"a": lines, "b": [(number + 10, line) for number, line in lines[1:]]}) == ["a:1 and b:11"]
