"""How narrow an interval the expected rates would give: the documents' planning rule, by Agresti and Caffo."""

from wmel.errors import require
from wmel.stats.agresti_caffo import agresti_caffo

LARGEST = 100_000


def expected_half_width(oracle: float, learned: float, n: int) -> float:
    """Half-width of the 95% interval when n episodes per arm show exactly these rates."""
    low, high = agresti_caffo(oracle * n, n, learned * n, n)
    return float(high - low) / 2


def episodes_for_half_width(oracle: float, learned: float, half_width: float) -> int | None:
    """The fewest episodes per arm whose interval is that narrow; None where 100,000 are too few."""
    require(0 < half_width < 1, "a half-width must lie in (0, 1)", half_width)
    if expected_half_width(oracle, learned, LARGEST) > half_width:
        return None
    low, high = 0, LARGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if expected_half_width(oracle, learned, middle) <= half_width else (middle, high)
    return high
