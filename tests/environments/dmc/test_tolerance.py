import numpy as np
import pytest
import torch

from tests.environments.dmc.reference import suite  # noqa: F401 - imported quietly there
from wmel.environments.dmc.formula import tolerance

from dm_control.utils import rewards  # isort: skip

NUMBERS = np.linspace(-6, 6, 97)


@pytest.mark.parametrize("sigmoid", ["gaussian", "linear", "quadratic"])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (-1, 0.5), (2, np.inf)])
@pytest.mark.parametrize(("margin", "value_at_margin"), [(0, 0.1), (1, 0.1), (2.5, 0.5)])
def test_it_is_dm_controls(sigmoid, low, high, margin, value_at_margin):
    theirs = rewards.tolerance(NUMBERS, (low, high), margin, sigmoid, value_at_margin)
    np.testing.assert_allclose(tolerance(NUMBERS, low, high, margin, sigmoid, value_at_margin), theirs, atol=1e-14)
    ours = tolerance(torch.tensor(NUMBERS), low, high, margin, sigmoid, value_at_margin)
    np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-14)
