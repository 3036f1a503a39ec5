import base64
import hashlib
import html
import re
import sys

import pytest

from tests.reports.outline import Outline
from tests.reports.study_records import HOSTILE, many_gaps, one_gap, study
from wmel.errors import MissingExtra
from wmel.reports.document import Document, Figure, ListItem, Points, Section, Table, TableCell, TableColumn, Text
from wmel.reports.html import render_html
from wmel.reports.study_report import study_document

go = pytest.importorskip("plotly.graph_objects", reason="figures need plotly: install wmel[report]")

WOUND = f'{HOSTILE}" onload="alert(2)'


def page_of(record) -> str:
    return render_html(study_document(record))


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(study())


def without_scripts(page: str) -> str:
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def figure(place: str, title: str = "A figure") -> Figure:
    return Figure(place, title, lambda: go.Figure(go.Scatter(x=[title], y=[1])))


def ids(page: str) -> list[str]:
    return [attributes["id"] for _, attributes in Outline(page).found if "id" in attributes]


def test_a_document_without_figures_runs_nothing():
    page = render_html(Document("title", "The answer.", [Text("header")], [Section("One", [Text("text")])], "stamp"))
    Outline(page)
    assert "script-src 'none'" in page and "<script" not in page and "<noscript" not in page
    assert '<header><h1>title</h1><p class="answer">The answer.</p><p>header</p></header>' in page
    assert "<footer>stamp</footer>" in page


def test_sections_and_blocks_without_content_are_left_out():
    empty = [Points([]), Table("caption", (TableColumn("a"),), ()), Section("Inner", [])]
    page = render_html(
        Document("title", "answer", sections=[Section("One", empty), Section("Two", [*empty, Text("t")])])
    )
    assert page.count("<section") == 1 and "One" not in page and "Inner" not in page
    assert "<table" not in page and "<ul" not in page


def test_a_section_holds_its_blocks_in_order_and_its_figures_name_their_data():
    blocks = [Text("before"), figure("a-0"), Section("Inner", [Text("after")])]
    page = render_html(Document("title", "answer", sections=[Section("One", blocks)]))
    figure_pattern = r'<div class="figure" id="a-0".*<script type="application/json" data-figure="a-0">{.*}</script>'
    assert re.search(
        rf"<h2[^>]*>One</h2><p>before</p>{figure_pattern}.*<h3[^>]*>Inner</h3><p>after</p>", page, re.DOTALL
    )
    assert page.count("<noscript>") == 1


def test_plain_text_is_escaped_wherever_it_stands():
    table = Table(WOUND, (TableColumn(WOUND),), ((TableCell("n/a", WOUND),), (TableCell(WOUND),)), names=0)
    blocks = [Text(WOUND), Points([ListItem(WOUND, WOUND, WOUND)]), Points.of([WOUND]), table, figure("a-0", WOUND)]
    sections = [Section(WOUND, blocks), Section(WOUND, [Text(WOUND)], is_folded=True)]
    page = render_html(Document(WOUND, WOUND, [Text(WOUND)], sections, WOUND))
    outline = Outline(page)
    assert len(outline.all("script")) == 3 and "alert(1)</script>" not in page
    assert not any("onload" in attributes for _, attributes in outline.found)
    (place,) = (one for one in outline.all("div") if one.get("class") == "figure")
    assert place["aria-label"] == WOUND


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("dmc_cartpole", "dmc_cartpole"),  # short enough for every column
        ("random-shooting", "random-<wbr>shooting"),
        ("objective.action_weight=0.12345", "objective.<wbr>action_<wbr>weight=<wbr>0.12345"),
        ("td1[rollout=decoded]", "td1[<wbr>rollout=<wbr>decoded]"),
        ("<long-name>/a&b", "&lt;long-<wbr>name&gt;/a&amp;b"),
        ("[+0.123456,-0.123456]", "[+0.123456,-0.123456]"),
    ],
)
def test_a_long_name_may_break_behind_its_marks_and_a_number_may_not(name, shown):
    page = render_html(Document(name, f"The answer: {name}", [Text(name)]))
    assert f"<h1>{shown}</h1>" in page and f"<p>{shown}</p>" in page and f"The answer: {shown}" in page
    assert f"<title>{html.escape(name)}</title>" in page


def test_no_two_elements_share_an_id_and_headings_are_named_by_their_own():
    inner = [Section("Same", [figure("curve")]), Section("Same", [figure("same")]), Section("日本", [Text("a")])]
    sections = [Section("Same", inner), Section("Curve", [Text("a")]), Section("日本", [Text("a")])]
    page = render_html(Document("title", "answer", sections=sections))
    found = ids(page)
    assert len(found) == len(set(found)) == 6 + 2
    assert {one["aria-labelledby"] for one in Outline(page).all("section")} == set(found) - {"curve", "same"}


def test_a_table_of_a_page_holds_what_the_document_holds():
    rows = tuple((TableCell(f"name {row}"), TableCell(f"{row}.5", value=row + 0.5, short="0")) for row in range(3))
    table = Table("caption", (TableColumn("name", False), TableColumn("value", is_detail=True)), rows)
    page = render_html(Document("title", "answer", sections=[Section("One", [table])]))
    assert re.findall(r'<th scope="row">(.*?)</th><td class="number">(.*?)</td>', page) == [
        (name.text, value.text) for name, value in rows
    ]
    assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', page) == ["name", "value"]


def test_a_page_is_well_formed_and_names_its_language_and_tables(page):
    outline = Outline(page)
    assert outline.all("html") == [{"lang": "en"}]
    assert len(outline.all("table")) == len(outline.all("caption")) == 3 + 6 + 1
    assert {one["scope"] for one in outline.all("th")} == {"row", "col"}
    regions = [one for one in outline.all("div") if one.get("class") == "scroll"]
    assert len(regions) == len(outline.all("table"))
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in regions)
    assert len(outline.all("details")) == len(outline.all("summary")) == 6 + 1


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


def test_every_figure_is_inlined_once(page):
    places = [one["data-figure"] for one in Outline(page).all("script") if "data-figure" in one]
    assert places == ["forest-0", "curve-0", "curve-1"]
    assert [one for one in ids(page) if one in places] == places


def test_a_page_says_what_the_record_says(page):
    text = without_scripts(page)
    for words in (
        "<h1>horizons</h1>", "Two worlds, two models.", "960 stored episodes", "the disk was full",
        "does not hold after correction for 11 comparisons", "cannot be pooled",
        "wmel 0.1.0, 2026-01-02T03:04:05+00:00", "Cannot tell: ", "<noscript>",
    ):  # fmt: skip
        assert words in text


def test_hostile_names_of_a_study_are_escaped_wherever_they_stand():
    record = study(models=(WOUND, "mlp"), name=WOUND, about=WOUND, refused=[WOUND], rescored=WOUND, wmel_version=WOUND)
    page = page_of(record)
    outline = Outline(page)
    assert len(outline.all("script")) == 2 + 3
    assert not any("onload" in attributes for _, attributes in outline.found)
    assert "alert(1)</script>" not in page


def test_a_study_without_gaps_is_a_page_without_figures():
    page = page_of(study(comparisons=[], missing=[], refused=[]))
    assert "No gap was measured." in page and "<script" not in page and "script-src 'none'" in page


def test_a_page_of_many_gaps_folds_their_sentences():
    folded = "<summary>Each gap in words</summary>"
    assert folded in page_of(many_gaps(100))
    assert folded not in page_of(study()) and "Each gap in words" in page_of(study())
    assert "Each gap in words" not in page_of(one_gap())  # the answer is its sentence


def test_without_plotly_the_page_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    for name in ("figures", "figure_style"):
        monkeypatch.delitem(sys.modules, f"wmel.reports.{name}", raising=False)
    with pytest.raises(MissingExtra, match=r"the HTML report needs plotly: install wmel\[report\]"):
        page_of(one_gap())


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
    tab, noticed, _ = opened(page_of(study(models=(HOSTILE, "mlp"), name=HOSTILE)))
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
    assert tab.locator("table").count() == 10
    assert not tab.locator(".main-svg").count()


@pytest.mark.slow
def test_a_narrow_window_scrolls_tables_and_not_the_page(opened, page):
    tab, _, _ = opened(page, viewport={"width": 400, "height": 800})
    tab.wait_for_selector("#curve-1 .main-svg")
    assert tab.evaluate("document.documentElement.scrollWidth") == 400


@pytest.mark.slow
@pytest.mark.parametrize("record", [study, one_gap])
def test_a_phone_shows_the_gap_with_its_interval_and_whole_titles(opened, record):
    """At 390 pixels: the title of an axis, a name beside it and a caption lie within the window."""
    tab, noticed, _ = opened(render_html(study_document(record())), viewport={"width": 390, "height": 900})
    tab.wait_for_selector("#forest-0 .main-svg")
    boxes = tab.evaluate(
        """[...document.querySelectorAll('#forest-0 .xtitle, #forest-0 .ytick text, caption span')]
           .map((one) => one.getBoundingClientRect()).filter((one) => one.width)
           .map((one) => [one.left, one.right])"""
    )
    assert boxes and all(left >= 0 and right <= 390 for left, right in boxes)
    heads = tab.evaluate(
        """Object.fromEntries([...document.querySelector('table').querySelectorAll('thead th')]
           .map((one) => [one.innerText, one.getBoundingClientRect().right]))"""
    )
    assert max(heads["gap"], heads["95% interval"]) <= 390 and not noticed["complaints"]


BROKEN_WORDS = """[...document.querySelectorAll('h1, .answer, strong, tbody th')].flatMap((one) => {
  const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), found = [];
  let before = null;
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (let place = 0; place < node.length; place += 1) {
      const range = document.createRange();
      range.setStart(node, place);
      range.setEnd(node, place + 1);
      const [box] = range.getClientRects(), mark = node.data[place];
      if (!box || !box.width) { before = null; continue; }
      if (before && box.top > before.top + 3 && !" -_/.=[,".includes(before.mark)) found.push(one.innerText);
      before = { top: box.top, mark };
    }
  return found;
})"""


@pytest.mark.slow
def test_a_phone_breaks_long_names_at_their_marks_alone(opened):
    names = ("td1-seed0-of-three[rollout=decoded]", "my_models.cartpole_dynamics")
    record = study(models=names, name="cartpole: my_models.cartpole_dynamics_of_five_seeds")
    tab, _, _ = opened(page_of(record), viewport={"width": 390, "height": 844})
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.locator("tbody th").count() > 9
    assert tab.evaluate(BROKEN_WORDS) == []
