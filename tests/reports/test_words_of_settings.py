"""The first line of a report names the perturbation and the policy with their settings."""

import pytest

import wmel
from tests.conftest import says

PUSH = "tests.experiments.swept_parts:Push"
SMALL = {"candidates": 2, "iterations": 1, "episodes": 2, "horizon": 2, "quiet": True, "perturb_prob": 0.5}


def first_line(result) -> str:
    (shared,) = result.document().shared
    return shared.words


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("drop-next-2", "drop-next-2"),
        (PUSH, "push distance=1"),
        ({"name": PUSH, "distance": 3}, "push distance=3"),
        (
            {"name": "composite", "parts": ["drop-next-2", {"name": PUSH, "distance": 3}]},
            f"composite:drop-next-2+push ({PUSH} distance=3)",
        ),
    ],
)
def test_settings_are_named_whether_or_not_the_name_contains_them(settings, words, tmp_path):
    result = wmel.run("maze_toy", "cem", perturbation=settings, output=tmp_path, **SMALL)
    for one in (result, wmel.load(tmp_path)):
        assert f"perturbation: {words} in 50% of episodes;" in first_line(one)


def test_the_settings_of_a_policy_are_named_unless_they_are_swept():
    march = "tests.experiments.swept_parts:March"
    small = {"episodes": 2, "horizon": 2, "quiet": True}
    assert "policy: march action=2;" in first_line(wmel.run("maze_toy", {"name": march, "action": 2}, **small))
    assert "policy: random;" in first_line(wmel.run("maze_toy", "random", **small))
    swept = wmel.sweep("maze_toy", march, sweep={"policy.action": [1, 2]}, **small)
    assert "policy: march;" in first_line(swept)


def test_the_step_follows_the_settings():
    result = wmel.run("maze_toy", "cem", perturbation=PUSH, perturb_step=1, **SMALL)
    assert says(first_line(result), "perturbation: push distance=1 from step 1 in ")


@pytest.mark.parametrize(
    ("settings", "sweep", "words"),
    [
        ("drop-next", "perturbation.k", "drop-next in 50%"),
        ("drop-next-2", "perturbation.step", "drop-next k=2 in 50%"),
        (PUSH, "perturbation.distance", "push in 50%"),
    ],
)
def test_a_swept_setting_is_left_out(settings, sweep, words):
    result = wmel.sweep("maze_toy", "cem", perturbation=settings, sweep={sweep: [1, 2]}, **{**SMALL, "horizon": 3})
    assert f"perturbation: {words}" in first_line(result)
