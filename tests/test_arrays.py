import numpy as np
import pytest

from wmel import arrays

torch = pytest.importorskip("torch", reason="install wmel[learned]")


@pytest.fixture(params=["numpy", "torch"])
def library(request):
    return (lambda values: np.asarray(values)) if request.param == "numpy" else (lambda values: torch.tensor(values))


def test_the_namespace_is_the_arrays_own_library(library):
    array = library([1.0])
    assert arrays.namespace_of(array) is (np if isinstance(array, np.ndarray) else torch)


def test_as_like_moves_values_and_keeps_their_type(library):
    moved = arrays.as_like(np.array([1, 2], np.int32), library([0.5]))
    assert type(moved) is type(library([0.5]))
    assert arrays.to_numpy(moved).dtype == np.int32


def test_lookup_reads_rows_of_a_table(library):
    found = arrays.lookup(library([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), library([[2, 0], [1, 1]]))
    assert arrays.to_numpy(found).tolist() == [[[5, 6], [1, 2]], [[3, 4], [3, 4]]]


def test_rows_at_are_the_rows_of_those_numbers(library):
    table = library(np.arange(12.0).reshape(4, 3))
    assert arrays.select_rows(table, np.array([2, 0, 2])).tolist() == [[6, 7, 8], [0, 1, 2], [6, 7, 8]]
    assert arrays.select_rows(table, np.array([], int)).shape == (0, 3)
    with pytest.raises(IndexError):
        arrays.select_rows(table, np.array([4]))


def test_pick_takes_entries_along_the_second_axis(library):
    picked = arrays.pick(library([[10, 11, 12], [20, 21, 22]]), library([[2, 0], [1, 1]]))
    assert arrays.to_numpy(picked).tolist() == [[12, 10], [21, 21]]


def test_best_first_keeps_the_order_of_equals(library):
    order = arrays.order_by_cost(library([[2.0, 1.0, 2.0, 1.0]]))
    assert arrays.to_numpy(order).tolist() == [[1, 3, 0, 2]]


def test_one_hot_marks_the_index(library):
    assert arrays.to_numpy(arrays.one_hot(library([2, 0]), 3)).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_whole_cuts_down(library):
    assert arrays.to_numpy(arrays.to_int32(library([0.0, 0.99, 3.7]))).tolist() == [0, 0, 3]


def test_put_rows_undoes_take_rows_and_leaves_the_original_alone(library):
    memory = {"a": library([1, 2, 3]), "b": library([[1.0], [2.0], [3.0]])}
    rows = np.array([2, 0])
    part = {name: -array for name, array in arrays.take_rows(memory, rows).items()}
    merged = arrays.put_rows(memory, rows, part)
    assert arrays.to_numpy(merged["a"]).tolist() == [-1, 2, -3]
    assert arrays.to_numpy(memory["a"]).tolist() == [1, 2, 3]


def test_join_rows_undoes_a_split(library):
    memory = {"a": library([1, 2, 3])}
    parts = [arrays.take_rows(memory, np.array([0])), arrays.take_rows(memory, np.array([1, 2]))]
    assert arrays.to_numpy(arrays.join_rows(parts)["a"]).tolist() == [1, 2, 3]


def test_no_memory_stays_none():
    assert arrays.take_rows(None, np.array([0])) is None
    assert arrays.put_rows(None, np.array([0]), None) is None
    assert arrays.join_rows([None, None]) is None
