import json

import pytest

from tests.conftest import says

METHODS = ("exact score", "miettinen-nurminen", "tango", "agresti-caffo")


def test_the_question_of_the_cpg_paper_is_answered(wmel_command):
    done = wmel_command("power", "--oracle", "0.9", "--learned", "0.5")
    assert done.returncode == 0, done.stderr
    assert "episodes per arm for" in done.stdout and " 19 " in done.stdout


def test_json_holds_the_same(wmel_command):
    line = "power --oracle 0.5 --learned 0.3 --paired --phi 0.3 --n 50 --json"
    rows = {row["question"]: row["answer"] for row in json.loads(wmel_command(*line.split()).stdout)}
    assert rows["episodes per arm for a gap"] == 68
    assert 0.6 < rows["probability that 50 per arm decide"] < 0.8


def test_paper_adds_the_answer_by_the_interval_of_the_cpg_paper(wmel_command):
    line = "power --oracle 0.3 --learned 0 --json"
    ours, theirs = (json.loads(wmel_command(*line.split(), *more).stdout) for more in ((), ("--paper",)))
    assert ours == theirs and [row["answer"] for row in ours[:2]] == [21, 21]


@pytest.mark.parametrize(
    "line",
    [
        "--oracle 0.555 --learned 0.5 --n 20",
        "--oracle 0.9 --learned 0.85 --paired --phi 0.7 --n 30",
        "--oracle 0 --learned 0 --n 5 --half-width 0.0001",
    ],
)
def test_what_no_episodes_find_is_said_with_its_own_limit(wmel_command, line):
    rows = {row["question"]: row for row in json.loads(wmel_command("power", *line.split(), "--json").stdout)}
    assert rows["pairs until an anytime run stops"]["answer"] > 0
    for question, row in rows.items():
        if row["answer"] is None:
            limit = "no gap" if "gap" in question and "smallest" in question else "up to"
            assert limit in row["note"] and ("100000" in row["note"]) == ("+-" in question)


def test_equivalence_shows_how_long_an_anytime_run_takes(wmel_command):
    line = "power --oracle 0.98 --learned 0.98 --equivalence 0.1 --json"
    rows = {row["question"]: row for row in json.loads(wmel_command(*line.split()).stdout)}
    assert rows["episodes per arm for equivalence within 0.1"]["answer"] == 61
    assert 85 < rows["pairs until an anytime run stops"]["answer"] < 90


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--oracle 1.5 --learned 0.5", "rate ... [0, 1], ... 1.5"),
        ("--oracle x --learned 0.5", "'x'"),
        ("--oracle 0.5", "--learned"),
        ("--oracle 0.5 --learned 0.3 --phi 0.2", "only paired arms correlate"),
        ("--oracle 0.5 --learned 0.3 --n 0", "must be positive, got 0"),
        ("--oracle 0.5 --learned 0.3 --power 1", "power must lie in (0, 1)"),
        ("--oracle 0.5 --learned 0.3 --n 1000000000000000000000000", "1000000000000000000000000"),
        ("--oracle 0.5 --learned 0.3 --paired --paper", "CPG paper's interval is"),
        ("--oracle 0.5 --learned 0.5 --equivalence 0.1 --paper", "not for pairs or equivalence"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(wmel_command, line, words):
    done = wmel_command("power", *line.split())
    assert done.returncode == 2 and says(done.stderr, words) and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "methods"),
    [
        ("--oracle 0.9 --learned 0.7", ["exact score", "agresti-caffo"]),
        ("--oracle 0.9 --learned 0.7 --paired --n 20", ["exact score", "exact score"]),
        ("--oracle 0.5 --learned 0.45", ["miettinen-nurminen", "agresti-caffo"]),  # more than 1,000 per arm
    ],
)
def test_the_test_that_decides_is_named(wmel_command, options, methods):
    """It is exact up to 1,000 episodes per arm (`wmel.stats.exact.MAX_EXACT`)."""
    rows = json.loads(wmel_command("power", *options.split(), "--json").stdout)
    assert [name for row in rows for name in METHODS if name in row["note"]] == methods
