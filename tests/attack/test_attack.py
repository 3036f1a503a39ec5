"""A small part of `make attack`, with a fixed seed: every kind of input, and the tool itself."""

from dataclasses import replace
from random import Random

import pytest

from tests.attack import mixed
from tests.attack.__main__ import attack, scratch_folder
from tests.attack.cases import Case, Outcome, faults_of, safe_text
from tests.attack.page import Row, page
from tests.attack.values import mangled_data

SEED = 1
SECONDS, INPUTS = 10.0, 200  # whichever ends first


@pytest.mark.slow
def test_no_input_of_a_small_part_fails():
    with scratch_folder() as scratch:
        row = attack(scratch, mixed.NAME, SEED, SECONDS, most=INPUTS)
    found = {fault: cases[0]["line"] for fault, cases in row.failures.items()}
    assert row.inputs and found == {}


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (Outcome(0, "fine\n"), ""),
        (Outcome(2, "", "wmel: no\n"), ""),
        (Outcome(3, "", "x"), "exit code 3"),
        (Outcome(None, escaped='  File "/x/src/wmel/a.py", line 3, in f\nKeyError: 1\n'), "a.py:3 f: KeyError"),
        (Outcome(1, "", "Traceback (most recent call last):\nValueError: x\n"), "ValueError"),
        (Outcome(2, "", "a\nb\nc\nd\n"), "4 lines"),
        (Outcome(2, "", "x" * 5000), "1500"),
        (Outcome(2, "", "wmel: \x1b[31m\n"), "x1b"),
        (Outcome(0, "\x9b\n"), "x9b"),
        (Outcome(2), "exit 2"),
    ],
)
def test_each_kind_of_failure_is_found(outcome, word):
    found = faults_of(outcome)
    assert (len(found) == 1 and word in found[0]) if word else not found


@pytest.mark.parametrize("text", ["/etc/x", "../x", "--output=/etc/x", "a,/b", "~/x", "x=../../y", "/dev/null"])
def test_no_value_leads_out_of_the_scratch_folder(text):
    safe = safe_text(text)
    assert ".." not in safe and "~" not in safe and not any(f"{sign}/" in safe for sign in "=,")
    assert not safe.startswith("/")


def test_a_case_is_that_of_its_seed():
    data = {"a": [1, {"b": None}], "c": "text"}
    assert mangled_data(data, Random("1")) == mangled_data(data, Random("1"))
    assert Case(("show", "a b")).line == "wmel show 'a b'"


def test_the_page_counts_what_was_tried():
    row = Row("kills", "rows survive", inputs=3, kills=7)
    row.add("exit code 3 after SIGKILL", "kills:2", {"line": "wmel study"})
    text = page([row, replace(row, kind="disks", failures={})], seed=5)
    assert "| kills | rows survive | 3 | 7 | 1 |" in text and "| all | | 6 | 14 | 1 |" in text and "seed 5" in text
