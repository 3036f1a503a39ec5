import math

import numpy as np
import pytest
import torch

from wmel.models.tdmpc2.network import symexp, symlog, two_hot, two_hot_cross_entropy, two_hot_mean

SIZES = [0.0, 1e-8, 1e-3, 0.1, 0.2214, 1.0, math.e - 1, 7.0, 123.4, 5_000.0, 22_000.0]
NUMBERS = torch.tensor([sign * size for size in SIZES for sign in (1, -1)], dtype=torch.double)
HIGHEST = math.exp(10) - 1


def test_symlog_and_symexp_undo_each_other():
    torch.testing.assert_close(symexp(symlog(NUMBERS)), NUMBERS, rtol=1e-12, atol=0)
    logs = torch.linspace(-10, 10, 77, dtype=torch.double)
    torch.testing.assert_close(symlog(symexp(logs)), logs, rtol=1e-12, atol=0)
    assert [float(symlog(number)) for number in NUMBERS] == pytest.approx(
        [math.copysign(math.log(1 + abs(number)), number) for number in NUMBERS.tolist()], abs=1e-12
    )


def test_the_weights_are_on_the_two_bins_around_a_number():
    weights = two_hot(NUMBERS)
    assert weights.shape == (len(NUMBERS), 101) and (weights >= 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(NUMBERS))
    for number, row in zip(NUMBERS.tolist(), weights, strict=True):
        place = math.copysign(math.log1p(abs(number)), number) / 0.2 + 50
        used = row.nonzero().flatten().tolist()
        assert len(used) <= 2 and used[-1] - used[0] <= 1
        assert used[0] - 1e-9 <= place <= used[-1] + 1 + 1e-9
        assert float(row @ torch.arange(101.0, dtype=torch.double)) == pytest.approx(place, abs=1e-9)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.double, 1e-10), (torch.float32, 2e-4)])
def test_a_number_is_what_its_weights_mean(dtype, tolerance):
    numbers = NUMBERS.to(dtype)
    again = two_hot_mean(two_hot(numbers).log())
    torch.testing.assert_close(again, numbers, rtol=tolerance, atol=1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("number", [HIGHEST, HIGHEST + 1, 1e9, math.inf])
def test_what_is_larger_than_the_last_bin_is_the_last_bin(number):
    numbers = torch.tensor([number, -number], dtype=torch.double)
    wanted = torch.zeros(2, 101, dtype=torch.double)
    wanted[0, 100] = wanted[1, 0] = 1
    torch.testing.assert_close(two_hot(numbers), wanted, rtol=0, atol=1e-9)
    torch.testing.assert_close(two_hot_mean(two_hot(numbers).log()), numbers.sign() * HIGHEST)


def test_a_number_that_is_none_has_no_weights():
    assert two_hot(torch.tensor([math.nan])).isnan().any()
    assert two_hot_cross_entropy(torch.zeros(1, 101), torch.tensor([math.nan])).isnan().all()


def test_zero_logits_mean_zero():
    assert two_hot_mean(torch.zeros(3, 4, 101)).abs().max() < 1e-5
    shifted = torch.full((2, 101), 77.0)  # a constant changes no share
    assert two_hot_mean(shifted).abs().max() < 1e-5


def test_a_number_between_bins_weighs_them_by_nearness():
    """symlog = .05: a quarter of the way from the bin at 0 to the bin at .2."""
    weights = two_hot(torch.tensor(math.expm1(0.05), dtype=torch.double))
    assert weights[50].item() == pytest.approx(0.75) and weights[51].item() == pytest.approx(0.25)


def test_surprise_is_cross_entropy():
    rng = np.random.default_rng(0)
    logits, numbers = rng.normal(size=(7, 3, 101)) * 3, rng.normal(size=(7, 3)) * 50
    made = two_hot_cross_entropy(torch.as_tensor(logits), torch.as_tensor(numbers))
    assert made.shape == (7, 3)
    for row in range(7):
        for column in range(3):
            place = math.copysign(math.log1p(abs(numbers[row, column])), numbers[row, column]) / 0.2 + 50
            lower = math.floor(place)
            logs = logits[row, column] - math.log(np.exp(logits[row, column]).sum())
            wanted = -(lower + 1 - place) * logs[lower] - (place - lower) * logs[lower + 1]
            assert float(made[row, column]) == pytest.approx(wanted, rel=1e-9)


def test_least_surprising_is_the_number_itself():
    """The gradient of the cross-entropy vanishes where the logits are the logs of its weights."""
    numbers = torch.tensor([0.3, -40.0])
    logits = (two_hot(numbers) + 1e-9).log().requires_grad_()
    two_hot_cross_entropy(logits, numbers).sum().backward()
    assert logits.grad is not None and logits.grad.abs().max() < 1e-5
