import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.analysis.tables import table
from wmel.analysis.horizon import HorizonSweep
from wmel.analysis.scorecard import scorecard
from wmel.reports.document import Document, Figure, ListItem, Points, Section, Table, TableCell, TableColumn, Text
from wmel.reports.html import render_html
from wmel.reports.markdown import plain, render_markdown, to_markdown_horizon_sweep, to_markdown_scorecard

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TEXTS = st.text(st.sampled_from("ab1 .-+_*`~<>[](){}!#&|\\/:;=\"'lt@$é"), min_size=1, max_size=30)
CARD = scorecard(
    "tabular-world-model",
    table(success=[True] * 30, steps=[31] * 30, first_success_step=[31] * 30, declared_compute=[8000.0] * 30),
)


def words(text: str) -> str:
    return " ".join(text.split())


def texts_of(markdown: str, kind: str) -> list[str]:
    """The text below each element of a kind, which holds nothing but text."""
    tokens, found = PARSER.parse(markdown), []
    for before, token in pairwise(tokens):
        if before.type == f"{kind}_open" and token.type == "inline":
            assert {child.type for child in token.children} == {"text"}
            found.append(words("".join(child.content for child in token.children)))
    return found


@given(TEXTS.filter(lambda text: text.split()))
@example("__init__ _a_ a_b __a")
@example("# a #")
@example("[a](http://b) ![a](b) [a][b]")
@example("[a]: http://b")
@example("1. a")
@example("- - -")
@example("+ a")
@example("> a")
@example("~~~")
@example("~~a~~")
@example("&lt;b&gt; &#60; &amp")
@example("<b>a</b> <!-- a --> <http://a>")
def test_no_text_of_a_document_is_markup(text):
    rows = ((TableCell(text), TableCell(text)),)
    shown = Table(text, (TableColumn(text), TableColumn(text)), rows)
    blocks = [Text(text), Points([ListItem(text), ListItem(text, text, text)]), shown]
    markdown = render_markdown(Document(text, text, [Text(text)], [Section(text, blocks)], text))
    assert texts_of(markdown, "heading") == [words(text)] * 2
    named = words(f"{text} {text}: {text}")
    assert texts_of(markdown, "paragraph") == [*[words(text)] * 4, named, *[words(text)] * 2]
    assert texts_of(markdown, "th") == texts_of(markdown, "td") == [words(text)] * 2


@pytest.mark.parametrize(
    "name", ["https://x.org", "www.x.org", "![a](http://x)", "[a](javascript:x)", "a|b`c`", "&lt;"]
)
def test_no_name_becomes_a_link_of_its_own(name):
    shown = plain(name)
    bare = re.sub(r"\\.", "", shown)  # without what is escaped
    assert "://" not in bare and "www." not in bare and "](" not in bare
    assert texts_of(shown, "paragraph") == [name]


def test_what_no_terminal_and_no_file_can_hold_is_escaped():
    hostile = Document("\udcff", "\x1b[2J", [Text("\u202e")], [Section("a", [Text("\x00")])])
    for text in (render_markdown(hostile), render_html(hostile)):
        assert text.replace("\n", "").isprintable() and text.encode()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["a`<b>", "a\n# b"])
def test_a_name_does_not_leave_its_heading(name):
    card = scorecard(name, table(success=[True] * 3, steps=[3] * 3, first_success_step=[3] * 3))
    tokens = [token.type for token in PARSER.parse(to_markdown_scorecard(card))]
    assert tokens.count("heading_open") == 1
    assert texts_of(to_markdown_scorecard(card), "heading") == [words(f"Scorecard: {name}")]


def test_ordinary_words_and_numbers_stay_as_they_are():
    for text in ("dmc_cartpole plan_horizon=10", "gap +0.67 [+0.26, +0.86]", "-0.55", "C# 5 < 6 & 7", "mlp[size=5]"):
        assert plain(text) == text


def test_a_document_is_its_title_its_answer_and_its_sections_in_order():
    inner = Section("Inner", [Points.of(["point"])])
    sections = [Section("One", [Text("text"), inner]), Section("Empty", [Points([])])]
    text = render_markdown(Document("Title", "The answer.", [Text("shared")], sections, "stamp"))
    assert text == "# Title\n\nThe answer.\n\nshared\n\n## One\n\ntext\n\n### Inner\n\n- point\n\nstamp\n"


def test_figures_are_left_out_with_their_legends_and_headings():
    figure = Figure("curve", "A curve", lambda: pytest.fail("Markdown draws nothing"), "Dotted: the best.")
    text = render_markdown(Document("title", "answer", sections=[Section("Curve", [figure])]))
    assert text == "# title\n\nanswer\n"


def test_a_table_has_its_caption_its_cells_and_every_reason_once():
    columns = (TableColumn("name", False), TableColumn("value", is_detail=True))
    rows = ((TableCell("a"), TableCell("1.5", value=1.5, short="1")), (TableCell("b"), TableCell("n/a", "it broke")))
    text = render_markdown(Document("title", "answer", sections=[Section("One", [Table("caption", columns, rows)])]))
    expected = (
        "caption\n\n| name | value |\n| :--- | ---: |\n| a | 1.5 |\n| b | n/a |\n\n- n/a: it broke (value of b)\n"
    )
    assert text.endswith(f"## One\n\n{expected}")


def test_a_sweep_has_the_published_columns():
    with pytest.warns(DeprecationWarning, match="to_markdown"):
        text = to_markdown_horizon_sweep(HorizonSweep("tabular-world-model", (15,), (CARD,)))
    lines = text.splitlines()
    assert lines[0] == "### Horizon sweep: `tabular-world-model`"
    assert lines[2] == (
        "| plan_horizon | success_rate | success_95ci | avg_steps | latency_ms_per_call | latency_95ci "
        "| compute_per_decision |"
    )
    assert lines[4] == "| 15 | 1.000 | [0.886, 1.000] | 31.0 | n/a | n/a | 258.065 |"
    assert "H* = 15" in lines[-1]


def test_a_scorecard_says_n_a_and_why():
    with pytest.warns(DeprecationWarning, match="to_markdown"):
        text = to_markdown_scorecard(CARD)
    assert "| success_rate | 1.000 | [0.886, 1.000] | 30 | wilson |" in text
    assert r"| average_planning_latency_ms | n/a | \- | 0 | no decision was timed |" in text
    assert not re.search(r"\bnan\b|None", text)
