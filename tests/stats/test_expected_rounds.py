import numpy as np
import pytest

from wmel.stats.power import Design
from wmel.stats.sequential import anytime_decision, expected_rounds


@pytest.mark.parametrize(
    ("oracle", "learned", "rounds"), [(0.27, 0, 25.9), (0.9, 0, 7.8), (0.9, 0.5, 24.0), (0.5, 0.53, 145.9)]
)
def test_expected_rounds_are_the_published_ones(oracle, learned, rounds):
    assert expected_rounds(Design(oracle, learned, paired=True)).mean == pytest.approx(rounds, abs=0.06)


def test_giving_up_shortens_a_run_that_cannot_decide_to_the_published_66():
    run = expected_rounds(Design(0.5, 0.53, paired=True), futility=True)
    assert run.mean == pytest.approx(66, abs=0.5)
    assert run.gives_up > 0.9


def test_arms_that_never_differ_are_called_equivalent_at_pair_44():
    run = expected_rounds(Design(1, 1, paired=True))
    assert (run.mean, run.gap, run.equivalence) == (44, 0, 1)


def test_shares_add_up_and_a_wider_margin_decides_sooner():
    run = expected_rounds(Design(0.98, 0.98, paired=True), futility=True)
    assert 0.94 < run.equivalence < run.gap + run.equivalence + run.gives_up <= 1
    assert expected_rounds(Design(0.98, 0.98, paired=True, equivalence=0.2)).mean < 0.6 * run.mean


@pytest.mark.parametrize(("oracle", "learned"), [(0.27, 0), (0.9, 0.5)])
def test_giving_up_hardly_touches_a_run_that_decides(oracle, learned):
    design = Design(oracle, learned, paired=True)
    assert expected_rounds(design, futility=True).mean == pytest.approx(expected_rounds(design).mean, abs=0.01)


@pytest.mark.parametrize("rates", [(0.5, 0.4), (0.98, 0.98)])
def test_expected_rounds_are_what_the_stopping_rule_does(rates):
    """300 runs of the rule itself, pair by pair, against the enumeration (standard error about 2 pairs)."""
    design, cap, rng, lengths = Design(*rates, paired=True), 100, np.random.default_rng(3), []
    b, c = design.discordant
    for _ in range(300):
        draws = rng.choice([1, -1, 0], p=[b, c, 1 - b - c], size=cap)
        for pairs in range(7, cap + 1):
            won, lost = int((draws[:pairs] == 1).sum()), int((draws[:pairs] == -1).sum())
            if pairs == cap or anytime_decision(won, lost, pairs, cap=cap):
                lengths.append(pairs)
                break
    error = np.std(lengths) / 300**0.5
    assert np.mean(lengths) == pytest.approx(expected_rounds(design, cap, futility=True).mean, abs=4 * error)
