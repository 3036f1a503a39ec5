"""Linear layers, each perhaps layer-normed and activated, as one compiled pass over rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from wmel.errors import require
from wmel.models.compiled.activations import GROUP, layer_norm, mish, relu, silu, simplex
from wmel.models.compiled.tile import BYTES, LOW, TALL, TILE_COLUMNS, multiply_low, multiply_tall, packed

ACTIVATIONS = ("identity", "mish", "relu", "silu", "simplex")
IDENTITY, MISH, RELU, SILU, SIMPLEX = range(len(ACTIVATIONS))
INPUTS, OUTPUTS, WIDTH, WEIGHTS, BIAS, NORM, ACTIVATION = range(7)  # of a plan; the width is outputs in whole tiles
ROWS_AT_ONCE = 96  # what a layer makes of so many stays in a core's second cache


@dataclass(frozen=True, eq=False)
class Norm:
    gain: np.ndarray  # [O]
    shift: np.ndarray  # [O]
    epsilon: float


@dataclass(frozen=True, eq=False)
class Layer:
    weight: np.ndarray  # [O,I]
    bias: np.ndarray  # [O]
    norm: Norm | None
    activation: str


@dataclass(frozen=True, eq=False)
class CompiledLayers:
    """Callable on float32 rows [M,I] -> [M,O]. Neither the number of rows nor their order changes a bit of one."""

    plans: np.ndarray  # [layers,7] sizes, where the numbers of each layer begin (no norm: -1), its activation
    numbers: np.ndarray  # all weights, biases, gains and shifts
    epsilons: np.ndarray  # [layers]

    @classmethod
    def of(cls, layers: Sequence[Layer]) -> "CompiledLayers":
        plans, numbers, place = [], [], 0
        for layer in layers:
            outputs, inputs = layer.weight.shape
            require(layer.activation in ACTIVATIONS, f"known are {', '.join(ACTIVATIONS)}", layer.activation)
            require(layer.activation != "simplex" or outputs % GROUP == 0, f"groups of {GROUP} numbers", outputs)
            width = -(-outputs // TILE_COLUMNS) * TILE_COLUMNS
            bias = np.zeros(width, np.float32)
            bias[:outputs] = layer.bias
            parts = [packed(layer.weight).ravel(), bias]
            parts += [] if layer.norm is None else [layer.norm.gain, layer.norm.shift]
            weights, biases, norm = place, place + len(parts[0]), place + len(parts[0]) + width
            activation = ACTIVATIONS.index(layer.activation)
            plans.append([inputs, outputs, width, weights, biases, -1 if layer.norm is None else norm, activation])
            numbers, place = [*numbers, *parts], place + sum(map(len, parts))
        epsilons = np.array([0 if layer.norm is None else layer.norm.epsilon for layer in layers], np.float32)
        together = np.concatenate(numbers).astype(np.float32, copy=False)
        return cls(np.array(plans, np.int64), together, epsilons)

    @cached_property
    def inputs(self) -> int:
        return int(self.plans[0, INPUTS])

    @cached_property
    def outputs(self) -> int:
        return int(self.plans[-1, OUTPUTS])

    @cached_property
    def widest(self) -> int:
        return int(self.plans[:, [INPUTS, WIDTH]].max())

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        require(rows.ndim == 2 and rows.shape[1] == self.inputs, f"rows must have {self.inputs} numbers", rows.shape)
        rows = np.ascontiguousarray(rows, np.float32)
        out = np.empty((len(rows), self.outputs), np.float32)
        for first, count, source, target in self._parts(len(rows)):
            _apply(self.plans, self.numbers, self.epsilons, rows, first, count, source, target, out)
        return out

    def rollout(self, start: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """What is made is the next input, a move beside it: start [M,O], moves [H,M,A] -> [H+1,M,O], start included."""
        self._check_rollout(start, moves)
        moves = np.ascontiguousarray(moves, np.float32)
        trajectory = np.empty((len(moves) + 1, *start.shape), np.float32)
        trajectory[0] = start
        for first, count, source, target in self._parts(len(start)):
            _roll(self.plans, self.numbers, self.epsilons, moves, first, count, source, target, trajectory)
        return trajectory

    def _check_rollout(self, start: np.ndarray, moves: np.ndarray) -> None:
        """The compiled code trusts its sizes."""
        fits = start.ndim == 2 and moves.ndim == 3 and moves.shape[1] == len(start)
        fits = fits and start.shape[1] == self.outputs and start.shape[1] + moves.shape[2] == self.inputs
        said = f"from rows of {self.outputs}, moves of {self.inputs - self.outputs} numbers can be rolled out"
        require(fits, said, (start.shape, moves.shape))

    def _parts(self, rows: int) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """First row and number of rows of each part, and memory for what lies between two layers."""
        if rows:
            parts = -(-rows // ROWS_AT_ONCE)
            most = -(-rows // (parts * TALL)) * TALL
            source, target = np.empty((2, most * self.widest), np.float32)
            for first in range(0, rows, most):
                yield first, min(most, rows - first), source, target


@njit(error_model="numpy")
def _apply(plans, numbers, epsilons, rows, first, count, source, target, out):
    width = rows.shape[1]
    for row in range(count):
        for place in range(width):
            source[row * width + place] = rows[first + row, place]
    made, stride, places = _through(plans, numbers, epsilons, source, target, width, count)
    for row in range(count):
        for place in range(out.shape[1]):
            out[first + row, place] = made[places[row] * stride + place]


@njit(error_model="numpy")
def _roll(plans, numbers, epsilons, moves, first, count, source, target, trajectory):
    latent, move = trajectory.shape[2], moves.shape[2]
    width = latent + move
    for step in range(len(moves)):
        for row in range(count):
            for place in range(latent):
                source[row * width + place] = trajectory[step, first + row, place]
            for place in range(move):
                source[row * width + latent + place] = moves[step, first + row, place]
        made, stride, places = _through(plans, numbers, epsilons, source, target, width, count)
        for row in range(count):
            for place in range(latent):
                trajectory[step + 1, first + row, place] = made[places[row] * stride + place]


@njit(error_model="numpy")
def _through(plans, numbers, epsilons, source, target, stride, count):
    """Different rows through all layers: the memory of the last, its stride, and which of its rows each row has."""
    places = np.empty(count, np.int64)
    different = _gather_different(source, stride, places)
    for layer in range(len(plans)):
        plan = plans[layer]
        _multiply(plan, numbers, source, stride, target, different)
        _finish(plan, numbers, epsilons[layer], target, different)
        source, target, stride = target, source, plan[WIDTH]
    return source, stride, places


@njit(error_model="numpy")
def _gather_different(rows, stride, places):
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
