"""benchmarks/house.py counts what docs/decisions/0014 shows."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def house(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import house

    return house


def test_files_lines_names_and_words_are_counted(house, tmp_path):
    package = tmp_path / "src" / "wmel"
    package.mkdir(parents=True)
    (package / "one.py").write_text("class Twice:\n    pass\n\n\nclass Once:\n    'As was said, and Said again.'\n")
    (package / "two.py").write_text("class Twice:\n    unsaid = 1\n")
    counted = house.count_source(tmp_path)
    assert (counted["files"], counted["lines"], counted["median"]) == ("2", "8", "4")
    assert counted["class names in two files or more"] == "1 (Twice)"
    assert counted["words of the list"].startswith("said 2, drawn 0")


@pytest.mark.parametrize(
    ("text", "starting"),
    [
        ("def test_a(wmel_process): pass", {"test_a"}),
        ("def test_a(wmel_command): wmel_command('list', env={})", {"test_a"}),
        ("def helper(): subprocess.run([])\n\ndef test_a(): helper()", {"helper", "test_a"}),
        ("def test_a(wmel_command): wmel_command('list')", set()),
    ],
)
def test_a_test_that_starts_a_process_is_found(house, tmp_path, text, starting):
    (tmp_path / "test_some.py").write_text(text)
    assert house.process_starters(tmp_path / "test_some.py", frozenset({"wmel_process"})) == starting


def test_no_class_name_is_in_two_files_as_the_table_says(house):
    page = (ROOT / "docs" / "decisions" / "0014-the-house-in-order.md").read_text()
    (after,) = re.findall(r"^\| class names in two files or more \| \d+ \| (\d+) \|$", page, flags=re.MULTILINE)
    assert house.count_source(ROOT)["class names in two files or more"] == after
