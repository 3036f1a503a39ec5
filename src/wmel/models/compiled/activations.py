"""What follows a product, on one row in place: loops that the compiler turns into vector code."""

import math

import numpy as np
from numba import njit

single = np.float32
HALF, ONE, INFINITE = single(0.5), single(1), single(np.inf)
LOWEST, HIGHEST = single(-88.1), single(88.8)  # 127 octaves down and 128 up: the bits of 2^n are then 0, or infinite
LARGE = single(40)  # where mish(x) is x, and the square of e^x still a number
PER_OCTAVE = single(1 / math.log(2))
OCTAVE, REST = single(0.693359375), single(math.log(2) - 0.693359375)  # ln 2; whole multiples of the first are exact
TAYLOR = tuple(single(1 / math.factorial(power)) for power in range(8))  # to 5e-9 within half an octave
EXPONENT_BITS, EXPONENT_OF_ONE = np.int32(23), np.int32(127)
GROUP = 8  # numbers of a simplex

in_any_order = njit(error_model="numpy", fastmath={"reassoc", "nsz", "contract"})  # sums: the same order for every row
in_this_order = njit(error_model="numpy", fastmath={"contract"})


@in_this_order
def _exponential(number, highest):
    """e^x, or 0 where that is no normal number of float32; of a large x as of the highest."""
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


@in_any_order
def layer_norm(row, gain, shift, epsilon):
    """To mean 0 and variance 1, then `gain` times that and `shift` more; numbers too large to square make NaN."""
    total, squares, count = single(0), single(0), single(len(row))
    for place in range(len(row)):
        total += row[place]
    mean = total / count
    for place in range(len(row)):
        squares += (row[place] - mean) * (row[place] - mean)
    scale = ONE / np.sqrt(squares / count + epsilon) if squares < INFINITE else single(np.nan)
    for place in range(len(row)):
        row[place] = (row[place] - mean) * scale * gain[place] + shift[place]


@in_this_order
def mish(row):
    """x tanh(log(1 + e^x)), which is x q / (q + 1) with q = e^x + e^2x / 2."""
    for place in range(len(row)):
        grown = _exponential(row[place], LARGE)
        grown += HALF * grown * grown
        row[place] *= grown / (grown + ONE)


@in_this_order
def silu(row):
    """x / (1 + e^-x)"""
    for place in range(len(row)):
        row[place] /= ONE + _exponential(-row[place], HIGHEST)


@in_this_order
def relu(row):
    """x, or 0 below."""
    for place in range(len(row)):
        row[place] = single(0) if row[place] < single(0) else row[place]


@in_any_order
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
