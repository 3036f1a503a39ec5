"""Mixtures as data: the text is a shorthand, and policies that collect take their settings."""

import numpy as np
import pytest

import wmel
from wmel.errors import BadInput
from wmel.policies.direct import PolicyShare, exploration, mixture_label, policy_shares


def test_text_is_a_shorthand_for_the_data():
    data = [{"name": "random", "share": 3}, {"name": "cem"}]
    assert policy_shares("3*random+cem") == policy_shares(data) == (PolicyShare("random", 3.0), PolicyShare("cem"))
    assert mixture_label(data) == "3*random+cem"


def test_a_policy_of_a_mixture_takes_its_settings():
    maze = wmel.environment("maze_toy")
    policy = exploration(maze, {"name": "cem", "elites": 3, "candidates": 9})
    assert policy.planner == wmel.CEM(elites=3, candidates=9)
    mixed = exploration(maze, [{"name": "cem", "candidates": 9}, "random"], epsilon=0.1)
    assert mixed.policies[0].planner.candidates == 9 and mixed.name == "cem(candidates=9)+random"


@pytest.mark.parametrize(
    "mixture", [3, [], {"elites": 3}, {"name": "random", "share": 0}, "x*random", {"name": "cem", "elits": 3}]
)
def test_what_is_no_mixture_is_refused(mixture):
    with pytest.raises(BadInput):
        exploration(wmel.environment("maze_toy"), mixture)


def test_a_trainer_collects_with_settings_and_its_card_says_so(tmp_path):
    pytest.importorskip("torch")
    from wmel.training.checkpoints import read_card

    collect = {"name": "random-shooting", "candidates": 4, "plan_horizon": 3}
    wmel.train("mlp", "maze_toy", collect=collect, transitions=30, epochs=1, output=tmp_path / "m", quiet=True)
    assert read_card(tmp_path / "m")["collect"]["policy"] == collect


def test_effort_is_added_with_its_weight():
    pytest.importorskip("dm_control")
    world = wmel.environment("dmc:cartpole-swingup")
    observations, actions = np.random.default_rng(0).random((5, 4, 5)), np.full((5, 3, 1), 0.5)
    for name in ("upright", "smooth-upright", "task-reward"):
        free, weighted = (wmel.objective(name, world, action_weight=weight) for weight in (0.0, 2.0))
        added = weighted.costs(observations, actions, None) - free.costs(observations, actions, None)
        assert added == pytest.approx(2.0 * 0.25)
    with pytest.raises(BadInput, match="-1"):
        wmel.objective("upright", world, action_weight=-1.0)
