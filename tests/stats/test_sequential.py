import numpy as np
import pytest
from scipy.integrate import quad

from wmel.errors import BadInput
from wmel.stats.power import Design
from wmel.stats.sequential import (
    anytime_decision,
    confidence_sequence,
    equivalent_counts,
    expected_stop,
    is_look,
    log_wealth,
    log_wealth_at_zero,
    probability_of_deciding,
    rules_out_margin,
)


def test_the_published_value():
    assert confidence_sequence(40, 0, 150) == pytest.approx((0.172, 0.393), abs=5e-4)


def test_the_first_possible_stop_is_round_seven():
    assert log_wealth_at_zero(6, 0) < np.log(20) < log_wealth_at_zero(7, 0)


@pytest.mark.parametrize(("b", "c", "n", "gap"), [(3, 1, 10, 0.1), (5, 0, 8, -0.3), (2, 6, 30, 0.5), (0, 0, 4, 0.2)])
def test_the_mixture_is_the_integral_over_stakes(b, c, n, gap):
    least, most = -1 / (1 - gap), 1 / (1 + gap)

    def bet(angle):  # u = (1 + cos angle) / 2 has an arcsine density
        stake = least + (1 + np.cos(angle)) / 2 * (most - least)
        return (1 + stake * (1 - gap)) ** b * (1 - stake * (1 + gap)) ** c * (1 - stake * gap) ** (n - b - c)

    expected = quad(bet, 0, np.pi)[0] / np.pi
    assert np.exp(log_wealth(b, c, n, gap)) == pytest.approx(expected, rel=1e-9)


def test_against_no_gap_the_closed_form_holds():
    for b, c, n in ((4, 2, 20), (0, 7, 9), (30, 30, 100)):
        assert log_wealth(b, c, n, 0.0) == pytest.approx(float(log_wealth_at_zero(b, c)), abs=1e-9)


def test_swapping_the_arms_flips_the_interval():
    low, high = confidence_sequence(9, 2, 40)
    assert confidence_sequence(2, 9, 40) == pytest.approx((-high, -low), abs=1e-9)


def test_stopping_whenever_it_decides_errs_less_often_than_alpha():
    """2,000 runs of up to 300 pairs at equal rates, stopped at the first round that excludes 0."""
    rng, stopped = np.random.default_rng(0), 0
    for phi_like in (0.25, 0.5):
        draws = rng.choice([-1, 0, 1], p=[phi_like / 2, 1 - phi_like, phi_like / 2], size=(1000, 300))
        b, c = (draws == 1).cumsum(axis=1), (draws == -1).cumsum(axis=1)
        stopped += int((log_wealth_at_zero(b, c) > np.log(20)).any(axis=1).sum())
    assert stopped / 2000 < 0.05


@pytest.mark.parametrize("counts", [(5, 6, 10), (0, 0, 0)])
def test_pairs_that_cannot_be_are_refused(counts):
    with pytest.raises(BadInput, match="must fit into"):
        confidence_sequence(*counts)


@pytest.mark.parametrize(
    ("counts", "words"), [((-1, 0, 5), "not be negative"), ((1.5, 0, 5), "whole"), ((True, 0, 5), "whole")]
)
def test_counts_that_are_none_are_refused(counts, words):
    with pytest.raises(BadInput, match=words):
        confidence_sequence(*counts)


@pytest.mark.parametrize("alpha", [0, 1, float("nan"), "x"])
def test_an_alpha_that_is_no_share_is_refused(alpha):
    with pytest.raises(BadInput, match="alpha must lie in"):
        confidence_sequence(1, 0, 5, alpha=alpha)


@pytest.mark.parametrize(
    ("counts", "decision"),
    [((6, 0, 6), None), ((7, 0, 7), "gap"), ((0, 7, 7), "gap"), ((0, 0, 20), None), ((0, 0, 200), "equivalence")],
)
def test_decisions_by_counts(counts, decision):
    assert anytime_decision(*counts) == decision


def test_a_true_difference_of_delta_is_seldom_called_equivalent():
    """1,000 runs of up to 300 pairs with a gap of exactly delta, looked at every fifty."""
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(1000):
        draws = rng.choice([-1, 0, 1], p=[0.05, 0.8, 0.15], size=300)
        for n in range(100, 301, 50):
            if anytime_decision(int((draws[:n] == 1).sum()), int((draws[:n] == -1).sum()), n) == "equivalence":
                wrong += 1
                break
    assert wrong / 1000 < 0.05


def test_the_decision_is_what_the_interval_says():
    for pairs in (25, 150, 260):
        for b in range(0, 30, 3):
            for c in range(0, min(30, pairs - b), 4):
                low, high = confidence_sequence(b, c, pairs)
                expected = "gap" if low > 0 or high < 0 else "equivalence" if low > -0.1 and high < 0.1 else None
                assert anytime_decision(b, c, pairs) == expected


@pytest.mark.parametrize(
    ("counts", "words"), [((3, 3, 5), "must fit into"), ((1.5, 0, 5), "whole"), (("a", 0, 5), "whole")]
)
def test_counts_that_cannot_be_are_refused(counts, words):
    with pytest.raises(BadInput, match=words):
        anytime_decision(*counts)


def test_a_margin_must_be_one():
    with pytest.raises(BadInput, match="delta"):
        anytime_decision(1, 0, 5, delta=0)


@pytest.mark.parametrize("pairs", [1, 7, 44, 60, 121])
@pytest.mark.parametrize("delta", [0.1, 0.3])
def test_the_region_is_what_the_bets_say_of_every_count(pairs, delta):
    b, c = np.nonzero(np.add.outer(np.arange(pairs + 1), np.arange(pairs + 1)) <= pairs)
    decides = rules_out_margin(b, c, pairs, delta=delta, alpha=0.05)
    expected = set(zip(b[decides], c[decides], strict=True))
    found = list(zip(*equivalent_counts(pairs, delta, 0.05), strict=True))
    assert len(found) == len(set(found)) and set(found) == expected


@pytest.mark.parametrize(("pairs", "look"), [(20, False), (29, False), (30, True), (35, False), (40, True)])
def test_a_run_considers_giving_up_every_tenth_pair_from_the_thirtieth(pairs, look):
    assert is_look(pairs) == look


@pytest.mark.parametrize(("b", "c", "pairs", "cap"), [(6, 2, 30, 60), (4, 4, 30, 80), (9, 1, 40, 60)])
def test_the_chance_is_that_of_futures_drawn_from_the_posterior(b, c, pairs, cap):
    """20,000 futures: rates from the Jeffreys posterior, then pairs from those rates."""
    rng, futures = np.random.default_rng(0), 20_000
    rates = rng.dirichlet([b + 0.5, c + 0.5, pairs - b - c + 0.5], futures)
    uniforms = rng.random((futures, cap - pairs, 1))
    kinds = (uniforms > rates.cumsum(axis=1)[:, None, :2]).sum(axis=-1)
    won, lost = b + (kinds == 0).cumsum(axis=1), c + (kinds == 1).cumsum(axis=1)
    share = (log_wealth_at_zero(won, lost) > np.log(20)).any(axis=1).mean()
    assert probability_of_deciding(b, c, pairs, cap=cap) == pytest.approx(share, abs=4 * 0.5 / futures**0.5)


@pytest.mark.parametrize(
    ("counts", "cap", "words"),
    [
        ((20, 20, 30), 60, "must fit into"),
        ((1.5, 0, 30), 60, "whole"),
        ((1, 0, 35), 60, "every tenth pair"),
        ((1, 0, 60), 60, "every tenth pair"),
        ((1, 0, 30), 60.5, "cap must be a whole"),
    ],
)
def test_looks_that_cannot_be_are_refused(counts, cap, words):
    with pytest.raises(BadInput, match=words):
        probability_of_deciding(*counts, cap=cap)


def test_equal_arms_that_never_differ_are_not_given_up_while_equivalence_is_in_reach():
    assert anytime_decision(0, 0, 200) == "equivalence"
    assert anytime_decision(0, 0, 30, cap=200) is None
    assert probability_of_deciding(0, 0, 30, cap=200) > 0.5
    assert anytime_decision(0, 0, 30, cap=40) == "futility"


def test_a_tie_is_given_up_and_a_lead_is_not():
    assert anytime_decision(8, 8, 60, cap=150) == "futility"
    assert anytime_decision(12, 3, 60, cap=150) is None
    assert anytime_decision(8, 8, 60) is None


@pytest.mark.parametrize(
    ("oracle", "learned", "rounds"), [(0.27, 0, 25.9), (0.9, 0, 7.8), (0.9, 0.5, 24.0), (0.5, 0.53, 145.9)]
)
def test_expected_rounds_are_the_published_ones(oracle, learned, rounds):
    assert expected_stop(Design(oracle, learned, paired=True)).mean_pairs == pytest.approx(rounds, abs=0.06)


def test_giving_up_shortens_a_run_that_cannot_decide_to_the_published_66():
    run = expected_stop(Design(0.5, 0.53, paired=True), futility=True)
    assert run.mean_pairs == pytest.approx(66, abs=0.5)
    assert run.futility > 0.9


def test_arms_that_never_differ_are_called_equivalent_at_pair_44():
    run = expected_stop(Design(1, 1, paired=True))
    assert (run.mean_pairs, run.gap, run.equivalence) == (44, 0, 1)


def test_shares_add_up_and_a_wider_margin_decides_sooner():
    run = expected_stop(Design(0.98, 0.98, paired=True), futility=True)
    assert 0.94 < run.equivalence < run.gap + run.equivalence + run.futility <= 1
    assert expected_stop(Design(0.98, 0.98, paired=True, equivalence=0.2)).mean_pairs < 0.6 * run.mean_pairs


@pytest.mark.parametrize(("oracle", "learned"), [(0.27, 0), (0.9, 0.5)])
def test_giving_up_hardly_touches_a_run_that_decides(oracle, learned):
    design = Design(oracle, learned, paired=True)
    assert expected_stop(design, futility=True).mean_pairs == pytest.approx(expected_stop(design).mean_pairs, abs=0.01)


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
    assert np.mean(lengths) == pytest.approx(expected_stop(design, cap, futility=True).mean_pairs, abs=4 * error)
