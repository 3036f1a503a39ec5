import numpy as np
import pytest
import torch

from wmel.diagnostics.esnr.measure import compute_esnr
from wmel.errors import BadInput


def pathwise(J, actions):
    (gradient,) = torch.autograd.grad(J(actions).sum(), actions)
    return gradient


def test_it_is_squared_mean_over_variance_averaged_over_coordinates():
    actions = torch.as_tensor(np.random.default_rng(0).normal(0.5, 1.0, (40, 3)))
    found = compute_esnr(actions, lambda a: -(a**2).sum(1), pathwise)
    numbers = -2 * actions.numpy()
    expected = (numbers.mean(axis=0) ** 2 / (numbers.var(axis=0, ddof=1) + 1e-8)).mean()
    assert float(found) == pytest.approx(expected)
    assert not actions.requires_grad


def test_a_linear_return_leaves_the_epsilon_alone():
    found = compute_esnr(torch.randn(10, 2), lambda a: a @ torch.tensor([1.0, 3.0]), pathwise)
    assert float(found) == pytest.approx(1e8 * 5, rel=1e-5)


def test_without_signal_n_samples_give_about_one_nth():
    """(n-1)/(n-3)/n, averaged over 4,000 coordinates of deviation about sqrt(2)/n."""
    actions = torch.randn(50, 4000, generator=torch.Generator().manual_seed(0))
    found = compute_esnr(actions, lambda a: -(a**2).sum(1), pathwise)
    assert float(found) == pytest.approx(49 / 47 / 50, abs=5 * 1.6 / 50 / np.sqrt(4000))


@pytest.mark.parametrize("actions", [torch.zeros(1, 3), torch.zeros(0, 3), torch.tensor(1.0)])
def test_one_row_has_no_variance(actions):
    with pytest.raises(BadInput, match="at least two rows"):
        compute_esnr(actions, lambda a: a.sum(), pathwise)
