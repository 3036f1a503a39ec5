"""The only file that knows both numpy and torch: what the rest needs to work on either."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

Array = Any  # a numpy array or a torch tensor; shapes are written beside the names


def namespace_of(array: Array) -> Any:
    """The library an array belongs to: `numpy` or `torch`."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, torch.Tensor) else np


def as_like(values: Array, like: Array) -> Array:
    """Values in the library and on the device of `like`; their own dtype is kept."""
    xp = namespace_of(like)
    if xp is np:
        return to_numpy(values)
    return xp.as_tensor(values, device=like.device)


def to_numpy(array: Array) -> np.ndarray:
    """The array as numpy, wherever it was."""
    return np.asarray(array) if namespace_of(array) is np else array.detach().cpu().numpy()


def whole(array: Array) -> Array:
    """Non-negative numbers cut down to int32."""
    xp = namespace_of(array)
    return array.astype(np.int32) if xp is np else array.to(xp.int32)


def float32(array: Array) -> Array:
    """The numbers, or the truth values, as float32."""
    return array.astype(np.float32) if namespace_of(array) is np else array.float()


def lookup(table: Array, index: Array) -> Array:
    """Rows of table [n,k] at index [...] (integers within 0..n-1) -> [...,k]."""
    if namespace_of(table) is not np:
        return table[index.long()]
    planes = np.ascontiguousarray(table.T).take(index, axis=1, mode="clip")
    return planes.transpose(*range(1, planes.ndim), 0)  # column by column: numpy copies short rows slowly


def rows_at(array: Array, rows: np.ndarray) -> Array:
    """Rows of array [n,...] by their numbers [M] -> [M,...]; an index would take numpy ten times as long."""
    if namespace_of(array) is np:
        return array.take(rows, axis=0)
    return array.index_select(0, as_like(rows, array))


def one_hot(index: Array, count: int) -> Array:
    """Integers [...] -> float32 [...,count]."""
    return lookup(as_like(np.eye(count, dtype=np.float32), index), index)


def write_rows(memory: Any, count: int, rows: np.ndarray, part: Any) -> Any:
    """The memory of `count` rows with `part` written into the given rows, in place; made if there was none."""
    if part is None:
        return memory
    if memory is None:
        memory = {name: blank_rows(array, count) for name, array in part.items()}
    for name, array in part.items():
        memory[name][rows] = array
    return memory


def blank_rows(like: Array, count: int) -> Array:
    """Zeros [count,...] of the library, device and type of like [B,...]."""
    shape = (count, *like.shape[1:])
    if namespace_of(like) is np:
        return np.zeros(shape, like.dtype)
    return like.new_zeros(shape)


def contiguous(array: Array) -> Array:
    """The array laid out in memory in the order of its axes."""
    return np.ascontiguousarray(array) if namespace_of(array) is np else array.contiguous()


def copied(array: Array) -> Array:
    """A copy that may be written to."""
    return array.copy() if namespace_of(array) is np else array.clone()


def pick(array: Array, index: Array) -> Array:
    """Entries along axis 1: array [B,N,...], index [B,K] -> [B,K,...]."""
    rows = namespace_of(index).arange(len(index), device=index.device)[:, None]
    return array[rows, index]


def best_first(costs: Array) -> Array:
    """Order of each row, lowest cost first; equal costs keep their order. [B,N] -> [B,N]."""
    xp = namespace_of(costs)
    if xp is np:
        return np.argsort(costs, axis=1, kind="stable")
    return xp.argsort(costs, dim=1, stable=True)


def take_rows(memory: Any, rows: np.ndarray) -> Any:
    """Rows of a dict of arrays [B,...]; None stays None."""
    if memory is None:
        return None
    return {name: array[rows] for name, array in memory.items()}


def join_rows(parts: list[Any]) -> Any:
    """The rows of several memories, one after the other; None where they are None."""
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    return {name: namespace_of(array).concatenate([part[name] for part in parts]) for name, array in parts[0].items()}


def copied_memory(memory: Any) -> Any:
    """A memory whose arrays may be written to; None stays None."""
    return None if memory is None else {name: copied(array) for name, array in memory.items()}


def put_rows(memory: Any, rows: np.ndarray, part: Any) -> Any:
    """The memory with `part` written over the given rows; the original is left alone."""
    if memory is None or part is None:
        return part
    merged = copied_memory(memory)
    for name, array in part.items():
        merged[name][rows] = array
    return merged


def near(array: Array) -> Array:
    """The array as numpy, which is quick with few numbers, unless it lies on a device of its own."""
    return to_numpy(array) if namespace_of(array) is np or array.device.type == "cpu" else array


def only_values(array: Array, beside: Array | None = None) -> AbstractContextManager[object]:
    """While only values of what comes of an array are wanted: torch keeps no books, unless the array asks for it.

    `beside` is what else goes in, and may be of torch where the array is not.
    """
    xp = namespace_of(array if beside is None else beside)
    asked = namespace_of(array) is not np and array.requires_grad
    return nullcontext() if xp is np or asked else xp.inference_mode()


def keep_freed_memory() -> None:
    """Have glibc reuse large freed blocks instead of returning them: page faults cost half of a small plan call.

    Freeing one large block raises its threshold for the rest of the process (mallopt(3), M_MMAP_THRESHOLD).
    """
    np.empty(24 << 20, np.uint8)
