import numpy as np

from wmel.contract.environment import Finite
from wmel.planners.search import CategoricalSequences

SPACE = Finite(("a", "b", "c"))


def test_actions_are_drawn_by_their_probability():
    sequences = CategoricalSequences(SPACE, np.array([[[0.2, 0.5, 0.3]]], np.float32))
    samples = sequences.sample(np.random.default_rng(0).random((1, 100_000, 1, 1), dtype=np.float32))
    shares = np.bincount(samples.ravel(), minlength=3) / 100_000
    assert np.abs(shares - [0.2, 0.5, 0.3]).max() < 0.0064  # four standard errors


def test_an_impossible_action_is_never_drawn_and_a_certain_one_always():
    sequences = CategoricalSequences(SPACE, np.array([[[0.0, 1.0, 0.0]]], np.float32))
    edges = np.array([0.0, 0.5, 1 - 2**-24], np.float32).reshape(1, 3, 1, 1)
    assert (sequences.sample(edges) == 1).all()


def test_a_single_action_is_always_drawn():
    only = CategoricalSequences(Finite(("a",)), np.ones((1, 1, 1), np.float32))
    assert (only.sample(np.random.default_rng(0).random((1, 9, 1, 1), dtype=np.float32)) == 0).all()


def test_a_refit_mixes_elite_frequency_with_uniform():
    """(1 - smoothing) * frequency + smoothing / actions."""
    before = CategoricalSequences(SPACE, np.full((1, 1, 3), 1 / 3, np.float32))
    elites = np.array([0, 0, 2, 1]).reshape(1, 4, 1, 1)
    fitted = before.refit(elites, np.full((1, 4), 0.25, np.float32), smoothing=0.1)
    assert np.allclose(fitted.probabilities, 0.9 * np.array([0.5, 0.25, 0.25]) + 0.1 / 3)


def test_elites_without_weight_teach_nothing():
    before = CategoricalSequences(SPACE, np.array([[[0.2, 0.5, 0.3]]], np.float32))
    fitted = before.refit(np.zeros((1, 4, 1, 1), int), np.zeros((1, 4), np.float32), smoothing=0.1)
    assert np.array_equal(fitted.probabilities, before.probabilities)
