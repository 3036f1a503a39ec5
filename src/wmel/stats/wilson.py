"""Wilson's score interval for a proportion."""

import math

from wmel.errors import BadInput
from wmel.stats.estimate import Estimate

Z95 = 1.96  # the documents' quantile


def wilson(successes: int, trials: int) -> Estimate:
    """Share of successes with its 95% interval, which stays inside [0, 1] and never collapses."""
    if trials == 0:
        return Estimate.undefined("no trials")
    if not 0 <= successes <= trials:
        raise BadInput(f"successes must lie between 0 and {trials} trials, got {successes}")
    share = successes / trials
    weight = Z95**2 / trials
    centre = (share + weight / 2) / (1 + weight)
    half = Z95 * math.sqrt(share * (1 - share) / trials + weight / (4 * trials)) / (1 + weight)
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == trials else centre + half
    return Estimate(share, low, high, trials, "wilson")
