from tests.reports.counted import arms_of
from wmel.reports.cells import arms_table
from wmel.reports.document import (
    Document,
    Figure,
    Points,
    Section,
    Table,
    TableCell,
    TableColumn,
    Text,
    text_of,
)

NA = "n/a"


def table(*rows: tuple[TableCell, ...], names: int = 1) -> Table:
    columns = (TableColumn("arm", False), TableColumn("steps"), TableColumn("return"))
    return Table("caption", columns, rows, names)


def arm(name: str, *reasons: str) -> tuple[TableCell, ...]:
    return (TableCell(name), *(TableCell(NA if reason else "1.0", reason) for reason in reasons))


def test_every_reason_is_noted_once_with_the_places_it_applies_to():
    notes = table(arm("a", "never won", "no reward"), arm("b", "never won", "broke"), arm("c", "", "no reward")).notes
    assert notes == [
        "n/a: never won (steps of a, b)",
        "n/a: no reward (return of a, c)",
        "n/a: broke (return of b)",
    ]


def test_a_reason_of_several_columns_is_one_note():
    assert table(arm("a", "broke", "broke"), arm("b", "", "")).notes == ["n/a: broke (steps of a; return of a)"]


def test_a_reason_of_every_row_and_of_many_rows_names_none():
    rows = [arm(f"arm {row}", "never won", "broke" if row else "") for row in range(6)]
    assert table(*rows).notes == ["n/a: never won (steps of every row)", "n/a: broke (return of 5 rows)"]


def test_rows_with_several_names_are_noted_by_all_of_them():
    row = (TableCell("maze"), TableCell("mlp"), TableCell(NA, "broke"))
    other = (TableCell("maze"), TableCell("tdmpc2"), TableCell("1"))
    assert table(row, other, names=2).notes == ["n/a: broke (return of maze / mlp)"]


def test_a_table_of_numbers_has_no_notes():
    assert table(arm("a", "", ""), arm("b", "", "")).notes == []


def test_columns_in_which_nothing_was_requested_are_left_out_with_their_notes():
    whole = table(arm("a", "", "no reward"), arm("b", "never won", "no reward"))
    shown = whole.without_empty_columns
    assert [column.title for column in shown.columns] == ["arm", "steps"]
    assert [[cell.text for cell in row] for row in shown.rows] == [["a", "1.0"], ["b", NA]]
    assert shown.notes == ["n/a: never won (steps of b)"]


def test_columns_that_are_undefined_for_different_reasons_are_kept():
    whole = table(arm("a", "never won", ""), arm("b", "broke", ""))
    assert whole.without_empty_columns == whole


def test_a_section_without_rows_points_or_text_is_empty():
    rows = table(arm("a", "", ""))
    for empty in ([], [Points([])], [table()], [Section("inner", [Points([])])]):
        assert Section("outer", empty).is_empty
    for filled in ([Text("text")], [Points.of(["point"])], [rows], [Section("inner", [rows])]):
        assert not Section("outer", filled).is_empty


def test_the_figures_of_a_document_are_those_of_its_sections_in_order():
    figures = [Figure(name, name, lambda: None) for name in "abc"]
    inner = Section("inner", [figures[1]], is_folded=True)
    document = Document("title", "answer", sections=[Section("one", [figures[0], inner, figures[2]])])
    assert document.figures == figures


def test_text_is_a_paragraph_for_each_part_between_empty_lines():
    text = "How far must\na planner  look?\r\n\r\n\n\nTwo worlds.\n"
    assert text_of(text) == [Text("How far must a planner look?"), Text("Two worlds.")]
    assert text_of("  \n\n ") == []


def test_a_policy_that_plans_nothing_has_no_compute_and_no_note_about_it():
    cards = dict(arms_of({"oracle": (2, 4), "random": (0, 4)}).uncompared[0].scorecards)
    undefined = (
        cards["random"]
        .estimates["average_compute_per_decision"]
        .model_copy(update={"value": None, "reason": "the policy declares no compute per plan call"})
    )
    cards["random"] = cards["random"].model_copy(
        update={"estimates": {**cards["random"].estimates, "average_compute_per_decision": undefined}}
    )
    table = arms_table("arms", cards, ()).without_empty_columns
    place = [column.title for column in table.columns].index("compute/decision")
    assert [row[place].text for row in table.rows] == ["1.0", "-"]
    assert not any("compute" in note for note in table.notes)
    alone = arms_table("arms", {"random": cards["random"]}, ()).without_empty_columns
    assert "compute/decision" not in [column.title for column in alone.columns]
