"""Quantiles of the normal distribution."""

from statistics import NormalDist

from wmel.errors import require_share

Z95 = 1.96  # the documents' quantile, used wherever their numbers must reproduce


def two_sided(confidence: float) -> float:
    """The z of a two-sided interval: 1.96 for 95%."""
    require_share(confidence, "confidence")
    return NormalDist().inv_cdf(0.5 + confidence / 2)
