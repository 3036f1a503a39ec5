"""docs/glossary.md and docs/metrics.md are what `make glossary` writes."""

import re
from pathlib import Path

import pytest

from wmel.glossary.lookup import all_groups
from wmel.glossary.pages import glossary_text, metrics_text

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "text"), [("glossary.md", glossary_text), ("metrics.md", metrics_text)])
def test_the_committed_page_is_the_generated_one(page, text):
    assert (DOCS / page).read_text(encoding="utf-8") == text(), "run: make glossary"


def test_the_glossary_names_every_word():
    shown = glossary_text().replace("\\", "")
    assert [word.name for group in all_groups() for word in group.words if word.name not in shown] == []


def test_links_of_the_pages_lead_somewhere():
    for text in (glossary_text(), metrics_text()):
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (DOCS / target).exists(), target


def test_a_row_of_a_table_is_one_line_with_two_cells():
    rows = [line for line in glossary_text().split("\n") if line.startswith("| ")]
    assert len(rows) > 100
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in rows)
