import pytest

from wmel.errors import BadInput
from wmel.stats.power import episodes_for_half_width, expected_half_width
from wmel.stats.proportions import agresti_caffo


@pytest.mark.parametrize(("oracle", "half"), [(0.3, 0.0742), (0.5, 0.0805), (0.7, 0.0742), (0.9, 0.0505)])
def test_the_documents_half_widths_at_150_episodes(oracle, half):
    assert expected_half_width(oracle, 0, 150) == pytest.approx(half, abs=5e-5)


@pytest.mark.parametrize(
    ("half_width", "needed"), [(0.05, (327, 387, 327, 153)), (0.10, (84, 98, 84, 46)), (0.02, (2021, 2403, 2021, 881))]
)
def test_the_documents_episodes_for_a_half_width(half_width, needed):
    assert tuple(episodes_for_half_width(oracle, 0, half_width) for oracle in (0.3, 0.5, 0.7, 0.9)) == needed


def test_the_documents_close_pair_needs_765():
    assert episodes_for_half_width(0.5, 0.533, 0.05) == 765


@pytest.mark.parametrize(("oracle", "learned", "clears"), [(94, 92, False), (94, 78, True), (78, 75, False)])
def test_which_of_the_documents_gaps_clear_zero_at_100_episodes(oracle, learned, clears):
    assert (agresti_caffo(oracle, 100, learned, 100).low > 0) == clears


def test_what_no_budget_reaches():
    assert episodes_for_half_width(0.5, 0.5, 0.0001) is None
    with pytest.raises(BadInput, match="half-width"):
        episodes_for_half_width(0.5, 0.5, 0)
