"""Numbers as distributions over bins that are even in symlog: rewards and values of any size."""

import torch
from torch import Tensor
from torch.nn import functional

BINS, LOWEST, HIGHEST = 101, -10.0, 10.0
WIDTH = (HIGHEST - LOWEST) / (BINS - 1)


def symlog(numbers: Tensor) -> Tensor:
    return numbers.sign() * numbers.abs().log1p()


def symexp(numbers: Tensor) -> Tensor:
    return numbers.sign() * numbers.abs().expm1()


def two_hot(numbers: Tensor) -> Tensor:
    """Weights on the two bins around symlog of each number: [...] -> [...,101]"""
    place = ((symlog(numbers).clamp(LOWEST, HIGHEST) - LOWEST) / WIDTH)[..., None]
    bins = torch.arange(BINS, device=numbers.device, dtype=numbers.dtype)
    return (1 - (place - bins).abs()).clamp_min(0)


def expected(logits: Tensor) -> Tensor:
    """The number a distribution means: [...,101] -> [...]"""
    bins = torch.linspace(LOWEST, HIGHEST, BINS, device=logits.device, dtype=logits.dtype)
    return symexp((logits.softmax(-1) * bins).sum(-1))


def surprise(logits: Tensor, numbers: Tensor) -> Tensor:
    """Cross-entropy of numbers [...] under logits [...,101]: [...]"""
    return -(two_hot(numbers) * functional.log_softmax(logits, -1)).sum(-1)
