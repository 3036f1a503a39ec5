"""A tile of a matrix product, held in vector registers: the one piece of machine code written out here.

Each output is summed over the inputs in their order, one fused multiply-add after the other, so a row has the same
bits in any company. Weights come packed, TILE_COLUMNS outputs side by side, and are read once from first to last.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WIDE = get_host_cpu_features().get("avx512f", False)
LANES = 16 if WIDE else 8  # numbers of a vector
TALL, LOW = (12, 8) if WIDE else (6, 4)  # rows of a tile: the sums of tall ones fill most of 32 registers, or of 16
VECTORS, BYTES = 2, 4
TILE_COLUMNS = LANES * VECTORS

ADDRESS, VECTOR = ir.IntType(64), ir.VectorType(ir.FloatType(), LANES)
EVERY_LANE = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)


def packed(weights: np.ndarray) -> np.ndarray:
    """Weights [O,I] as tiles of c columns read them: [O/c,I,c], outputs filled up with zeros."""
    outputs, inputs = weights.shape
    filled = np.zeros((-(-outputs // TILE_COLUMNS) * TILE_COLUMNS, inputs), np.float32)
    filled[:outputs] = weights
    return np.ascontiguousarray(filled.reshape(-1, TILE_COLUMNS, inputs).transpose(0, 2, 1))


@intrinsic
def multiply_tall(typing, rows, row_stride, weights, inputs, bias, out, out_stride):
    """Addresses of float32: out [r,c] = bias [c] + rows [r,inputs] @ weights [inputs,c]; strides in numbers."""
    return types.void(*[types.intp] * 7), partial(_multiply, TALL)


@intrinsic
def multiply_low(typing, rows, row_stride, weights, inputs, bias, out, out_stride):
    """The same of fewer rows."""
    return types.void(*[types.intp] * 7), partial(_multiply, LOW)


def _multiply(height: int, context, builder: ir.IRBuilder, signature, arguments):
    rows, row_stride, weights, inputs, bias, out, out_stride = arguments
    starts = [_moved(builder, rows, row_stride, row) for row in range(height)]
    first = [_loaded(builder, bias, BYTES * LANES * column) for column in range(VECTORS)]
    before, loop = builder.block, builder.append_basic_block("inputs")
    after = builder.append_basic_block("done")
    builder.branch(loop)

    builder.position_at_end(loop)
    place = builder.phi(ADDRESS)
    sums = [[builder.phi(VECTOR) for _ in range(VECTORS)] for _ in starts]
    here = builder.add(weights, builder.mul(place, _bytes(BYTES * TILE_COLUMNS)))
    weighing = [_loaded(builder, here, BYTES * LANES * column) for column in range(VECTORS)]
    made = []
    for start, row in zip(starts, sums, strict=True):
        number = _broadcast(builder, builder.add(start, builder.mul(place, _bytes(BYTES))))
        made.append([_fused(builder, number, weight, total) for weight, total in zip(weighing, row, strict=True)])
    following = builder.add(place, _bytes(1))
    builder.cbranch(builder.icmp_signed("<", following, inputs), loop, after)
    place.add_incoming(_bytes(0), before)
    place.add_incoming(following, loop)
    for row, results in zip(sums, made, strict=True):
        for total, start, result in zip(row, first, results, strict=True):
            total.add_incoming(start, before)
            total.add_incoming(result, loop)

    builder.position_at_end(after)
    for row, results in enumerate(made):
        target = _moved(builder, out, out_stride, row)
        for column, result in enumerate(results):
            builder.store(result, _pointer(builder, target, BYTES * LANES * column, VECTOR), align=BYTES)
    return context.get_dummy_value()


def _bytes(count: int) -> ir.Constant:
    return ir.Constant(ADDRESS, count)


def _moved(builder: ir.IRBuilder, address, stride, rows: int):
    """So many rows on."""
    return builder.add(address, builder.mul(stride, _bytes(BYTES * rows)))


def _pointer(builder: ir.IRBuilder, address, offset: int, kind: ir.Type):
    return builder.inttoptr(builder.add(address, _bytes(offset)), kind.as_pointer())


def _loaded(builder: ir.IRBuilder, address, offset: int):
    return builder.load(_pointer(builder, address, offset, VECTOR), align=BYTES)


def _broadcast(builder: ir.IRBuilder, address):
    """One number in every lane."""
    number = builder.load(_pointer(builder, address, 0, ir.FloatType()), align=BYTES)
    lane = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(lane, lane, EVERY_LANE)


def _fused(builder: ir.IRBuilder, left, right, total):
    fma = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return builder.call(
        cgutils.get_or_insert_function(builder.module, fma, f"llvm.fma.v{LANES}f32"), [left, right, total]
    )
