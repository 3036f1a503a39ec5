from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from tests.conftest import examples
from wmel.errors import BadInput
from wmel.models.compiled.forward import ACTIVATIONS, LOW, TALL, count_tiles, deduplicate_rows
from wmel.models.compiled.tdmpc2 import ROWS_PER_CHUNK, CompiledLayers, Layer, Norm

BY_TORCH = {
    "identity": lambda numbers: numbers,
    "mish": functional.mish,
    "relu": functional.relu,
    "silu": functional.silu,
    "simplex": lambda numbers: numbers.unflatten(-1, (-1, 8)).softmax(-1).flatten(-2),
}


def layer(inputs: int, outputs: int, activation: str, normed: bool, seed: int = 0) -> Layer:
    rng = np.random.default_rng(seed)
    weight = rng.normal(0, inputs**-0.5, (outputs, inputs)).astype(np.float32)
    bias, gain, shift = (rng.normal(0, 1, outputs).astype(np.float32) for _ in range(3))
    return Layer(weight, bias, Norm(gain, shift, 1e-3) if normed else None, activation)


def by_torch(layers: list[Layer], rows: np.ndarray) -> np.ndarray:
    """In float64, module by module."""
    made = torch.as_tensor(rows, dtype=torch.float64)
    for one in layers:
        made = functional.linear(made, torch.as_tensor(one.weight).double(), torch.as_tensor(one.bias).double())
        if one.norm is not None:
            gain, shift = (torch.as_tensor(values).double() for values in (one.norm.gain, one.norm.shift))
            made = functional.layer_norm(made, made.shape[-1:], gain, shift, one.norm.epsilon)
        made = BY_TORCH[one.activation](made)
    return made.numpy()


def rows_of(count: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


@examples(60)
@given(
    widths=st.lists(st.integers(1, 5).map(lambda eighths: 8 * eighths), min_size=1, max_size=3),
    inputs=st.integers(1, 40),
    count=st.integers(0, 210),
    activation=st.sampled_from(ACTIVATIONS),
    normed=st.booleans(),
)
def test_layers_are_what_torch_makes_of_them(widths, inputs, count, activation, normed):
    pairs = zip([inputs, *widths], widths, strict=False)
    layers = [layer(*pair, activation, normed, seed) for seed, pair in enumerate(pairs)]
    rows = rows_of(count, inputs)
    made = CompiledLayers.of(layers)(rows)
    assert made.shape == (count, widths[-1]) and made.dtype == np.float32
    np.testing.assert_allclose(made, by_torch(layers, rows), rtol=2e-4, atol=2e-5)


@pytest.fixture(scope="module")
def network() -> CompiledLayers:
    return CompiledLayers.of(
        [layer(11, 40, "mish", True, 1), layer(40, 24, "silu", False, 2), layer(24, 8, "simplex", True, 3)]
    )


def test_neither_company_nor_order_changes_a_bit(network):
    rows = rows_of(3 * ROWS_PER_CHUNK, 11)
    together = network(rows)
    for count in range(1, 120):
        assert np.array_equal(network(rows[:count]), together[:count])
        assert np.array_equal(network(rows[5 : 5 + count]), together[5 : 5 + count])
    order = np.random.default_rng(0).permutation(len(rows))
    assert np.array_equal(network(rows[order]), together[order])


def test_rows_that_are_alike_are_the_same_and_others_are_not_taken_for_them(network):
    """Alike but for the last number, but for the first, and altogether."""
    one = rows_of(1, 11)
    last, first = one.copy(), one.copy()
    last[0, -1] += 1
    first[0, 0] += 1
    mixed = np.concatenate([one, last, one, first, last, one])
    alone = [network(row) for row in (one, last, one, first, last, one)]
    assert np.array_equal(network(mixed), np.concatenate(alone))
    assert len({made.tobytes() for made in alone}) == 3


def test_rows_that_are_alike_are_gathered_once():
    one, two, three = rows_of(3, 5)
    rows, places = np.concatenate([one, two, one, three, two, one]), np.empty(6, np.int64)
    assert deduplicate_rows(rows, 5, places) == 3
    assert places.tolist() == [0, 1, 0, 2, 1, 0]
    assert np.array_equal(rows[:15], np.concatenate([one, two, three]))


def test_a_row_that_is_no_number_spoils_no_other(network):
    rows = rows_of(20, 11)
    spoilt = rows.copy()
    spoilt[7, 3] = np.nan
    made = network(spoilt)
    assert np.isnan(made[7]).all()
    assert np.array_equal(np.delete(made, 7, 0), np.delete(network(rows), 7, 0))


@pytest.mark.parametrize("count", [1, 7, 100, 250])
def test_a_rollout_is_the_layers_step_by_step(count):
    steps, latent, move = 4, 16, 3
    network = CompiledLayers.of([layer(latent + move, 32, "mish", True, 1), layer(32, latent, "simplex", True, 2)])
    start, moves = rows_of(count, latent), rows_of(steps * count, move, 1).reshape(steps, count, move)
    moves[:2] = moves[:2, :1]  # rows begin alike where they start alike
    start[: count // 2] = start[0]
    trajectory = network.rollout(start, moves)
    assert np.array_equal(trajectory[0], start)
    for step in range(steps):
        wanted = network(np.concatenate([trajectory[step], moves[step]], axis=1))
        assert np.array_equal(trajectory[step + 1], wanted)


def test_tiles_hold_every_row_and_fit_where_whole_tall_ones_would():
    for count in range(1, 3 * ROWS_PER_CHUNK):
        tall, low = count_tiles(count)
        assert count <= tall * TALL + low * LOW <= -(-count // TALL) * TALL
        assert tall * TALL + low * LOW < max(count + TALL - LOW, LOW + 1), "fewer are unused than the heights differ by"


@pytest.mark.parametrize(
    "rows",
    [np.zeros((3, 10), "f"), np.zeros((3, 12), "f"), np.zeros(11, "f"), np.zeros((1, 3, 11), "f"), np.zeros((3, 11))],
)
def test_rows_of_another_width_or_kind_are_refused(network, rows):
    with pytest.raises(BadInput, match=r"rows must.*float32.*11"):
        network(rows)


@pytest.mark.parametrize(
    "start, moves", [((2, 16), (4, 2, 4)), ((2, 15), (4, 2, 3)), ((2, 16), (4, 3, 3)), ((2, 16), (2, 3))]
)
def test_a_rollout_of_other_sizes_is_refused(start, moves):
    network = CompiledLayers.of([layer(19, 16, "simplex", True)])
    with pytest.raises(BadInput, match="moves of 3 numbers"):
        network.rollout(np.zeros(start), np.zeros(moves))


def test_what_cannot_be_compiled_is_refused():
    with pytest.raises(BadInput, match="must be one of"):
        CompiledLayers.of([layer(3, 8, "gelu", False)])
    with pytest.raises(BadInput, match="a multiple of 8"):
        CompiledLayers.of([layer(3, 12, "simplex", False)])
    with pytest.raises(BadInput, match="one layer is required"):
        CompiledLayers.of([])
    with pytest.raises(BadInput, match="requires inputs and outputs"):
        CompiledLayers.of([replace(layer(3, 8, "relu", False), weight=np.zeros((8, 0), np.float32))])
    with pytest.raises(BadInput, match=r"8 outputs.*got 9"):
        CompiledLayers.of([layer(3, 8, "relu", False), layer(9, 2, "relu", False)])


@pytest.mark.parametrize("name", ["bias", "gain", "shift"])
def test_numbers_that_do_not_fit_beside_the_weights_are_refused(name):
    good = layer(3, 8, "relu", True)
    short = {name: np.zeros(1, np.float32)}
    bad = replace(good, **short) if name == "bias" else replace(good, norm=replace(good.norm, **short))
    with pytest.raises(BadInput, match="must have 8 numbers, got"):
        CompiledLayers.of([bad])
