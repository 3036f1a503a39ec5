"""Runs with checkpoints, and the table beside them."""

import math

import pytest

from wmel.api.over_training import checkpoints_of, read_beside, runs_of
from wmel.errors import BadInput

RUNS = {"a": {1: None, 10: None}, "b": {1: None}}


@pytest.fixture
def table(tmp_path):
    def written(text: str):
        (tmp_path / "table.csv").write_text(text, encoding="utf-8")
        return tmp_path / "table.csv"

    return written


def made(folder, *names):
    for name in names:
        (folder / "checkpoints" / name).mkdir(parents=True)
        (folder / "checkpoints" / name / "card.json").write_text("{}")
    return folder


def test_checkpoints_come_in_the_order_of_their_updates(tmp_path):
    made(tmp_path, "0000100", "0000001", "20", "best")
    (tmp_path / "checkpoints" / "0000500").mkdir()
    assert list(checkpoints_of(tmp_path)) == [1, 20, 100]


def test_runs_of_one_name_or_with_one_checkpoint_twice_are_refused(tmp_path):
    one, other = made(tmp_path / "x" / "seed0", "1"), made(tmp_path / "y" / "seed0", "1")
    assert list(runs_of([one])) == ["seed0"]
    with pytest.raises(BadInput, match="name of its own"):
        runs_of([one, other])
    with pytest.raises(BadInput, match="same number of updates"):
        checkpoints_of(made(other, "01"))
    (tmp_path / "empty" / "checkpoints").mkdir(parents=True)
    with pytest.raises(BadInput, match="holds no checkpoint"):
        checkpoints_of(tmp_path / "empty")


def test_numbers_are_found_by_run_column_and_updates(table):
    found = read_beside(table("updates,return,run,cpg\n1,2.5,a,\n\n7, 3 , a ,0.1\n1,4,b,-1e3\n"), RUNS)
    assert found["a"]["return"] == {1: 2.5, 7: 3.0} and found["b"] == {"return": {1: 4.0}, "cpg": {1: -1000.0}}
    assert math.isnan(found["a"]["cpg"][1])
    assert read_beside(None, RUNS) == {"a": {}, "b": {}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it has none"),
        ("run,updates\na,1\n", "must have the columns"),
        ("run,step,x\na,1,1\n", "must have the columns"),
        ("run,updates,x,x\na,1,1,1\n", "must have the columns"),
        ("run,updates,x\n", "no line"),
        ("run,updates,x\na,5,1\n", "updates of a checkpoint"),
        ("run,updates,x\nc,1,1\n", "'c'; those read here:"),
        ("run,updates,x\na,1.5,1\n", "2.*got '1.5'"),
        ("run,updates,x\na,1,good\n", "x must be.*'good'"),
        ("run,updates,x\na,1,nan\n", "x must be finite"),
        ("run,updates,x\na,1\n", "line 2 .*2 cells, and the header 3"),
        ("run,updates,x\na,1,1\na,1,2\n", "3.*1 updates"),
        ('run,updates,x\n"a,1,1\n', "cannot read"),
    ],
)
def test_a_bad_table_is_refused_with_the_place(table, text, words):
    with pytest.raises(BadInput, match=words):
        read_beside(table(text), RUNS)


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"gone.csv: No such file"):
        read_beside(tmp_path / "gone.csv", RUNS)
