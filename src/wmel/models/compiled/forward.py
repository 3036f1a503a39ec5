"""The forward pass as compiled loops over tiles, norms and activations. The loops do not check sizes."""

from typing import NamedTuple

import numpy as np
from numba import njit

from wmel.models.compiled.activations import layer_norm, mish, relu, silu, simplex
from wmel.models.compiled.tile import BYTES, LOW, TALL, TILE_COLUMNS, multiply_low, multiply_tall

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
