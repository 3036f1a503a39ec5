import base64
import hashlib
import re
import sys

import pytest
from wmel.reports.page import study_page

from tests.reports.outline import Outline
from tests.reports.study_records import HOSTILE, many_gaps, one_gap, study
from wmel.errors import MissingExtra

pytest.importorskip("plotly", reason="the page needs plotly: install wmel[report]")


@pytest.fixture(scope="module")
def page() -> str:
    return study_page(study())


def without_scripts(page: str) -> str:
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_a_page_is_well_formed_and_names_its_language_and_tables(page):
    outline = Outline(page)
    assert outline.all("html") == [{"lang": "en"}]
    assert len(outline.all("table")) == len(outline.all("caption")) == 1 + 2 * 6 + 1
    assert {one["scope"] for one in outline.all("th")} == {"row", "col"}
    regions = [one for one in outline.all("div") if one.get("class") == "scroll"]
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in regions)
    assert len(outline.all("details")) == len(outline.all("summary")) == 6


def test_a_page_refers_to_nothing_outside_itself(page):
    for _, attributes in Outline(page).found:
        assert not {"src", "href", "srcset", "action"} & set(attributes)
    assert "url(" not in without_scripts(page) and "@import" not in without_scripts(page)


def test_plotly_is_inlined_once_and_only_the_pages_own_scripts_may_run(page):
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 2 and "plotly.js v" in scripts[0][:200]
    allowed = Outline(page).all("meta")[1]["content"].split("script-src ")[1].split()
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert allowed == [f"'sha256-{digest}'" for digest in digests]


def test_a_page_says_what_the_record_says(page):
    text = without_scripts(page)
    for words in (
        "<h1>horizons</h1>", "Two worlds, two models.", "960 stored episodes", "the disk was full", "it may be chance",
        "cannot be pooled", "wmel 0.1.0, 2026-01-02T03:04:05+00:00", "nothing is claimed", "<noscript>",
    ):  # fmt: skip
        assert words in text


def test_hostile_names_are_escaped_wherever_they_stand():
    wound = f'{HOSTILE}" onload="alert(2)'
    said = study(models=(wound, "mlp"), name=wound, about=wound, refused=[wound], rescored=wound, wmel_version=wound)
    page = study_page(said)
    outline = Outline(page)
    assert len(outline.all("script")) == 2 + 3
    assert not any("onload" in attributes for _, attributes in outline.found)
    assert "alert(1)</script>" not in page


def test_a_study_without_gaps_is_a_page_without_figures():
    page = study_page(study(comparisons=[], missing=[], refused=[]))
    assert "No gap was measured." in page and "<script" not in page and "script-src 'none'" in page


def test_a_page_of_many_gaps_folds_their_sentences():
    assert "Each gap in words" in study_page(many_gaps(100))
    assert "Each gap in words" not in study_page(one_gap())


def test_without_plotly_the_page_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.delitem(sys.modules, "wmel.reports.figures", raising=False)
    with pytest.raises(MissingExtra, match=r"the HTML report needs plotly: install wmel\[report\]"):
        study_page(one_gap())


@pytest.mark.slow
def test_a_browser_draws_every_figure_without_complaint_or_request(opened, page):
    tab, noticed, address = opened(page)
    tab.wait_for_selector("#curve-1 .main-svg")
    assert tab.locator(".js-plotly-plot").count() == 3
    assert tab.locator("#forest-0 .scatterlayer .point").count() == 12
    assert noticed == {"complaints": [], "requests": [address]}
    assert not tab.locator(".modebar").count()


@pytest.mark.slow
def test_a_browser_shows_hostile_names_as_text(opened):
    tab, noticed, _ = opened(study_page(study(models=(HOSTILE, "mlp"), name=HOSTILE)))
    tab.wait_for_selector("#curve-1 .main-svg")
    assert tab.locator("h1").inner_text() == tab.title() == HOSTILE
    assert HOSTILE in tab.locator("tbody th").all_inner_texts()
    assert HOSTILE in tab.locator("#curve-0 .legendtext").all_text_contents()
    assert noticed["complaints"] == []


@pytest.mark.slow
def test_the_keyboard_opens_a_comparison_and_its_text_is_readable_in_the_dark(opened, page):
    tab, _, _ = opened(page, color_scheme="dark")
    tab.wait_for_selector("#forest-0 .main-svg")
    folded = tab.locator("details").first
    assert folded.get_attribute("open") is None
    folded.locator("summary").focus()
    tab.keyboard.press("Enter")
    assert folded.get_attribute("open") is not None
    fills = tab.locator("#forest-0 .ytick text").evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
    assert set(fills) == {"rgb(228, 232, 236)"}


@pytest.mark.slow
def test_without_javascript_the_tables_are_all_there(opened, page):
    tab, _, _ = opened(page, java_script_enabled=False)
    assert tab.locator("table").count() == 14
    assert not tab.locator(".main-svg").count()


@pytest.mark.slow
def test_a_narrow_window_scrolls_tables_and_not_the_page(opened, page):
    tab, _, _ = opened(page, viewport={"width": 400, "height": 800})
    tab.wait_for_selector("#curve-1 .main-svg")
    assert tab.evaluate("document.documentElement.scrollWidth") == 400
