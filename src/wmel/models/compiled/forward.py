"""The forward pass as compiled loops over tiles, norms and activations. The loops do not check sizes.

A tile of a matrix product is held in vector registers, written as LLVM code. Each output is a sum over the inputs in
their order, by fused multiply-adds, so that the result of a row does not depend on the other rows. Weights are packed
with TILE_COLUMNS outputs side by side and read sequentially.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import njit, types
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
    return types.void(*[types.intp] * 7), partial(_multiply_tile, TALL)


@intrinsic
def multiply_low(typing, rows, row_stride, weights, inputs, bias, out, out_stride):
    """The same for fewer rows."""
    return types.void(*[types.intp] * 7), partial(_multiply_tile, LOW)


def _multiply_tile(height: int, context, builder: ir.IRBuilder, signature, arguments):
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


single = np.float32
HALF, ONE, INFINITE = single(0.5), single(1), single(np.inf)
LOWEST, HIGHEST = single(-88.1), single(88.8)  # about 2^-127 and 2^128: the bits of 2^n are then 0 or infinite
LARGE = single(40)  # mish(x) is x from here on, and the square of e^x is finite
PER_OCTAVE = single(1 / math.log(2))
OCTAVE, REST = single(0.693359375), single(math.log(2) - 0.693359375)  # ln 2; integer multiples of OCTAVE are exact
TAYLOR = tuple(single(1 / math.factorial(power)) for power in range(8))  # error 5e-9 within half an octave
EXPONENT_BITS, EXPONENT_OF_ONE = np.int32(23), np.int32(127)
GROUP = 8  # components of a simplex

compile_reordered = njit(error_model="numpy", fastmath={"reassoc", "nsz", "contract"})  # same order for every row
compile_ordered = njit(error_model="numpy", fastmath={"contract"})


@compile_ordered
def _exponential(number, highest):
    """e^x, with x at most `highest`, and 0 where e^x is below the normal numbers of float32."""
    number = LOWEST if number < LOWEST else number
    number = highest if number > highest else number
    octaves = np.floor(number * PER_OCTAVE + HALF)
    rest = (number - octaves * OCTAVE) - octaves * REST
    power = TAYLOR[7]
    power = power * rest + TAYLOR[6]
    power = power * rest + TAYLOR[5]
    power = power * rest + TAYLOR[4]
    power = power * rest + TAYLOR[3]
    power = power * rest + TAYLOR[2]
    power = power * rest + ONE
    power = power * rest + ONE
    return power * np.int32((np.int32(octaves) + EXPONENT_OF_ONE) << EXPONENT_BITS).view(np.float32)


@compile_reordered
def layer_norm(row, gain, shift, epsilon):
    """Normalises a row to mean 0 and variance 1, then applies `gain` and `shift`. Squares that overflow give NaN."""
    total, squares, count = single(0), single(0), single(len(row))
    for place in range(len(row)):
        total += row[place]
    mean = total / count
    for place in range(len(row)):
        squares += (row[place] - mean) * (row[place] - mean)
    scale = ONE / np.sqrt(squares / count + epsilon) if squares < INFINITE else single(np.nan)
    for place in range(len(row)):
        row[place] = (row[place] - mean) * scale * gain[place] + shift[place]


@compile_ordered
def mish(row):
    """x tanh(log(1 + e^x)), which is x q / (q + 1) with q = e^x + e^2x / 2."""
    for place in range(len(row)):
        term = _exponential(row[place], LARGE)
        term += HALF * term * term
        row[place] *= term / (term + ONE)


@compile_ordered
def silu(row):
    """x / (1 + e^-x)"""
    for place in range(len(row)):
        row[place] /= ONE + _exponential(-row[place], HIGHEST)


@compile_ordered
def relu(row):
    """max(x, 0)"""
    for place in range(len(row)):
        row[place] = single(0) if row[place] < single(0) else row[place]


@compile_reordered
def simplex(row):
    """Softmax within groups of 8."""
    for first in range(0, len(row), GROUP):
        top = row[first]
        for place in range(first + 1, first + GROUP):
            top = max(top, row[place])
        for place in range(first, first + GROUP):
            row[place] -= top
    for place in range(len(row)):
        row[place] = _exponential(row[place], HIGHEST)
    for first in range(0, len(row), GROUP):
        total = single(0)
        for place in range(first, first + GROUP):
            total += row[place]
        share = ONE / total
        for place in range(first, first + GROUP):
            row[place] *= share


ACTIVATIONS = ("identity", "mish", "relu", "silu", "simplex")
IDENTITY, MISH, RELU, SILU, SIMPLEX = range(len(ACTIVATIONS))
INPUTS, OUTPUTS, WIDTH, WEIGHTS, BIAS, NORM, ACTIVATION = range(7)  # columns of `plans`


class Network(NamedTuple):
    """Layers as arrays, the input of compiled code."""

    plans: np.ndarray  # [layers,7] sizes, offsets of the layer's numbers (-1: no norm), activation
    numbers: np.ndarray  # all weights, biases, gains and shifts
    epsilons: np.ndarray  # [layers]


@njit(error_model="numpy")
def apply(network, rows, part, memory, out):
    """Some rows [M,I] -> out [M,O]. `part` is the first row and the number of rows, `memory` two buffers for layers."""
    first, count, width = part[0], part[1], rows.shape[1]
    for row in range(count):
        for place in range(width):
            memory[0][row * width + place] = rows[first + row, place]
    result, stride, places = _forward(network, memory, width, count)
    for row in range(count):
        for place in range(out.shape[1]):
            out[first + row, place] = result[places[row] * stride + place]


@njit(error_model="numpy")
def roll(network, moves, part, memory, trajectory):
    """Fills in rows of trajectory [H+1,M,Z]. The input of each step is the last state and the moves [H,M,A]."""
    first, count, latent, move = part[0], part[1], trajectory.shape[2], moves.shape[2]
    width = latent + move
    for step in range(len(moves)):
        for row in range(count):
            for place in range(latent):
                memory[0][row * width + place] = trajectory[step, first + row, place]
            for place in range(move):
                memory[0][row * width + latent + place] = moves[step, first + row, place]
        result, stride, places = _forward(network, memory, width, count)
        for row in range(count):
            for place in range(latent):
                trajectory[step + 1, first + row, place] = result[places[row] * stride + place]


@njit(error_model="numpy")
def _forward(network, memory, stride, count):
    """Applies all layers to the distinct rows: the result, its stride, and the index of each row in the result."""
    source, target, places = memory[0], memory[1], np.empty(count, np.int64)
    distinct = deduplicate_rows(source, stride, places)
    for layer in range(len(network.plans)):
        plan = network.plans[layer]
        _multiply(plan, network.numbers, source, stride, target, distinct)
        _activate(plan, network.numbers, network.epsilons[layer], target, distinct)
        source, target, stride = target, source, plan[WIDTH]
    return source, stride, places


@njit(error_model="numpy")
def deduplicate_rows(rows, stride, places):
    """Moves distinct rows to the front and returns their number. Plans with the same start have many equal rows."""
    bits, distinct = rows.view(np.int32), 0
    for row in range(len(places)):
        found = 0
        while found < distinct and not _are_equal(bits, found * stride, row * stride, stride):
            found += 1
        if found == distinct:
            for place in range(stride):
                rows[found * stride + place] = rows[row * stride + place]
            distinct += 1
        places[row] = found
    return distinct


@njit(error_model="numpy")
def _are_equal(bits, one, other, length):
    place = 0
    while place < length and bits[one + place] == bits[other + place]:
        place += 1
    return place == length


@njit(error_model="numpy")
def count_tiles(count):
    """The numbers of tall and low tiles for a number of rows. Low tiles replace tall ones to reduce unused rows."""
    low = min((-count % TALL) // (TALL - LOW), -(-count // LOW))
    return -(-max(count - low * LOW, 0) // TALL), low


@njit(error_model="numpy")
def _multiply(plan, numbers, source, stride, target, count):
    """Multiplies all rows by the weights, column block by column block, so that weights are read once.

    The rows of a tile beyond the last row are computed and never read.
    """
    tall, low = count_tiles(count)
    inputs, width = plan[INPUTS], plan[WIDTH]
    weights, bias = numbers[plan[WEIGHTS] :].ctypes.data, numbers[plan[BIAS] :].ctypes.data
    rows, out = source.ctypes.data, target.ctypes.data
    for column in range(0, width, TILE_COLUMNS):
        block, added = weights + BYTES * column * inputs, bias + BYTES * column
        for tile in range(tall + low):
            row = min(tile, tall) * TALL + max(tile - tall, 0) * LOW
            start, end = rows + BYTES * row * stride, out + BYTES * (row * width + column)
            if tile < tall:
                multiply_tall(start, stride, block, inputs, added, end, width)  # pyright: ignore[reportCallIssue]
            else:
                multiply_low(start, stride, block, inputs, added, end, width)  # pyright: ignore[reportCallIssue]


@njit(error_model="numpy")
def _activate(plan, numbers, epsilon, products, rows):
    """Applies the norm and the activation to each row."""
    outputs, activation = plan[OUTPUTS], plan[ACTIVATION]
    gain = numbers[plan[NORM] : plan[NORM] + outputs]
    shift = numbers[plan[NORM] + outputs : plan[NORM] + 2 * outputs]
    for place in range(rows):
        row = products[place * plan[WIDTH] : place * plan[WIDTH] + outputs]
        if plan[NORM] >= 0:
            layer_norm(row, gain, shift, epsilon)
        if activation == MISH:
            mish(row)
        elif activation == RELU:
            relu(row)
        elif activation == SILU:
            silu(row)
        elif activation == SIMPLEX:
            simplex(row)
