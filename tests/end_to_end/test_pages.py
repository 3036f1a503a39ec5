"""Everything that README.md and docs/*.md show runs: commands, Python, studies, and the output beside them."""

import re
import subprocess
import sys

import pytest
import typer
from typer.main import get_command

from tests.end_to_end.pages import (
    PAGES,
    ROOT,
    Block,
    PageRun,
    anchors_of,
    blocks_of,
    commands_in_prose,
    files_in,
    is_importable,
    lines_missing,
    modules_in,
)
from wmel.cli.main import VERBS, app_for

QUICK = ("adding-a-part", "bring-your-own-model", "bring-your-own-environment", "read-a-verdict")  # seconds each
NOT_RUN = {  # page, and how a block of it begins: why it is not run. Its commands are checked without running them.
    ("README", "make demo"): "installs an environment; test_readme.py runs the demo and compares the answer",
    ("esnr", "wmel train tdmpc2 --data"): "hours of training",
    ("findings", "wmel train tdmpc2 --env"): "six trainings on a GPU",
    ("findings", "wmel run --env dmc:cartpole-swingup"): "8 episodes with plans of 100 steps take an hour",
    ("gpu", "python benchmarks/gpu_planning.py"): "needs a GPU",
    ("gpu", "python benchmarks/tdmpc2_updates.py"): "needs a GPU",
    ("reproduction", "make reproduction"): "three hours",
    ("train-tdmpc2", "wmel train tdmpc2 --env dmc:cartpole-swingup --size 1"): "ten minutes on a GPU",
    ("train-tdmpc2", "wmel convert FILE.pt"): "needs a published checkpoint; tests/training has a small one",
}
NAMING = [
    *PAGES,
    ROOT / "CONTRIBUTING.md",
    *(ROOT / name / "README.md" for name in ("models", "results", "benchmarks")),
]
NAMING_CODE = [
    *NAMING,
    *sorted(ROOT.glob("docs/decisions/*.md")),
    *sorted(ROOT.glob("docs/notebooks/*.ipynb")),
    *sorted(ROOT.glob("studies/**/*.toml")),
    *(ROOT / name for name in ("pyproject.toml", "Makefile")),
]
SOURCE = ROOT / "src" / "wmel"
BLOCKS = {page.stem: blocks_of(page) for page in PAGES}


def reasons_not_to_run(page: str, block: Block) -> list[str]:
    return [why for (name, start), why in NOT_RUN.items() if name == page and block.text.startswith(start)]


RUNNABLE = [page for page in PAGES if any(not reasons_not_to_run(page.stem, one) for one in BLOCKS[page.stem])]
PARAMETERS = [
    pytest.param(page.stem, marks=[] if page.stem in QUICK else pytest.mark.slow, id=page.stem) for page in RUNNABLE
]


@pytest.mark.parametrize("page", PARAMETERS)
def test_everything_that_a_page_shows_runs(page, wmel_command, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    run = PageRun(tmp_path, wmel_command)
    try:
        for block in BLOCKS[page]:
            if not reasons_not_to_run(page, block):
                run.run(block)
    finally:
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
                del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs_or_has_a_reason_not_to(page):
    assert [one.text for one in BLOCKS[page.stem] if not one.runs and not reasons_not_to_run(page.stem, one)] == []


@pytest.mark.parametrize("page", NAMING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_fence_is_read_and_has_a_language(page):
    fences = [line for line in page.read_text().splitlines() if line.lstrip().startswith(("```", "~~~"))]
    blocks = blocks_of(page)
    assert len(fences) == 2 * (
        len(blocks) + len([one for one in blocks if one.shown])
    )  # what one prints is not another
    assert all(one.language for one in blocks)


def test_every_reason_belongs_to_one_block():
    found = [(page, block.text) for page, blocks in BLOCKS.items() for block in blocks]
    for name, start in NOT_RUN:
        assert len([text for page, text in found if page == name and text.startswith(start)]) == 1, (name, start)


@pytest.mark.parametrize("page", NAMING, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_not_run_are_accepted_by_the_command_line(page):
    blocks = [one for one in blocks_of(page) if page not in PAGES or reasons_not_to_run(page.stem, one)]
    for words in [*commands_in_prose(page), *(words for block in blocks for words in block.commands)]:
        if words[0] == "wmel":
            assert_accepted(words[1:])
        elif words[0] == "make":
            done = subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        else:
            assert words[0] == "python" and (ROOT / words[1]).exists(), words
    for program in re.findall(r"python (benchmarks/\w+\.py)", page.read_text()):
        assert (ROOT / program).exists(), program


def assert_accepted(words: list[str]) -> None:
    """The verb exists, and so do its options with values of their types."""
    typed = [" ".join(words[:2]), *words[2:]] if " ".join(words[:2]) in VERBS else words
    assert typed[0].startswith("-") or typed[0] in VERBS, words
    command = get_command(app_for(typed))
    if typed[0] in VERBS:
        try:
            command.commands[typed[0]].make_context(typed[0], typed[1:])
        except typer.Exit:  # --help
            return
        except typer.TyperException as error:
            message = error.format_message()
            is_fragment = "Missing" in message or "requires an argument" in message
            assert is_fragment, f"wmel {' '.join(words)}: {message}"


@pytest.mark.parametrize("page", NAMING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text()):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors_of(linked), f"{page.name}: {target}#{anchor}"


@pytest.mark.parametrize("page", NAMING_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_and_module_of_wmel_that_is_named_exists(page):
    """Rows of `git diff --stat` name files of branches that were deleted."""
    text = "\n".join(line for line in page.read_text().splitlines() if not re.search(r" \d+ \+[ ,|]", line))
    assert [name for name in files_in(text) if not any((place / name).exists() for place in (ROOT, SOURCE))] == []
    assert [name for name in modules_in(text) if not is_importable(name)] == []


def test_what_does_not_exist_is_found():
    assert files_in("in `src/wmel/catalog.py`, planners/cem.py and `a.py`") == [
        "src/wmel/catalog.py",
        "planners/cem.py",
    ]
    found = modules_in("`wmel.planners.cem:CEM`, wmel.gone.file, group wmel.planners. import wmel.")
    assert found == ["wmel.planners.cem:CEM", "wmel.gone.file"]
    assert [is_importable(name) for name in (*found, "wmel.planners.cem:Gone", "wmel.run")] == [
        True,
        False,
        False,
        True,
    ]


def test_a_line_that_is_shown_and_not_printed_is_found():
    assert lines_missing("a 1\n...\nc", "a   1\nb\nc\n") == ""
    assert lines_missing("c\na 1", "a 1\nb\nc\n") == "a 1"
    assert lines_missing("a ... 3", "a b 3") == "" and lines_missing("a ... 3", "a b 4") == "a ... 3"
    assert lines_missing("a 3.1", "a 4.1") == "a 3.1"


@pytest.mark.parametrize(
    ("printed", "is_alike"), [("a_ms 4.25 69 b", True), ("a_ms 3.1 70 b", False), ("a_ms 3.1", False)]
)
def test_of_a_line_that_holds_a_time_everything_but_fractions_is_compared(printed, is_alike):
    assert (lines_missing("a_ms  3.1  69  b", printed) == "") is is_alike


@pytest.mark.parametrize(
    "block",
    [
        Block("", "", "wmel list\n"),
        Block("bash", "", "wmel list\nsudo apt-get install wmel\n"),
        Block("bash", "", "# nothing but a comment\n"),
        Block("text", "", "printed by nothing\n"),
        Block("yaml", "", "a: 1\n"),
    ],
)
def test_a_block_that_cannot_run_is_never_skipped_in_silence(block, tmp_path):
    assert not block.runs
    with pytest.raises(AssertionError, match="cannot be run"):
        PageRun(tmp_path, lambda *words, cwd: None).run(block)
