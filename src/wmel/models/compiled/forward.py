"""The forward pass as compiled loops over tiles, norms and activations. The loops do not check sizes."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from wmel.models.compiled.tile import BYTES, LOW, TALL, TILE_COLUMNS, multiply_low, multiply_tall

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
