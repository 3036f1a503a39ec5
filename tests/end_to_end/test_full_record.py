"""The record of `make test-full`: a row for every step, also of those that were not run."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

from tests.end_to_end.pages import ROOT

SCRIPT = ROOT / ".ci" / "test_full"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script with three quick steps and a page of its own."""
    loader = SourceFileLoader("test_full_script", str(SCRIPT))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    quick = {
        name: ("a step", [sys.executable, "-c", code]) for name, code in {"one": "", "two": "", "bad": "1/0"}.items()
    }
    monkeypatch.setattr(module, "STEPS", quick)
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["test_full", *words])
        code = module.main()
        rows = (row.strip("| ").split(" | ") for row in module.PAGE.read_text().splitlines() if row.startswith("| "))
        return code, {row[0]: row[3] for row in rows if row[0] != "step"}

    return call


def test_a_step_leaves_the_rows_of_the_others_as_they_were(script):
    assert script("one") == (0, {"one": "passed", "two": "not run", "bad": "not run"})
    assert script("bad") == (1, {"one": "passed", "two": "not run", "bad": "failed"})
    assert script("two") == (0, {"one": "passed", "two": "passed", "bad": "failed"})
    assert script() == (1, {"one": "passed", "two": "passed", "bad": "failed"})


def test_a_part_of_the_tests_changes_no_row(script):
    before = script("one")
    assert script("bad", "--", "-k", "killed") == (1, before[1])


def test_the_page_has_a_row_for_every_step():
    page = (ROOT / "docs" / "test-full.md").read_text()
    steps = [
        line.split('"')[1] for line in SCRIPT.read_text().splitlines() if line.startswith('    "') and ': ("' in line
    ]
    assert len(steps) == 4
    assert [row.split(" | ")[0].removeprefix("| ") for row in page.splitlines() if row.startswith("| ")][1:] == steps
