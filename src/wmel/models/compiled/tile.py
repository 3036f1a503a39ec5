"""A tile of a matrix product in vector registers, written as LLVM code.

Each output is a sum over the inputs in their order, by fused multiply-adds, so that the result of a row does not depend
on the other rows. Weights are packed with TILE_COLUMNS outputs side by side and read sequentially.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WIDE = get_host_cpu_features().get("avx512f", False)
LANES = 16 if WIDE else 8  # numbers in a vector
TALL, LOW = (12, 8) if WIDE else (6, 4)  # rows of a tile; the sums of a tall one fill most of the 32 or 16 registers
VECTORS, BYTES = 2, 4
TILE_COLUMNS = LANES * VECTORS

ADDRESS, VECTOR = ir.IntType(64), ir.VectorType(ir.FloatType(), LANES)
EVERY_LANE = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)


def pack_weights(weights: np.ndarray) -> np.ndarray:
    """Weights [O,I] in the order of tiles of c columns: [O/c,I,c], with outputs padded by zeros."""
    outputs, inputs = weights.shape
    padded = np.zeros((-(-outputs // TILE_COLUMNS) * TILE_COLUMNS, inputs), np.float32)
    padded[:outputs] = weights
    return np.ascontiguousarray(padded.reshape(-1, TILE_COLUMNS, inputs).transpose(0, 2, 1))


@intrinsic
def multiply_tall(typing, rows, row_stride, weights, inputs, bias, out, out_stride):
    """Addresses of float32: out [r,c] = bias [c] + rows [r,inputs] @ weights [inputs,c]; strides in numbers."""
    return types.void(*[types.intp] * 7), partial(_multiply, TALL)


@intrinsic
def multiply_low(typing, rows, row_stride, weights, inputs, bias, out, out_stride):
    """The same for fewer rows."""
    return types.void(*[types.intp] * 7), partial(_multiply, LOW)


def _multiply(height: int, context, builder: ir.IRBuilder, signature, arguments):
    rows, row_stride, weights, inputs, bias, out, out_stride = arguments
    starts = [_advance(builder, rows, row_stride, row) for row in range(height)]
    first = [_load(builder, bias, BYTES * LANES * column) for column in range(VECTORS)]
    before, loop = builder.block, builder.append_basic_block("inputs")
    after = builder.append_basic_block("done")
    builder.branch(loop)

    builder.position_at_end(loop)
    place = builder.phi(ADDRESS)
    sums = [[builder.phi(VECTOR) for _ in range(VECTORS)] for _ in starts]
    here = builder.add(weights, builder.mul(place, _bytes(BYTES * TILE_COLUMNS)))
    block = [_load(builder, here, BYTES * LANES * column) for column in range(VECTORS)]
    products = []
    for start, row in zip(starts, sums, strict=True):
        number = _broadcast(builder, builder.add(start, builder.mul(place, _bytes(BYTES))))
        products.append(
            [_fused_multiply_add(builder, number, weight, total) for weight, total in zip(block, row, strict=True)]
        )
    following = builder.add(place, _bytes(1))
    builder.cbranch(builder.icmp_signed("<", following, inputs), loop, after)
    place.add_incoming(_bytes(0), before)
    place.add_incoming(following, loop)
    for row, results in zip(sums, products, strict=True):
        for total, start, result in zip(row, first, results, strict=True):
            total.add_incoming(start, before)
            total.add_incoming(result, loop)

    builder.position_at_end(after)
    for row, results in enumerate(products):
        target = _advance(builder, out, out_stride, row)
        for column, result in enumerate(results):
            builder.store(result, _pointer(builder, target, BYTES * LANES * column, VECTOR), align=BYTES)
    return context.get_dummy_value()


def _bytes(count: int) -> ir.Constant:
    return ir.Constant(ADDRESS, count)


def _advance(builder: ir.IRBuilder, address, stride, rows: int):
    """The address of a later row."""
    return builder.add(address, builder.mul(stride, _bytes(BYTES * rows)))


def _pointer(builder: ir.IRBuilder, address, offset: int, kind: ir.Type):
    return builder.inttoptr(builder.add(address, _bytes(offset)), kind.as_pointer())


def _load(builder: ir.IRBuilder, address, offset: int):
    return builder.load(_pointer(builder, address, offset, VECTOR), align=BYTES)


def _broadcast(builder: ir.IRBuilder, address):
    """A vector with one number in every lane."""
    number = builder.load(_pointer(builder, address, 0, ir.FloatType()), align=BYTES)
    lane = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(lane, lane, EVERY_LANE)


def _fused_multiply_add(builder: ir.IRBuilder, left, right, total):
    fma = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return builder.call(
        cgutils.get_or_insert_function(builder.module, fma, f"llvm.fma.v{LANES}f32"), [left, right, total]
    )
