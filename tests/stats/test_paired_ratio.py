"""The interval of a ratio of paired rates: at a ratio of 1 its score is McNemar's, and it covers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmel.stats.paired import _ratio_score, paired_ratio

counts = st.tuples(*[st.integers(0, 40)] * 3).filter(any)


@given(counts)
def test_at_a_ratio_of_one_the_score_is_that_of_mcnemar(cells):
    _, b, c = cells
    expected = 0.0 if b == c else (c - b) / (b + c) ** 0.5
    assert _ratio_score(*map(float, cells), 1.0) == pytest.approx(expected, abs=1e-9)


@given(counts, st.floats(0.2, 5))
def test_the_constrained_cells_are_the_most_likely_ones(cells, theta):
    """A second implementation: the likelihood over a grid of the one free share."""
    a, b, c = map(float, cells)
    distance = a + c - theta * (a + b)
    share = np.linspace(max(0.0, (theta - 1) / theta), theta / (1 + theta), 20_001)[1:-1]
    both, oracle = theta - share * (1 + theta), 1 - theta + share * theta
    best = np.argmax(a * np.log(both) + b * np.log(oracle) + c * np.log(share))
    cells_at = (both[best] * (1 - theta) ** 2 + oracle[best] * theta**2 + share[best]) * (a + b + c)
    assert _ratio_score(a, b, c, theta) == pytest.approx(distance / cells_at**0.5, rel=5e-3, abs=1e-9)


@given(counts)
def test_the_interval_holds_the_ratio_and_turns_round_with_the_arms(cells):
    a, b, c = cells
    low, high = paired_ratio(a, b, c)
    if a + b:
        assert low <= (a + c) / (a + b) * (1 + 1e-9) and (a + c) / (a + b) * (1 - 1e-9) <= high
    again = paired_ratio(a, c, b)
    for one, other in ((low, again.high), (high, again.low)):
        assert one * other == pytest.approx(1, rel=1e-3) or {float(one), float(other)} == {0.0, np.inf}


@pytest.mark.parametrize(("oracle", "learned", "n"), [(0.9, 0.7, 30), (0.5, 0.3, 30), (0.8, 0.8, 20)])
def test_it_covers_the_ratio_of_the_rates(oracle, learned, n):
    """250 runs: the standard error of a coverage of .95 is .014."""
    rng, covered = np.random.default_rng(0), 0
    both = oracle * learned
    for a, b, c, _ in rng.multinomial(n, [both, oracle - both, learned - both, 1 - oracle - learned + both], 250):
        low, high = paired_ratio(int(a), int(b), int(c))
        covered += low <= learned / oracle <= high
    assert covered / 250 >= 0.905
