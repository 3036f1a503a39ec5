import numpy as np
import pytest

from wmel import catalog
from wmel.errors import BadInput
from wmel.objectives import target_distance


def test_the_score_of_reacher_is_the_length_of_the_vector_to_the_target():
    seen = np.random.default_rng(0).normal(size=(3, 5, 6))
    costs = target_distance(catalog.environment("dmc_reacher")).costs(seen, np.zeros((3, 4, 2)), np.zeros((3, 0)))
    np.testing.assert_allclose(costs, np.linalg.norm(seen[:, 1:, 2:4], axis=-1))


def test_where_no_target_is_in_sight_it_is_refused():
    with pytest.raises(BadInput, match="no vector to a target"):
        target_distance(catalog.environment("dmc_acrobot"))
