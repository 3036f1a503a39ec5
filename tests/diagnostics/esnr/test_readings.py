"""Several models at the same states, with the truth beside them."""

import numpy as np
import pytest

from wmel import catalog
from wmel.diagnostics.esnr.readings import read_models, sittings
from wmel.diagnostics.states import fresh_observations
from wmel.models.oracle import Oracle

SMALL = {"samples": 6, "horizon": 4, "population": 6, "elites": 2}


class Renamed(Oracle):
    """The truth by another name: a learned model without any error."""


class Opposed(Oracle):
    """A model that takes every action for its opposite."""

    def rollout(self, latents, actions):
        return super().rollout(latents, -actions)


@pytest.fixture(scope="module")
def cartpole():
    world = catalog.environment("dmc:cartpole-swingup")
    seen = fresh_observations(world, catalog.policy("random", world), 8, episodes=4, episode_steps=40)
    return world, seen, catalog.objective("smooth-upright", world)


def test_a_perfect_model_reads_like_the_oracle_and_an_opposed_one_points_against_it(cartpole):
    world, seen, score = cartpole
    models = {"perfect": Renamed(world), "opposed": Opposed(world)}
    read = read_models(models, world, seen, ["fog", "zog"], score, **SMALL)
    rows = {(row.model, row.esnr.method): row for row in read.rows}
    assert list(rows) == [(m, g) for m in ("perfect", "opposed", "oracle") for g in ("fog(fd)", "zog")]
    for method in ("fog(fd)", "zog"):
        np.testing.assert_array_equal(
            rows["perfect", method].esnr.per_observation, rows["oracle", method].esnr.per_observation
        )
    assert rows["perfect", "fog(fd)"].alignment.cosine.value == pytest.approx(1)
    assert rows["opposed", "fog(fd)"].alignment.cosine.high < -0.9
    assert rows["opposed", "fog(fd)"].alignment.against_share == 1
    assert {(one.model, one.other, one.method) for one in read.differences} == {
        ("perfect", "opposed", "fog(fd)"),
        ("perfect", "opposed", "zog"),
    }


def test_without_the_oracle_there_is_no_alignment(cartpole):
    world, seen, score = cartpole
    read = read_models({"perfect": Renamed(world)}, world, seen, ["zog"], score, oracle=False, **SMALL)
    assert [row.model for row in read.rows] == ["perfect"]
    assert read.rows[0].alignment is None


def test_levels_have_an_oracle_and_no_alignment():
    world = catalog.environment("dmc_cartpole")
    seen = fresh_observations(world, catalog.policy("random", world), 4, episodes=4, episode_steps=20)
    read = read_models({}, world, seen, ["zog", "cem"], catalog.objective("smooth-upright", world), **SMALL)
    assert [(row.model, row.esnr.method, row.alignment) for row in read.rows] == [
        ("oracle", "zog", None),
        ("oracle", "cem", None),
    ]


@pytest.mark.parametrize("methods", [["fog", "zog", "cem"], ["zog"], ["fog"]])
@pytest.mark.parametrize("oracle", [True, False])
def test_progress_adds_up_to_the_sittings_foretold(cartpole, methods, oracle):
    world, seen, score = cartpole
    told = []
    models = {"perfect": Renamed(world)}
    read_models(models, world, seen, methods, score, oracle=oracle, progress=told.append, **SMALL)
    assert sum(told) == len(seen) * sittings(1, methods, world, oracle)
