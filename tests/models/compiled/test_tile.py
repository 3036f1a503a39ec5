import numpy as np
import pytest

from wmel.models.compiled.forward import TILE_COLUMNS, pack_weights
from wmel.models.compiled.tdmpc2 import CompiledLayers, Layer


@pytest.mark.parametrize("outputs", [1, 15, 16, 17, 32, 33, 70])
def test_packed_weights_lie_by_columns_of_a_tile_then_input(outputs):
    weights = np.arange(outputs * 3, dtype=np.float32).reshape(outputs, 3)
    laid_out = pack_weights(weights)
    assert laid_out.shape == (-(-outputs // TILE_COLUMNS), 3, TILE_COLUMNS)
    for output in range(outputs):
        assert laid_out[output // TILE_COLUMNS, :, output % TILE_COLUMNS].tolist() == weights[output].tolist()
    assert laid_out.sum() == weights.sum(), "what fills up is zero"


@pytest.mark.parametrize("inputs", [1, 2, 7, 129])
@pytest.mark.parametrize("outputs", [1, 6, 16, 33])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 25, 50])
def test_products_of_whole_numbers_are_exact(count, inputs, outputs):
    """Whole numbers this small have no rounding in float32, whatever the order of the sums."""
    rng = np.random.default_rng(count)
    rows, weights = rng.integers(-9, 10, (count, inputs)), rng.integers(-9, 10, (outputs, inputs))
    bias = rng.integers(-9, 10, outputs)
    product = CompiledLayers.of([Layer(weights.astype(np.float32), bias.astype(np.float32), None, "identity")])
    assert product(rows.astype(np.float32)).tolist() == (rows @ weights.T + bias).tolist()


def linear(weights: list, bias: float) -> CompiledLayers:
    return CompiledLayers.of([Layer(np.array([weights], np.float32), np.array([bias], np.float32), None, "identity")])


def test_each_output_is_summed_over_its_inputs_in_order_with_one_rounding_each():
    """2^24 swallows a 1 added to it but not a product that is added unrounded: the order and the fusing show."""
    ones, large = np.ones((1, 4), np.float32), 2.0**24
    assert linear([large, 1, 1, -large], 0)(ones).item() == 0.0
    assert linear([large, -large, 1, 1], 0)(ones).item() == 2.0
    nearly = 1 + 2.0**-12  # its square is 1 + 2^-11 + 2^-24, which float32 cannot hold
    assert linear([nearly], -(1 + 2.0**-11))(np.array([[nearly]], np.float32)).item() == 2.0**-24
