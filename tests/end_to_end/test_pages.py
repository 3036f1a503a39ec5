"""Everything that README.md and docs/*.md show runs: commands, Python, studies, and the output beside them."""

import re
import sys

import pytest
import typer
from typer.main import get_command

from tests.end_to_end.pages import PAGES, ROOT, PageRun, anchors_of, blocks_of, commands_not_run, lines_missing
from wmel.cli.main import VERBS, app_for

QUICK = ("adding-a-part", "bring-your-own-model", "bring-your-own-environment", "read-a-verdict")  # seconds each
RUNNABLE = [page for page in PAGES if any(block.language in ("bash", "python") for block in blocks_of(page))]
NAMING = [
    *PAGES,
    ROOT / "CONTRIBUTING.md",
    *(ROOT / name / "README.md" for name in ("models", "results", "benchmarks")),
]
PARAMETERS = [
    pytest.param(page, marks=[] if page.stem in QUICK else pytest.mark.slow, id=page.stem) for page in RUNNABLE
]


@pytest.mark.parametrize("page", PARAMETERS)
def test_everything_that_a_page_shows_runs(page, wmel_command, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    run = PageRun(tmp_path, wmel_command)
    try:
        for block in blocks_of(page):
            run.run(block)
    finally:
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
                del sys.modules[name]


@pytest.mark.parametrize("page", NAMING, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_too_long_to_run_are_accepted_by_the_command_line(page):
    for words in commands_not_run(page):
        typed = [" ".join(words[:2]), *words[2:]] if " ".join(words[:2]) in VERBS else words
        assert typed[0].startswith("-") or typed[0] in VERBS, words
        command = get_command(app_for(typed))
        if typed[0] in VERBS:
            try:
                command.commands[typed[0]].make_context(typed[0], typed[1:])
            except typer.Exit:  # --help
                continue
            except typer.TyperException as error:
                message = error.format_message()
                is_fragment = "Missing" in message or "requires an argument" in message
                assert is_fragment, f"{page.name}: wmel {' '.join(words)}: {message}"


@pytest.mark.parametrize("page", NAMING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text()):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors_of(linked), f"{page.name}: {target}#{anchor}"


@pytest.mark.parametrize("page", ["architecture", "adding-a-part"])
def test_every_file_that_is_named_exists(page):
    """Rows of `git diff --stat` name files of branches that were deleted."""
    text = "\n".join(line for line in (ROOT / "docs" / f"{page}.md").read_text().splitlines() if " + |" not in line)
    for name in re.findall(r"`([\w/]+/[\w/]+\.py)`", text):
        assert (ROOT / name).exists() or (ROOT / "src" / "wmel" / name).exists(), name


def test_a_line_that_is_shown_and_not_printed_is_found():
    assert lines_missing("a 1\n...\nc", "a   1\nb\nc\n") == ""
    assert lines_missing("c\na 1", "a 1\nb\nc\n") == "a 1"
    assert lines_missing("a ... 3", "a b 3") == "" and lines_missing("a ... 3", "a b 4") == "a ... 3"
    assert lines_missing("a_ms 3", "a_ms 4") == "" and lines_missing("a 3", "a 4") == "a 3"
