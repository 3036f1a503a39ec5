import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wmel.closed_loop.steps import attribute_errors


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_exactly_the_failing_rows_are_found(case):
    count, bad = case

    def call(rows):
        if bad & set(rows.tolist()):
            raise ValueError(f"rows {rows.tolist()}")
        return rows * 10

    outcome = attribute_errors(call, np.arange(count))
    assert set(outcome.errors) == bad
    assert all(message == f"ValueError: rows [{row}]" for row, message in outcome.errors.items())
    assert outcome.rows.tolist() == [row for row in range(count) if row not in bad]
    for rows, result in outcome.pieces:
        assert np.array_equal(result, rows * 10)


def test_without_a_failure_there_is_one_call():
    calls = []
    attribute_errors(calls.append, np.arange(64))
    assert len(calls) == 1


def test_one_failing_row_of_64_costs_a_dozen_calls_not_64():
    calls = []

    def call(rows):
        calls.append(rows)
        if 17 in rows:
            raise ValueError

    attribute_errors(call, np.arange(64))
    assert len(calls) <= 13
