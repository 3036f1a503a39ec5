"""Array functions that work on numpy and torch alike. No other file depends on both libraries."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

REAL = "biuf"  # kinds of dtypes of real numbers
Array = Any  # a numpy array or a torch tensor; comments give the shapes


def namespace_of(array: Array) -> Any:
    """The library of an array: `numpy` or `torch`."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, torch.Tensor) else np


def is_real(array: Array) -> bool:
    """Whether it is an array of real numbers. A masked array is not: its mask would be lost."""
    if type(array) is np.ndarray:
        return array.dtype.kind in REAL
    if namespace_of(array) is not np:
        return not array.is_complex()
    kind = getattr(getattr(array, "dtype", None), "kind", None)
    return kind is not None and kind in REAL and not isinstance(array, np.ma.MaskedArray)


def describe_array(array: object) -> str:
    """The type of a value, with the dtype of an array, for a message."""
    dtype = getattr(array, "dtype", None)
    return type(array).__name__ + ("" if dtype is None else f" of dtype {dtype}")


def as_like(values: Array, like: Array) -> Array:
    """The values in the library and on the device of `like`. The dtype does not change."""
    xp = namespace_of(like)
    if xp is np:
        return to_numpy(values)
    return xp.as_tensor(values, device=like.device)


def to_numpy(array: Array) -> np.ndarray:
    """The array as a numpy array, from any library and device."""
    return np.asarray(array) if namespace_of(array) is np else array.detach().cpu().numpy()


def to_int32(array: Array) -> Array:
    """Non-negative numbers rounded down to int32."""
    xp = namespace_of(array)
    return array.astype(np.int32) if xp is np else array.to(xp.int32)


def to_float32(array: Array) -> Array:
    """Numbers or booleans as float32."""
    return array.astype(np.float32) if namespace_of(array) is np else array.float()


def lookup(table: Array, index: Array) -> Array:
    """Rows of table [n,k] at index [...] (integers in 0..n-1) -> [...,k]."""
    if namespace_of(table) is not np:
        return table[index.long()]
    planes = np.ascontiguousarray(table.T).take(index, axis=1, mode="clip")
    return planes.transpose(*range(1, planes.ndim), 0)  # by column: numpy copies short rows slowly


def select_rows(array: Array, rows: np.ndarray) -> Array:
    """The given rows [M] of array [n,...] -> [M,...]. For numpy this is ten times as fast as indexing."""
    if namespace_of(array) is np:
        return array.take(rows, axis=0)
    return array.index_select(0, as_like(rows, array))


def one_hot(index: Array, count: int) -> Array:
    """Integers [...] -> float32 [...,count]."""
    return lookup(as_like(np.eye(count, dtype=np.float32), index), index)


def write_rows(memory: Any, count: int, rows: np.ndarray, part: Any) -> Any:
    """Writes `part` into the given rows of a memory in place. A missing memory is created with `count` rows."""
    if part is None:
        return memory
    if memory is None:
        memory = {name: _zeros(array, count) for name, array in part.items()}
    for name, array in part.items():
        memory[name][rows] = array
    return memory


def _zeros(like: Array, count: int) -> Array:
    """Zeros [count,...] in the library, on the device and of the dtype of like [B,...]."""
    shape = (count, *like.shape[1:])
    if namespace_of(like) is np:
        return np.zeros(shape, like.dtype)
    return like.new_zeros(shape)


def to_contiguous(array: Array) -> Array:
    """The array in C order: laid out in memory in the order of its axes."""
    return np.ascontiguousarray(array) if namespace_of(array) is np else array.contiguous()


def copy_array(array: Array) -> Array:
    """A writable copy."""
    return array.copy() if namespace_of(array) is np else array.clone()


def pick(array: Array, index: Array) -> Array:
    """Entries at an index along axis 1: array [B,N,...], index [B,K] -> [B,K,...]."""
    rows = namespace_of(index).arange(len(index), device=index.device)[:, None]
    return array[rows, index]


def order_by_cost(costs: Array) -> Array:
    """The index that sorts each row, lowest cost first [B,N] -> [B,N]. Equal costs keep their order."""
    xp = namespace_of(costs)
    if xp is np:
        return np.argsort(costs, axis=1, kind="stable")
    return xp.argsort(costs, dim=1, stable=True)


def take_rows(memory: Any, rows: np.ndarray) -> Any:
    """Rows of a dict of arrays [B,...]. None stays None."""
    if memory is None:
        return None
    return {name: array[rows] for name, array in memory.items()}


def join_rows(parts: list[Any]) -> Any:
    """The rows of several memories, concatenated in order. None where they are None."""
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    return {name: namespace_of(array).concatenate([part[name] for part in parts]) for name, array in parts[0].items()}


def copy_memory(memory: Any) -> Any:
    """A copy of a memory with writable arrays. None stays None."""
    return None if memory is None else {name: copy_array(array) for name, array in memory.items()}


def put_rows(memory: Any, rows: np.ndarray, part: Any) -> Any:
    """A copy of the memory with `part` written into the given rows. The original does not change."""
    if memory is None or part is None:
        return part
    merged = copy_memory(memory)
    for name, array in part.items():
        merged[name][rows] = array
    return merged


def to_numpy_if_on_cpu(array: Array) -> Array:
    """The array as numpy if it is on the CPU, where numpy is faster for small arrays."""
    return to_numpy(array) if namespace_of(array) is np or array.device.type == "cpu" else array


def no_grad_unless_required(array: Array, beside: Array | None = None) -> AbstractContextManager[object]:
    """Disables autograd unless the array requires it. Without torch it does nothing.

    `beside` is a second input of the computation. It may be a torch tensor where the array is not.
    """
    xp = namespace_of(array if beside is None else beside)
    requires_grad = namespace_of(array) is not np and array.requires_grad
    return nullcontext() if xp is np or requires_grad else xp.inference_mode()


def keep_freed_memory() -> None:
    """Makes glibc reuse large freed blocks. Otherwise page faults take half the time of a small plan call.

    Freeing one large block raises the threshold for the rest of the process (mallopt(3), M_MMAP_THRESHOLD).
    """
    np.empty(24 << 20, np.uint8)
