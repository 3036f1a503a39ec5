"""The examples of metrics are what their commands print."""

import pytest

import wmel


@pytest.mark.parametrize(("steps", "enough"), [(60, 15), (80, 10)])
def test_the_effective_horizon_of_the_maze_depends_on_the_length_of_its_episodes(steps, enough):
    swept = wmel.sweep("maze_toy", plan_horizons=[5, 10, 15], episodes=500, horizon=steps, quiet=True)
    assert swept.effective_horizon.value == enough
    example = wmel.explain("H*").entries["effective_horizon"][0]["example"]
    assert f"{enough} with episodes of {steps} steps" in example


def test_of_28_perturbed_episodes_of_the_maze_cem_solves_26():
    found = wmel.run("maze_toy", "cem", perturb_prob=1, quiet=True).scorecard["perturbation_recovery_rate"]
    assert f"{found.value * found.n:.0f} of {found.n} perturbed maze episodes" in example_of("recovery rate")


def test_a_plan_of_20_steps_takes_35_8_steps_through_the_maze():
    found = wmel.run("maze_toy", "tabular-world-model", quiet=True).scorecard["average_steps_to_success"]
    assert f"{found.value:.1f} steps at planning horizon 20" in example_of("average steps to success")


def example_of(metric: str) -> str:
    ((word,),) = wmel.explain(metric).entries.values()
    return word["example"]
