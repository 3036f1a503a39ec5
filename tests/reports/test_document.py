import re

import pytest

from tests.reports.outline import Outline
from wmel.reports.document import Drawn, Section, document

HOSTILE = '<script>alert(1)</script>"'


def test_a_document_without_figures_runs_nothing():
    page = document("title", "<p>header</p>", [Section("one", "One", "<p>text</p>")], "stamp")
    Outline(page)
    assert "script-src 'none'" in page and "<script" not in page and "<noscript" not in page
    assert "<header><h1>title</h1><p>header</p></header>" in page and "<footer>stamp</footer>" in page


def test_an_empty_section_is_left_out():
    assert "<section" not in document("title", "", [Section("one", "One")], "stamp")


def test_plain_text_is_escaped_wherever_it_stands():
    pytest.importorskip("plotly")
    page = document(HOSTILE, "", [Section("one", HOSTILE, figures=[Drawn("figure", HOSTILE, "{}")])], HOSTILE)
    outline = Outline(page)
    assert len(outline.all("script")) == 3 and "alert(1)</script>" not in page
    assert next(one for one in outline.all("div") if "aria-label" in one)["aria-label"] == HOSTILE


def test_figures_follow_the_text_of_their_section_and_name_their_data():
    pytest.importorskip("plotly")
    page = document("title", "", [Section("one", "One", "<p>text</p>", [Drawn("a-0", "A", "{}")])], "stamp")
    assert re.search(r'<p>text</p><div class="figure" id="a-0".*<script [^>]*data-figure="a-0">{}</script>', page)
    assert page.count("<noscript>") == 1
