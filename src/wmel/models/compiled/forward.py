"""Rows through layers: the compiled loops around tiles, norms and activations. They trust the sizes they are given."""

from typing import NamedTuple

import numpy as np
from numba import njit

from wmel.models.compiled.activations import layer_norm, mish, relu, silu, simplex
from wmel.models.compiled.tile import BYTES, LOW, TALL, TILE_COLUMNS, multiply_low, multiply_tall

ACTIVATIONS = ("identity", "mish", "relu", "silu", "simplex")
IDENTITY, MISH, RELU, SILU, SIMPLEX = range(len(ACTIVATIONS))
INPUTS, OUTPUTS, WIDTH, WEIGHTS, BIAS, NORM, ACTIVATION = range(7)  # of a plan; the width is outputs in whole tiles


class Network(NamedTuple):
    """Layers as numbers, which is what compiled code takes."""

    plans: np.ndarray  # [layers,7] sizes, where the numbers of each layer begin (no norm: -1), its activation
    numbers: np.ndarray  # all weights, biases, gains and shifts
    epsilons: np.ndarray  # [layers]


@njit(error_model="numpy")
def apply(network, rows, part, memory, out):
    """Some rows [M,I] -> out [M,O]: a part is its first row and how many, memory is for what lies between layers."""
    first, count, width = part[0], part[1], rows.shape[1]
    for row in range(count):
        for place in range(width):
            memory[0][row * width + place] = rows[first + row, place]
    made, stride, places = _through(network, memory, width, count)
    for row in range(count):
        for place in range(out.shape[1]):
            out[first + row, place] = made[places[row] * stride + place]


@njit(error_model="numpy")
def roll(network, moves, part, memory, trajectory):
    """Some rows of trajectory [H+1,M,Z] from their start on: each step is given the last, a move [H,M,A] beside it."""
    first, count, latent, move = part[0], part[1], trajectory.shape[2], moves.shape[2]
    width = latent + move
    for step in range(len(moves)):
        for row in range(count):
            for place in range(latent):
                memory[0][row * width + place] = trajectory[step, first + row, place]
            for place in range(move):
                memory[0][row * width + latent + place] = moves[step, first + row, place]
        made, stride, places = _through(network, memory, width, count)
        for row in range(count):
            for place in range(latent):
                trajectory[step + 1, first + row, place] = made[places[row] * stride + place]


@njit(error_model="numpy")
def _through(network, memory, stride, count):
    """Different rows through all layers: what the last made, its stride, and which of its rows each row has."""
    source, target, places = memory[0], memory[1], np.empty(count, np.int64)
    different = gather_different(source, stride, places)
    for layer in range(len(network.plans)):
        plan = network.plans[layer]
        _multiply(plan, network.numbers, source, stride, target, different)
        _finish(plan, network.numbers, network.epsilons[layer], target, different)
        source, target, stride = target, source, plan[WIDTH]
    return source, stride, places


@njit(error_model="numpy")
def gather_different(rows, stride, places):
    """Bring rows that differ to the front; how many they are. Plans that begin alike have many rows in common."""
    bits, different = rows.view(np.int32), 0
    for row in range(len(places)):
        found = 0
        while found < different and not _alike(bits, found * stride, row * stride, stride):
            found += 1
        if found == different:
            for place in range(stride):
                rows[found * stride + place] = rows[row * stride + place]
            different += 1
        places[row] = found
    return different


@njit(error_model="numpy")
def _alike(bits, one, other, length):
    place = 0
    while place < length and bits[one + place] == bits[other + place]:
        place += 1
    return place == length


@njit(error_model="numpy")
def tiles(count):
    """How many tall and how many low tiles hold so many rows; never more than whole tall ones would."""
    low = min((-count % TALL) // (TALL - LOW), -(-count // LOW))  # each in place of a tall one leaves out unused rows
    return -(-max(count - low * LOW, 0) // TALL), low


@njit(error_model="numpy")
def _multiply(plan, numbers, source, stride, target, count):
    """Columns of weights one after the other: each is read once and used by all rows, in as few tiles as hold them.

    What a tile holds beyond the rows is worked out and never read.
    """
    tall, low = tiles(count)
    inputs, width = plan[INPUTS], plan[WIDTH]
    weights, bias = numbers[plan[WEIGHTS] :].ctypes.data, numbers[plan[BIAS] :].ctypes.data
    rows, out = source.ctypes.data, target.ctypes.data
    for column in range(0, width, TILE_COLUMNS):
        weighing, more = weights + BYTES * column * inputs, bias + BYTES * column
        for tile in range(tall + low):
            row = min(tile, tall) * TALL + max(tile - tall, 0) * LOW
            start, end = rows + BYTES * row * stride, out + BYTES * (row * width + column)
            if tile < tall:
                multiply_tall(start, stride, weighing, inputs, more, end, width)  # pyright: ignore[reportCallIssue]
            else:
                multiply_low(start, stride, weighing, inputs, more, end, width)  # pyright: ignore[reportCallIssue]


@njit(error_model="numpy")
def _finish(plan, numbers, epsilon, made, rows):
    """Norm and activation of each row."""
    outputs, activation = plan[OUTPUTS], plan[ACTIVATION]
    gain = numbers[plan[NORM] : plan[NORM] + outputs]
    shift = numbers[plan[NORM] + outputs : plan[NORM] + 2 * outputs]
    for place in range(rows):
        row = made[place * plan[WIDTH] : place * plan[WIDTH] + outputs]
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
