"""Readings of a model and of the oracle at the same states."""

import numpy as np
import pytest

from wmel import catalog
from wmel.diagnostics.esnr.diagnostic import EsnrDiagnostic
from wmel.diagnostics.esnr.measure import passes_over_states
from wmel.models.oracle import Oracle

SMALL = {"states": 12, "episode_steps": 40, "samples": 6, "plan_horizon": 4, "population": 6, "elites": 2}


class Opposed(Oracle):
    """A model that takes every action for its opposite."""

    def rollout(self, latents, actions):
        return super().rollout(latents, -actions)


@pytest.fixture(scope="module")
def cartpole():
    return catalog.environment("dmc:cartpole-swingup")


def read(world, model, *methods, progress=lambda share: None, **settings):
    """The readings by (model, method)."""
    diagnostic = EsnrDiagnostic(methods=methods, **SMALL, **settings)
    data = diagnostic.read(world, "mine", model, objective="smooth-upright", seed=0, progress=progress)
    return {(one["model"], one["method"]): one for one in data["readings"]}


def test_a_perfect_model_reads_like_the_oracle(cartpole):
    found = read(cartpole, Oracle(cartpole), "fog", "zog")
    assert list(found) == [(model, method) for model in ("mine", "oracle") for method in ("fog(fd)", "zog")]
    for method in ("fog(fd)", "zog"):
        assert found["mine", method]["per_state"] == found["oracle", method]["per_state"]
        assert found["mine", method]["alignment"] == found["oracle", method]["alignment"]
    assert 0.97 < found["mine", "fog(fd)"]["alignment"]["cosine"]["value"] < 1  # its noise is not that of the truth


def test_an_opposed_model_points_against_the_true_gradient(cartpole):
    aligned = read(cartpole, Opposed(cartpole), "fog", "zog")["mine", "fog(fd)"]["alignment"]
    assert aligned["cosine"]["value"] < -0.7 and aligned["cosine"]["high"] < 0 and aligned["against_share"] > 0.8


def test_without_the_oracle_there_is_no_alignment(cartpole):
    found = read(cartpole, Oracle(cartpole), "zog", oracle=False)
    assert list(found) == [("mine", "zog")] and found["mine", "zog"]["alignment"] is None


def test_finite_actions_have_an_oracle_and_no_alignment():
    found = read(catalog.environment("dmc_cartpole"), None, "zog", "cem")
    assert {key: one["alignment"] for key, one in found.items()} == {("oracle", "zog"): None, ("oracle", "cem"): None}


@pytest.mark.parametrize("methods", [("fog", "zog", "cem"), ("zog",), ("fog",)])
@pytest.mark.parametrize("oracle", [True, False])
def test_progress_adds_up_to_the_passes_that_were_forecast(methods, oracle):
    world, shares = catalog.environment("dmc:cartpole-swingup"), []
    read(world, Oracle(world), *methods, oracle=oracle, progress=shares.append)
    passes = len(shares) / passes_over_states(1, methods, world, oracle)
    assert np.sum(shares) == pytest.approx(1) and passes == round(passes)
