import pytest

import wmel
from tests.conftest import says


def test_a_conforming_part_is_said_to_conform(wmel_command):
    done = wmel_command("check", "cem")
    assert done.returncode == 0
    assert says(done.stdout.splitlines()[0], "cem may be used ... planner ... all 9 promises")


def test_a_broken_part_fails_with_sentences(wmel_command):
    done = wmel_command("check", "tests.testing.broken_parts:OptimisticPlanner")
    assert done.returncode == 1
    answer, _, first, *_ = done.stdout.splitlines()
    assert says(answer, "OptimisticPlanner may not be used ... breaks 3 of 9")
    assert says(first, "FAIL A candidate ... NaN")


def test_python_begins_with_the_same_answer(wmel_command):
    assert str(wmel.check("cem")).splitlines()[0] == wmel.check("cem").answer == repr(wmel.check("cem")).splitlines()[0]


def test_a_part_in_the_current_folder_is_found(wmel_command, tmp_path):
    (tmp_path / "mine.py").write_text("from wmel.planners.cem import CEM\nplanner = CEM(plan_horizon=4)\n")
    assert wmel_command("check", "mine:planner", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "no part named 'nothing'"),
        ("cemm", "did you mean 'cem'?"),
        ("no_such_module:x", "cannot import 'no_such_module:x'"),
        ("wmel.catalog:nothing", "module 'wmel.catalog' has no 'nothing'"),
        ("wmel.closed_loop.run:THREADS", "is none of environment"),
    ],
)
def test_what_cannot_be_checked_is_one_clear_line(wmel_command, name, words):
    done = wmel_command("check", name)
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1
