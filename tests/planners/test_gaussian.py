import numpy as np
import pytest

from wmel.contract.environment import Box
from wmel.contract.planner import Remainder
from wmel.planners.search import GaussianSequences, Knots

WIDE = Box(np.array([-100.0, -100.0, -100.0]), np.array([100.0, 100.0, 100.0]))


def sequences(mean=0.0, deviation=1.0, rows=1, steps=1):
    shape = (rows, steps, 3)
    return GaussianSequences(WIDE, np.full(shape, mean, np.float32), np.full(shape, deviation, np.float32))


def draw(count):
    one = sequences(mean=2.0, deviation=3.0)
    uniforms = np.random.default_rng(0).random((1, count, 1, one.uniforms_per_action), dtype=np.float32)
    return one.sample(uniforms)[0, 1:, 0]


def test_samples_have_the_asked_mean_deviation_and_tails():
    samples = draw(200_001)
    error = 3 / np.sqrt(len(samples))
    assert np.abs(samples.mean(0) - 2).max() < 4 * error
    assert np.abs(samples.std(0) - 3).max() < 4 * error  # the deviation's own standard error is smaller
    # a normal lies within two deviations with probability .9545
    assert np.abs((np.abs(samples - 2) < 6).mean(0) - 0.9545).max() < 0.002


def test_components_are_uncorrelated():
    correlation = np.corrcoef(draw(200_001).T)
    assert np.abs(correlation - np.eye(3)).max() < 0.01


def test_a_uniform_of_zero_is_no_infinity():
    assert np.isfinite(sequences().sample(np.zeros((1, 2, 1, 4), np.float32))).all()


def test_the_mean_competes_with_its_own_samples():
    uniforms = np.random.default_rng(0).random((1, 5, 1, 4), dtype=np.float32)
    assert (sequences(mean=2.0).sample(uniforms)[:, 0] == 2).all()


def test_a_refit_is_the_weighted_mean_and_deviation_of_the_elites():
    elites = np.array([[[[1.0, 0, 0]], [[3.0, 0, 0]], [[99.0, 0, 0]]]], np.float32)
    fitted = sequences(deviation=7.0).refit(elites, np.array([[0.5, 0.5, 0.0]], np.float32), smoothing=0.0)
    assert fitted.mean[0, 0, 0] == 2 and fitted.deviation[0, 0, 0] == 1


def test_smoothing_keeps_a_part_of_the_old():
    elites = np.full((1, 2, 1, 3), 4, np.float32)
    fitted = sequences(mean=0.0, deviation=10.0).refit(elites, np.array([[0.5, 0.5]], np.float32), smoothing=0.25)
    assert np.allclose(fitted.mean, 3) and np.allclose(fitted.deviation, 2.5)


def test_elites_without_weight_teach_nothing():
    elites = np.full((1, 2, 1, 3), 4, np.float32)
    fitted = sequences(mean=1.0).refit(elites, np.zeros((1, 2), np.float32), smoothing=0.1)
    assert (fitted.mean == 1).all() and (fitted.deviation == 1).all()


def test_a_warm_start_centres_the_draw_on_what_is_left(problem):
    box = Box(np.array([-1.0]), np.array([1.0]))
    one = problem(box, lambda c: c.sum(3).sum(2), rows=1, horizon=4)
    left = Remainder(np.array([[[0.5], [0.6], [0.7], [0.8]]], np.float32), np.array([2]))
    start = GaussianSequences.start(box, one, Knots.over(None, 4, box), left)
    assert start.mean[0, :, 0].tolist() == pytest.approx([0.5, 0.6, 0, 0])
