import numpy as np
import pytest

from wmel.stats.sequential import equivalent_counts, rules_out_margin


@pytest.mark.parametrize("pairs", [1, 7, 44, 60, 121])
@pytest.mark.parametrize("delta", [0.1, 0.3])
def test_the_region_is_what_the_bets_say_of_every_count(pairs, delta):
    b, c = np.nonzero(np.add.outer(np.arange(pairs + 1), np.arange(pairs + 1)) <= pairs)
    decides = rules_out_margin(b, c, pairs, delta=delta, alpha=0.05)
    expected = set(zip(b[decides], c[decides], strict=True))
    found = list(zip(*equivalent_counts(pairs, delta, 0.05), strict=True))
    assert len(found) == len(set(found)) and set(found) == expected
