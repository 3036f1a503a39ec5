import numpy as np
import pytest

from tests.analysis.tables import table
from wmel.analysis.pooling import pooled_gap
from wmel.errors import BadInput
from wmel.stats.proportions import miettinen_nurminen


def test_both_claims_are_named_and_only_the_recipe_pays_for_few_seeds():
    found = pooled_gap([((45, 50), (10, 50)), ((44, 50), (25, 50)), ((46, 50), (40, 50))])
    checkpoints, recipe = found.these_checkpoints, found.this_training_recipe
    assert checkpoints.method == "these checkpoints: miettinen-nurminen" and checkpoints.n == 150
    assert (checkpoints.low, checkpoints.high) == miettinen_nurminen(135, 150, 75, 150)
    assert recipe.method == "this training recipe: t over seeds" and recipe.n == 3
    assert recipe.value == checkpoints.value == pytest.approx(0.4)
    assert recipe.low < checkpoints.low < checkpoints.high < recipe.high


def test_seeds_that_agree_leave_the_episodes_interval_to_both():
    found = pooled_gap([((45, 50), (25, 50))] * 3)
    assert found.this_training_recipe.low == found.these_checkpoints.low
    assert "wider than t over seeds" in found.this_training_recipe.method


def test_tables_of_shared_seeds_are_pooled_as_pairs():
    rng = np.random.default_rng(0)
    arms = [(table(success=rng.random(40) < 0.9), table(success=rng.random(40) < 0.5)) for _ in range(3)]
    found = pooled_gap(arms)
    assert found.these_checkpoints.method == "these checkpoints: tango" and found.these_checkpoints.n == 120
    gaps = [one["success"].mean() - other["success"].mean() for one, other in arms]
    assert found.these_checkpoints.value == pytest.approx(np.mean(gaps))


def test_the_value_lies_inside_even_where_seeds_ran_unequal_numbers_of_episodes():
    found = pooled_gap([((10, 10), (0, 10)), ((500, 1000), (500, 1000))]).this_training_recipe
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        ([((90, 100), (9, 10)), ((1, 10), (10, 100))], "unequal shares"),
        ([((9, 10), (5, 10))], "retrained seeds, got 1"),
        ([], "got none"),
        ([(9, 10, 11)], r"one \(oracle, learned\)"),
        (None, r"one \(oracle, learned\)"),
    ],
)
def test_what_cannot_be_pooled_is_refused(seeds, words):
    with pytest.raises(BadInput, match=words):
        pooled_gap(seeds)
