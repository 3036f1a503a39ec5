"""Tests expect of a message what is wrong and its value, not its sentence: fewer than six words in a row.

The sentences of reports, and those that the README and the documentation show, have tests of their own.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
WORDS = 6
SENTENCES = ("reports", "end_to_end")  # folders whose tests are about sentences


def words_of(text: str) -> int:
    """The most words in one piece of an expected text."""
    return max(sum(any(map(str.isalpha, word)) for word in piece.split()) for piece in text.split(" ... "))


def literals(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts in an expression, with their lines; of a formatted text what it has apart from values."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else " " for part in node.values]
        yield node.lineno, "".join(map(str, parts))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from literals(child)


def expected_of_messages(tree: ast.AST) -> Iterator[ast.expr]:
    """What is looked for in a message: by `match=`, `says`, `in`, `startswith` and `endswith`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "match":
            yield node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "says":
            yield node.args[1]
        elif isinstance(node, ast.Assert):
            for one in ast.walk(node.test):
                if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.In):
                    yield one.left
                elif isinstance(one, ast.Call) and getattr(one.func, "attr", "") in ("startswith", "endswith"):
                    yield from one.args


def parametrised(function: ast.FunctionDef, names: set[str]) -> Iterator[ast.expr]:
    """The values of the given arguments of a parametrised test."""
    calls = (one for one in function.decorator_list if isinstance(one, ast.Call) and len(one.args) > 1)
    for call in (one for one in calls if getattr(one.func, "attr", "") == "parametrize"):
        arguments = [name for _, text in literals(call.args[0]) for name in text.replace(",", " ").split()]
        for row in getattr(call.args[1], "elts", ()):
            cells = getattr(row, "elts", getattr(row, "args", [row])) if len(arguments) > 1 else [row]
            yield from (cell for name, cell in zip(arguments, cells, strict=False) if name in names)


def long_literals(source: str) -> list[tuple[int, str]]:
    """The lines and texts of six or more words that the tests of a file expect of messages."""
    tree = ast.parse(source)
    found = [*expected_of_messages(tree)]
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        names = {
            one.id for node in expected_of_messages(function) for one in ast.walk(node) if isinstance(one, ast.Name)
        }
        found += parametrised(function, names)
    return sorted({one for node in found for one in literals(node) if words_of(one[1]) >= WORDS})


def test_no_test_expects_a_sentence():
    paths = [path for path in TESTS.rglob("*.py") if path.relative_to(TESTS).parts[0] not in SENTENCES]
    found = {str(path.relative_to(TESTS)): long_literals(path.read_text()) for path in paths}
    assert {path: texts for path, texts in found.items() if texts} == {}


def test_a_sentence_is_found_wherever_it_is_expected():
    sentence = "'a rate must lie between 0 and 1'"
    for line in (f"with raises(BadInput, match={sentence}): work()", f"assert {sentence} in done.stderr"):
        assert len(long_literals(line)) == 1
    table = (
        f"@mark.parametrize(('line', 'words'), [('run', {sentence})])\ndef test(line, words):\n    assert words in line"
    )
    assert len(long_literals(table)) == 1
    assert not long_literals("assert says(done.stderr, 'rate ... must lie ... 0 and 1')")
