"""What holds for every metric of the catalogue."""

import numpy as np
import pytest

from tests.analysis.tables import table
from wmel.analysis.scorecard import metric
from wmel.catalog import METRICS
from wmel.schema import EpisodeTable, blank_columns


def with_setting(name: str) -> str:
    """A metric with its setting, 20 or a share, at the end of its name: success@20."""
    limits = [one.meaning for one in METRICS.settings_of(name).values()]
    return f"{name}{0.5 if limits[0].at_most == 1 else 20}" if name.endswith("@") else name


NAMES = [with_setting(name) for name in METRICS.parts]
RNG = np.random.default_rng(0)
MIXED = table(
    success=RNG.random(40) < 0.6,
    steps=RNG.integers(1, 60, 40),
    first_success_step=RNG.integers(1, 60, 40),
    plan_calls=RNG.integers(1, 9, 40),
    declared_compute=RNG.integers(1, 9, 40) * 100.0,
    perturbed=RNG.random(40) < 0.7,
    unperturbed_success=(RNG.random(40) < 0.9) * 1.0,
    error=RNG.choice(["", "", "broken"], 40),
    **{"return": RNG.random(40)},
    planning_latencies_ms=[tuple(RNG.random(5)) for _ in range(40)],
)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_is_irrelevant(name):
    found = metric(name)
    shuffled = EpisodeTable({column: values[::-1] for column, values in MIXED.columns.items()})
    assert found(MIXED).value == pytest.approx(found(shuffled).value, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_table_is_undefined_with_a_reason(name):
    estimate = metric(name)(EpisodeTable(blank_columns(0)))
    assert estimate.value is None and estimate.reason


@pytest.mark.parametrize("name", NAMES)
def test_a_value_lies_inside_its_own_interval(name):
    estimate = metric(name)(MIXED)
    assert estimate.low is None or estimate.low <= estimate.value <= estimate.high
