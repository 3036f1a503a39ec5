"""The checkpoints that come with the repository are what their cards say."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from wmel import catalog
from wmel.closed_loop.run import episode_seeds
from wmel.reports.analysis_record_types import StudyRecord
from wmel.training.checkpoints import read_card, restore
from wmel.training.tdmpc2.online import play_episodes

MODELS, RESULTS = (Path(__file__).parents[2] / name for name in ("models", "results"))
TASKS = {
    "cartpole-td1-seed0": "dmc:cartpole-swingup",
    "cartpole-td1-seed1": "dmc:cartpole-swingup",
    "cartpole-td1-seed2": "dmc:cartpole-swingup",
    "cartpole-td5": "dmc:cartpole-swingup",
    "acrobot-td1": "dmc:acrobot-swingup",
    "acrobot-td5": "dmc:acrobot-swingup",
}
CARTPOLE, ACROBOT = 800, 250  # the returns asked of cartpole's policy and of acrobot's own planner
AGAIN = 16  # episodes


@pytest.mark.parametrize(("name", "task"), TASKS.items())
def test_it_is_small_restores_and_says_where_it_is_from(name, task):
    assert (MODELS / name / "weights.safetensors").stat().st_size < 12e6
    restore(MODELS / name, catalog.environment(task))
    card = read_card(MODELS / name)
    assert card["environment"] == task and card["fit"]["device"] == "cuda" and card["fit"]["half"]
    assert card["policy_return"]["episodes"] == 64
    assert card["curve"][-1]["updates"] == card["fit"]["updates_taken"]


@pytest.mark.parametrize("name", [name for name in TASKS if "-td1" in name])
def test_size_1_took_less_than_ten_minutes(name):
    assert read_card(MODELS / name)["curve"][-1]["seconds"] < 600


@pytest.mark.parametrize("name", [name for name in TASKS if name.startswith("cartpole")])
def test_cartpole_earned_what_was_asked(name):
    assert read_card(MODELS / name)["policy_return"]["mean"] >= CARTPOLE


@pytest.mark.parametrize(("task", "expected"), [("acrobot", ACROBOT), ("cartpole", CARTPOLE)])
def test_its_own_planner_earned_what_was_asked_in_the_committed_ladder(task, expected):
    record = StudyRecord.model_validate_json((RESULTS / f"tdmpc2-{task}-ladder" / "results.json").read_text())
    (ladder,) = record.comparisons
    native = ladder.scorecards["td1[policy=native]"]
    assert ladder.setting.init == "task" and ladder.setting.horizon == 1000 and native.episodes >= 64
    assert native.average_return is not None and native.average_return >= expected


def test_the_plain_name_is_the_first_seed():
    assert (MODELS / "cartpole-td1").resolve() == (MODELS / "cartpole-td1-seed0").resolve()


@pytest.fixture(scope="module", params=TASKS.items(), ids=list(TASKS))
def played_by_its_policy(request):
    """The model, what its card says, and episodes of its policy on a CPU: [E,L+1,O], [E,L,A], [E,L]"""
    name, task = request.param
    world = catalog.environment(task)
    model = restore(MODELS / name, world)
    return model, read_card(MODELS / name), play_episodes(world, model.network, episode_seeds(0, AGAIN))


@pytest.mark.slow
def test_its_policy_earns_on_a_cpu_what_it_earned_where_it_was_trained(played_by_its_policy):
    """Other starts, so two means are compared: they may differ by four standard errors."""
    _, card, episodes = played_by_its_policy
    earned, recorded = episodes.returns, card["policy_return"]
    error = math.hypot(recorded["deviation"] / math.sqrt(recorded["episodes"]), earned.std(ddof=1) / math.sqrt(AGAIN))
    assert abs(earned.mean() - recorded["mean"]) < 4 * error, (earned.mean(), recorded)


@pytest.mark.slow
def test_it_imagines_and_values_what_its_policy_meets(played_by_its_policy):
    """One step on: the decoded observation, the reward, and the value beside what was earned from there on.

    Seen: errors of .7 to 1.2 times the card's, rewards off by .0004 to .005 and correlated by .99999, values by .957 to
    .998 and .73 to .97 times as large.
    """
    model, card, episodes = played_by_its_policy
    count, length = episodes.rewards.shape
    seen, actions = (
        torch.as_tensor(part.reshape(count * length, -1), dtype=torch.float32)
        for part in (episodes.observations[:, :-1], episodes.actions)
    )
    latents = model.agent.encode(seen)
    after = model.step(latents, actions)
    decoded = model.decode(after).numpy().reshape(count, length, -1)
    error = ((decoded - episodes.observations[:, 1:]) ** 2).mean()
    assert error < 2 * card["errors"]["held_out_decoder_mse"]
    rewards = model.rewards(torch.stack([latents, after], 1), actions[:, None]).numpy().reshape(count, length)
    assert np.abs(rewards - episodes.rewards).mean() < 0.02
    assert np.corrcoef(rewards.ravel(), episodes.rewards.ravel())[0, 1] > 0.999
    values = model.action_values(latents, actions).mean(0).numpy().reshape(count, length)
    rate, starts, ahead = model.discount(), np.arange(0, 500, 50), 400
    worth = rate ** np.arange(ahead)
    soon = [(episodes.rewards[:, one : one + ahead] * worth).sum(1) for one in starts]
    met = np.stack(soon, 1) + rate**ahead * values[:, starts + ahead]
    assert np.corrcoef(values[:, starts].ravel(), met.ravel())[0, 1] > 0.9
    assert 0.6 < values[:, starts].mean() / met.mean() < 1.2
