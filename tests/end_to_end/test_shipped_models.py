"""The checkpoints that come with the repository are what their cards say."""

import math
from pathlib import Path

import pytest

from wmel import catalog
from wmel.closed_loop.benchmark_runner import BenchmarkRunner
from wmel.training.checkpoints import read_card
from wmel.training.restore import restored

MODELS = Path(__file__).parents[2] / "models"
TASKS = {
    "cartpole-td1-seed0": "dmc:cartpole-swingup",
    "cartpole-td1-seed1": "dmc:cartpole-swingup",
    "cartpole-td1-seed2": "dmc:cartpole-swingup",
    "acrobot-td1": "dmc:acrobot-swingup",
}
CARTPOLE = 800  # the return asked of its policy; acrobot's is asked of its planner
AGAIN = 16  # episodes


@pytest.mark.parametrize(("name", "task"), TASKS.items())
def test_it_is_small_restores_and_says_where_it_is_from(name, task):
    assert (MODELS / name / "weights.safetensors").stat().st_size < 12e6
    restored(MODELS / name, catalog.environment(task))
    card = read_card(MODELS / name)
    assert card["environment"] == task and card["fit"]["device"] == "cuda" and card["fit"]["half"]
    assert card["policy_return"]["episodes"] == 64
    assert card["curve"][-1]["updates"] == card["fit"]["updates_taken"] and card["curve"][-1]["seconds"] < 600


@pytest.mark.parametrize("name", [name for name in TASKS if name.startswith("cartpole")])
def test_cartpole_earned_what_was_asked(name):
    assert read_card(MODELS / name)["policy_return"]["mean"] >= CARTPOLE


def test_the_plain_name_is_the_first_seed():
    assert (MODELS / "cartpole-td1").resolve() == (MODELS / "cartpole-td1-seed0").resolve()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task"), TASKS.items())
def test_its_policy_earns_on_a_cpu_what_it_earned_where_it_was_trained(name, task):
    """Other starts, so two means are compared: they may differ by four standard errors."""
    world = catalog.environment(task)
    policy = catalog.policy("prior", world, model=restored(MODELS / name, world))
    run = BenchmarkRunner(world, policy, AGAIN, horizon=1000, seed=0, stop="horizon", timed_decisions=0).run()
    earned, said = run.table["return"], read_card(MODELS / name)["policy_return"]
    error = math.hypot(said["deviation"] / math.sqrt(said["episodes"]), earned.std(ddof=1) / math.sqrt(AGAIN))
    assert abs(earned.mean() - said["mean"]) < 4 * error, (earned.mean(), said)
