"""Activations and layer norm of one row, in place: loops that the compiler vectorises."""

import math

import numpy as np
from numba import njit

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
