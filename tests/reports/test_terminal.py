from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.study_records import many_gaps, one_gap, study, trained_on_more
from wmel.reports import terminal
from wmel.reports.document import (
    Document,
    Figure,
    ListItem,
    Points,
    Section,
    Table,
    TableCell,
    TableColumn,
    Text,
    pieces,
)
from wmel.reports.study_report import study_document
from wmel.reports.terminal import GAP, render_terminal, table_lines

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


NARROW = 80


def longest_piece(text: str) -> int:
    """The longest part of a text in which no line may end."""
    return max(len(piece) for word in text.split(" ") for piece in pieces(word))


@given(tables(), st.integers(20, 150))
def test_a_table_breaks_no_word_and_is_as_narrow_as_its_names_and_one_column_allow(shown, width):
    (text,) = table_lines(shown, width)
    lines = text.splitlines()
    least = [
        max(longest_piece(column.title), *(len(cell) if column.is_number else longest_piece(cell) for cell in cells))
        for place, column in enumerate(shown.columns)
        for cells in [[row[place].text for row in shown.rows]]
    ]
    needed = max(sum(least[: shown.names]) + one + GAP * shown.names for one in [0, *least[shown.names :]])
    assert max(map(len, lines)) <= max(needed, width)
    found = {piece for line in lines for word in line.split() for piece in [word, *pieces(word)]}
    for title in (column.title for column in shown.columns):
        assert {piece for word in title.split() for piece in pieces(word)} <= found
    for place in range(shown.names, len(shown.columns)):  # a cell stands in a table as often as it has rows
        assert all(row[place].text in text for row in shown.rows if shown.columns[place].is_number)


@pytest.mark.parametrize("made", [study, one_gap, trained_on_more, lambda: many_gaps(12)])
def test_a_narrow_terminal_has_no_line_that_is_too_long_and_loses_no_word(made):
    document = study_document(made())
    narrow = [line for part in render_terminal(document, width=NARROW) for line in part.splitlines()]
    assert max(map(len, narrow)) <= NARROW
    wide = {word for line in render_terminal(document) for word in line.split()}
    assert {piece for word in wide for piece in pieces(word)} <= {
        piece for line in narrow for word in line.split() for piece in pieces(word)
    }


def test_a_table_that_is_too_wide_goes_on_below_with_its_names():
    columns = (TableColumn("name", False), *(TableColumn(f"long_column_{place}") for place in range(4)))
    rows = (("a", *"1234"), ("b", *"5678"))
    shown = Table("caption", columns, tuple(tuple(map(TableCell, row)) for row in rows))
    (text,) = table_lines(shown, 22)
    assert [line.split() for line in text.splitlines()] == [
        ["long_", "long_"], ["column_", "column_"], ["name", "0", "1"], ["a", "1", "2"], ["b", "5", "6"], [],
        ["long_", "long_"], ["column_", "column_"], ["name", "2", "3"], ["a", "3", "4"], ["b", "7", "8"],
    ]  # fmt: skip
    (whole,) = table_lines(shown, 70)
    assert [line.split() for line in whole.splitlines()][1:] == [["a", *"1234"], ["b", *"5678"]]


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


def test_a_character_of_two_columns_takes_two():
    shown = Table("", (TableColumn("name", False), TableColumn("n")), ((TableCell("日本"), TableCell("1")),))
    assert table_lines(shown) == ["name  n\n日本  1"]


def test_square_brackets_are_text():
    (text,) = table_lines(Table("caption", (TableColumn("[red]name", False),), ((TableCell("[bold]a[/bold]"),),)))
    assert text.splitlines() == ["[red]name", "[bold]a[/bold]"]
