"""The same seeds give the same rows as at commit 4f769b4; see write_rows.py for when that may change."""

import pytest

from tests.golden.cases import CASES
from tests.golden.encoding import differing_rows
from tests.golden.machine import differences
from tests.golden.stored import read_rows

COMPUTATIONS = [(name, block) for name, case in CASES.items() for block in case.blocks]


@pytest.mark.parametrize(("name", "block"), COMPUTATIONS, ids=[f"{name}-{block}" for name, block in COMPUTATIONS])
def test_the_same_seeds_give_the_stored_rows(name, block):
    case, stored = CASES[name], read_rows()
    elsewhere = differences(stored["machine"], case.depends_on)
    if elsewhere:
        pytest.skip(f"'{name}' is stored for another machine: {'; '.join(elsewhere)}")
    found = case.compute(block)
    for column, rows in stored["cases"][name].items():
        assert column in found, f"'{name}' has no column '{column}' any more"
        differing = differing_rows(rows, found[column])
        assert not differing, f"'{name}' in blocks of {block}, column '{column}': " + "; ".join(differing)


def test_every_case_is_stored_and_every_stored_case_exists():
    assert set(read_rows()["cases"]) == set(CASES)
