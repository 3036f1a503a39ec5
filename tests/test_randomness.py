import numpy as np
import pytest

from wmel.randomness import Streams


def streams(seeds, moments=None):
    seeds = np.array(seeds)
    return Streams(seeds, np.zeros(len(seeds), int) if moments is None else np.array(moments))


def test_an_episodes_numbers_do_not_depend_on_its_companions():
    together = streams([3, 8, 100000, 5]).uniforms("plan", (7, 2))[0]
    alone = [streams([seed]).uniforms("plan", (7, 2))[0, 0] for seed in (3, 8, 100000, 5)]
    assert np.array_equal(together, np.stack(alone))


def test_asking_again_gives_the_same_numbers():
    one = streams([3, 8])
    assert np.array_equal(one.uniforms("plan", (5,)), one.uniforms("plan", (5,)))


def test_rows_of_streams_are_the_streams_of_rows():
    all_rows = streams([1, 2, 3, 4], [0, 5, 0, 9])
    picked = all_rows.rows(np.array([3, 1])).uniforms("plan", (4,))[0]
    assert np.array_equal(picked, all_rows.uniforms("plan", (4,))[0, [3, 1]])


@pytest.mark.parametrize(
    "other",
    [
        streams([2]).uniforms("plan", (64,))[0],
        streams([1], [1]).uniforms("plan", (64,))[0],
        streams([1]).uniforms("act", (64,))[0],
        streams([1]).uniforms("plan", (64,), rounds=2)[1],
    ],
    ids=["seed", "moment", "purpose", "round"],
)
def test_seed_moment_purpose_and_round_each_change_every_number(other):
    assert (streams([1]).uniforms("plan", (64,))[0] != other).all()


def test_more_candidates_begin_with_the_same_ones():
    few, many = streams([1]).uniforms("plan", (10, 4), rounds=2), streams([1]).uniforms("plan", (50, 4), rounds=2)
    assert np.array_equal(few, many[:, :, :10])


def test_numbers_are_uniform_float32_below_one():
    numbers = streams(range(100)).uniforms("plan", (1000,))
    assert numbers.dtype == np.float32
    assert numbers.min() >= 0 and numbers.max() < 1
    assert np.array_equal(numbers * 2**23, np.round(numbers * 2**23))
    # a chi-squared statistic of 20 cells exceeds 45.3 with probability 0.0006
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    assert ((counts - 5000) ** 2 / 5000).sum() < 45.3


def test_an_odd_count_is_no_special_case():
    assert np.array_equal(streams([1]).uniforms("plan", (7,)), streams([1]).uniforms("plan", (8,))[..., :7])


def test_neighbouring_episodes_are_uncorrelated():
    a, b = streams([10]).uniforms("plan", (10000,))[0, 0], streams([11]).uniforms("plan", (10000,))[0, 0]
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.04  # four standard errors
