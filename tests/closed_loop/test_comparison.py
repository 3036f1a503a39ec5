"""The arms of a comparison differ in their model alone, or are refused."""

from dataclasses import replace

import pytest

from wmel import catalog
from wmel.analysis.gap import counterfactual_planning_gap
from wmel.closed_loop.run import BenchmarkRunner
from wmel.errors import BadInput
from wmel.models.oracle import Oracle


@pytest.fixture(scope="module")
def oracle_run():
    world = catalog.environment("maze_toy")
    policy = catalog.policy("random-shooting", world, candidates=20, plan_horizon=5, model=Oracle(world))
    return BenchmarkRunner(world, policy, 4, 20, seed=0).run()


def test_arms_that_agree_are_paired(oracle_run):
    assert counterfactual_planning_gap(oracle_run, oracle_run).raw_gap == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"environment_name": "two_room_toy"}, "environment is 'maze_toy'"),
        ({"layout": "S.G"}, "layout is"),
        ({"seeds": (1,)}, "seeds is (0,)"),
        ({"horizon": 21}, "horizon is 20"),
        ({"versions": {"numpy": "0.1"}}, "version of numpy is"),
        ({"policy_settings": {"planner": "another"}}, "is"),
        ({"success": "distance<=1"}, "success is"),
        ({"perturb_prob": 0.5}, "perturb_prob is"),
    ],
)
def test_an_arm_that_differs_in_more_than_its_model_is_refused(oracle_run, change, words):
    with pytest.raises(BadInput, match="more than their model") as refusal:
        counterfactual_planning_gap(oracle_run, replace(oracle_run, **change))
    assert words in str(refusal.value)


def test_an_arm_may_use_a_package_more_and_other_weights(oracle_run):
    settings = {**oracle_run.policy_settings, "model": "mlp", "weights": "ab12"}
    learned = replace(oracle_run, policy_settings=settings, versions={**oracle_run.versions, "jax": "1.0"})
    assert counterfactual_planning_gap(oracle_run, learned).raw_gap == 0


def test_a_grid_says_how_it_was_drawn(maze):
    from wmel.environments.grids import Layout

    assert Layout.parse(maze.spec.layout) == maze.layout
