"""The README: its length, its two commands, the answer and the picture of the demo, and `make demo` itself."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.test_layers import MOST_LINES
from tests.end_to_end.pages import ROOT, blocks_of, lines_missing

README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
BLOCKS = blocks_of(ROOT / "README.md")
RESULTS = ROOT / "results" / "demo" / "results.json"  # of one run of the demo, committed
STORED_OR_HERE = ("tests/end_to_end/test_readme.py",)
NOT_INCONCLUSIVE = {"tdmpc2": "MODEL AS GOOD AS ORACLE", "mlp": "MODEL BOTTLENECK"}
WIDER = """(width) => [...document.querySelectorAll('main *')]
  .filter((one) => !one.closest('.scroll, .figure, details'))
  .filter((one) => one.getBoundingClientRect().right > width).map((one) => one.outerHTML.slice(0, 80))"""


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


def test_the_readme_opens_with_its_two_commands():
    commands = [line.split("#")[0].strip() for line in BLOCKS[0].text.splitlines()]
    assert commands == ["make demo", "make test"]


def test_contributing_states_the_longest_file_that_is_accepted():
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    assert re.findall(r"more than (\d+) fails a test", contributing) == [str(MOST_LINES)]


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]:
        named = re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)`", page.read_text(), flags=re.MULTILINE)
        assert {first or second for first, second in named} <= targets, page.name


def test_the_answer_shown_is_that_of_the_stored_demo(wmel_command):
    printed = wmel_command("show", str(RESULTS)).stdout
    assert BLOCKS[0].shown
    assert not lines_missing(BLOCKS[0].shown, printed)


def test_the_picture_shows_the_stored_demo(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from demo_figure import PICTURE, draw

    assert PICTURE.read_text() == draw(json.loads(RESULTS.read_text()))
    assert f"]({PICTURE.relative_to(ROOT)})" in README


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What `make demo` prints: its recipe as it stands in the Makefile, with this interpreter in place of its own."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "wmel").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m wmel "$@"\n')
    (folder / "wmel").chmod(0o755)
    places = [f"BIN={folder}", f"RUNS={folder / 'runs'}"]
    command = ["make", "--no-print-directory", "-o", ".venv/demo.stamp", "demo", *places]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


def page_to_open(lines) -> Path:
    found = re.search(r"Open (\S+\.html) in a browser", lines[-1])
    assert found is not None
    return Path(found[1])


@pytest.mark.slow
def test_the_demo_ends_with_two_decided_verdicts_and_a_page_to_open(demo):
    page = page_to_open(demo)
    assert len(demo) <= 40 and page.stat().st_size > 10_000
    stored = json.loads((page.parent / "results.json").read_text())
    (comparison,) = stored["comparisons"]
    assert {model: gap["verdict"] for model, gap in comparison["gaps"].items()} == NOT_INCONCLUSIVE
    assert comparison["scorecards"]["oracle"]["success_rate"] >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 720)])
def test_the_page_of_the_demo_shows_its_answer_at_once_on_a_phone_and_on_a_desk(demo, opened, width, height):
    """Without scrolling; nothing is wider than the window, and no script or figure complains."""
    page = page_to_open(demo)
    tab, noticed, address = opened(page.read_text(encoding="utf-8"), viewport={"width": width, "height": height})
    tab.wait_for_selector("#forest-0 .main-svg")
    answer = tab.locator(".answer")
    box = answer.bounding_box()
    assert answer.inner_text() in demo
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
    assert tab.evaluate("[document.documentElement.scrollWidth, document.body.scrollWidth]") == [width, width]
    assert tab.evaluate(WIDER, width) == []
    assert noticed == {"complaints": [], "requests": [address]}


def test_the_ci_script_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_what_is_cited_stands_in_the_list_of_sources():
    citation, sources = ((ROOT / name).read_text() for name in ("CITATION.cff", "docs/sources.md"))
    titles = re.findall(r'^    title: "(.*)"', citation, flags=re.MULTILINE)
    plain = " ".join(sources.replace("*", "").split())
    assert len(titles) >= 5 and [title for title in titles if title not in plain] == []


def test_every_method_of_the_statistics_has_its_source():
    """A name and a year, as docstrings cite them, stand on one line of the list of sources."""
    code = " ".join(path.read_text() for path in (ROOT / "src" / "wmel" / "stats").glob("*.py"))
    cited = set(re.findall(r"([A-Z]\w+)(?: and [A-Z]\w+| et al\.)? \(?(\d{4})\b", " ".join(code.split())))
    lines = (ROOT / "docs" / "sources.md").read_text().splitlines()
    missing = [f"{name} {year}" for name, year in cited if not any(name in line and year in line for line in lines)]
    assert len(cited) >= 8 and missing == []


def test_a_source_is_called_by_its_name():
    """The CPG paper, the ESNR paper, the wmel 0.18 repository: never `the documents`."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    prose = [name for name in listed if name.endswith((".py", ".md", ".toml")) and name not in STORED_OR_HERE]
    vague = re.compile(r"\b(the documents\b|documents')", flags=re.IGNORECASE)
    assert [name for name in prose if vague.search((ROOT / name).read_text())] == []
