from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.study_records import many_gaps, one_gap, study, trained_on_more
from wmel.reports import terminal
from wmel.reports.document import Document, Figure, ListItem, Points, Section, Table, TableCell, TableColumn, Text
from wmel.reports.study_report import study_document
from wmel.reports.terminal import render_terminal, table_lines

WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
NAMES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
NUMBERS = st.floats(-1e6, 1e6).map(lambda value: f"{value:.3f} [{value - 1:+.3f}, {value + 1:+.3f}]")


@st.composite
def tables(draw) -> Table:
    titles = draw(st.lists(st.tuples(NAMES, st.booleans()), min_size=1, max_size=7))
    columns = tuple(TableColumn(title, is_number) for title, is_number in titles)
    cells = st.tuples(*((NUMBERS if column.is_number else NAMES).map(TableCell) for column in columns))
    return Table("caption", columns, tuple(draw(st.lists(cells, min_size=1, max_size=4))))


def characters(texts) -> Counter[str]:
    return Counter("".join("".join(text.split()) for text in texts))


@given(tables())
def test_a_table_loses_no_character_and_breaks_no_number(shown):
    (text,) = table_lines(shown)
    titles = [column.title for column in shown.columns]
    assert characters([text]) == characters([*titles, *(cell.text for row in shown.rows for cell in row)])
    for row in shown.rows:
        assert all(cell.text in text for cell, column in zip(row, shown.columns, strict=True) if column.is_number)


def test_a_name_between_colons_is_no_emoji():
    shown = Table("", (TableColumn(":x:", False),), ((TableCell(":A:"),),))
    assert table_lines(shown) == [":x:\n:A:"]


@given(tables())
def test_the_lines_of_a_table_fit_wherever_its_numbers_do(shown):
    (text,) = table_lines(shown)
    cells = [[row[place].text for row in shown.rows] for place in range(len(shown.columns))]
    longest = [max(map(len, texts)) for texts in cells]
    least = [
        width if column.is_number else min(width, terminal.NARROWEST)
        for column, width in zip(shown.columns, longest, strict=True)
    ]
    needed = sum(least) + 2 * len(least)
    assert max(map(len, text.splitlines())) <= max(needed, terminal.WIDTH_WITHOUT_TERMINAL)


@pytest.mark.parametrize("made", [study, one_gap, trained_on_more, lambda: many_gaps(100)])
def test_the_tables_of_a_study_fit_a_terminal(made):
    for section in study_document(made()).sections:
        for block in section.blocks:
            if isinstance(block, Table) and block.rows and not section.is_detail:
                assert max(map(len, table_lines(block)[0].splitlines())) <= terminal.WIDTH_WITHOUT_TERMINAL


def test_the_answer_comes_first_then_what_is_shared_then_the_sections():
    blocks = [
        Text("text"),
        Points([ListItem("words", "name", "LABEL"), ListItem("alone")]),
        Section("Inner", [Text("t")]),
    ]
    document = Document("title", "The answer.", [Text("shared")], [Section("One", blocks)], "stamp")
    assert render_terminal(document) == [
        "The answer.", "shared", "\nOne", "text", "- name LABEL: words", "- alone", "\nInner", "t",
    ]  # fmt: skip


def test_tables_are_told_apart_by_their_captions():
    one, other = (
        Table(f"table {name}", (TableColumn("name", False),), ((TableCell(name),),)) for name in ("one", "other")
    )
    lines = render_terminal(Document("title", "answer", sections=[Section("Two", [one, other]), Section("One", [one])]))
    assert lines == [
        "answer", "\nTwo", "table one", "name\none", "table other", "name\nother", "\nOne", "name\none",
    ]  # fmt: skip


def test_figures_details_and_empty_sections_are_left_out():
    figure = Figure("curve", "A curve", lambda: pytest.fail("a terminal draws nothing"))
    sections = [
        Section("Curve", [figure]),
        Section("Details", [Text("text")], is_detail=True),
        Section("Empty", [Points([])]),
        Section("Outer", [Section("Details", [Text("text")], is_detail=True)]),
    ]
    assert render_terminal(Document("title", "answer", sections=sections)) == ["answer"]


def test_a_table_shows_short_texts_without_details_and_every_reason_once():
    columns = (TableColumn("name", False), TableColumn("value"), TableColumn("detail", is_detail=True))
    rows = (
        (TableCell("a"), TableCell("1 [0, 2]", short="1"), TableCell("n/a", "a reason of a detail")),
        (TableCell("b"), TableCell("n/a", "it broke"), TableCell("5")),
    )
    text, *notes = table_lines(Table("caption", columns, rows))
    assert [line.split() for line in text.splitlines()] == [["name", "value"], ["a", "1"], ["b", "n/a"]]
    assert notes == ["n/a: it broke (value of b)"]


def test_square_brackets_are_text():
    (text,) = table_lines(Table("caption", (TableColumn("[red]name", False),), ((TableCell("[bold]a[/bold]"),),)))
    assert text.splitlines() == ["[red]name", "[bold]a[/bold]"]
