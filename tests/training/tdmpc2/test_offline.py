"""Learning from stored episodes alone."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training.tdmpc2.short_trainings import (
    CPU,
    ENVS,
    LENGTH,
    SETTINGS,
    WORLD,
    finish_training,
    interrupt_training,
    same_weights,
    weights_of,
    without_time,
)
from wmel import catalog
from wmel.errors import BadInput
from wmel.machine import limit_threads
from wmel.training.checkpoints import read_card, restore
from wmel.training.stored_episodes import Episodes, EpisodesFolder
from wmel.training.tdmpc2.online import DivergenceError
from wmel.training.tdmpc2.resume import SNAPSHOT_FILE, TrainingHooks, TrainingState
from wmel.training.tdmpc2.train import UPDATES_BETWEEN_REPORTS, OfflineTraining, train_tdmpc2_offline
from wmel.training.tdmpc2.trainer import discount_of

SHORT = replace(SETTINGS, updates=7)
CHECKPOINTS, STOPS = 3, (1, 3, 7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of a training that left three rounds of episodes."""
    made = tmp_path_factory.mktemp("played")
    with limit_threads(1):
        finish_training(made)
    return made / "episodes"


@pytest.fixture(scope="module")
def episodes(folder):
    return EpisodesFolder(folder).read()


def changed(episodes: Episodes, **arrays) -> Episodes:
    return replace(episodes, **arrays)


def agent(made) -> dict[str, torch.Tensor]:
    return made.model.network.agent.state_dict()


def test_the_card_says_what_was_done(episodes):
    reported = []
    made = train_tdmpc2_offline(episodes, SHORT, CPU, TrainingHooks(reported.append))
    card = made.card
    assert card["data"] == {"transitions": 3 * ENVS * LENGTH, "episodes": 3 * ENVS, "sha256": episodes.sha256}
    assert card["policy_return"] is None and card["kept"] == {"weights": "of update 7", "return": None}
    assert card["environment"] == "point" and card["fit"]["updates_taken"] == 7
    assert card["fit"]["discount"] == discount_of(LENGTH) == pytest.approx(float(made.model.network.discount))
    assert all(math.isfinite(error) for error in card["errors"].values())
    assert [point.updates for point in reported] == [7] == [point["updates"] for point in card["curve"]]
    assert json.loads(json.dumps(card, allow_nan=False)) == card


def test_the_last_weights_are_kept(episodes):
    """With no environment nothing can be rated."""
    training = OfflineTraining(episodes, SHORT, CPU)
    training.run()
    assert same_weights(agent(train_tdmpc2_offline(episodes, SHORT, CPU)), training.learner.network.state_dict())


def test_what_is_written_is_restored_in_the_world_of_the_episodes(episodes, tmp_path):
    made = train_tdmpc2_offline(episodes, SHORT, CPU)
    TrainingState(tmp_path).finish(made)
    model = restore(tmp_path, WORLD)
    assert same_weights(model.network.state_dict(), made.model.network.state_dict())
    assert (model.network.low.tolist(), model.network.high.tolist()) == ([-1.0], [3.0])
    with pytest.raises(BadInput, match=r"cartpole-swingup.*place"):
        restore(tmp_path, catalog.environment("dmc:cartpole-swingup"))


def test_the_same_seed_gives_the_same_bits_and_another_does_not(episodes):
    one = train_tdmpc2_offline(episodes, SHORT, CPU)
    torch.manual_seed(99)  # what others draw changes nothing
    same = train_tdmpc2_offline(episodes, SHORT, CPU)
    other = train_tdmpc2_offline(episodes, replace(SHORT, seed=1), CPU)
    assert same_weights(one.model.network.state_dict(), same.model.network.state_dict())
    assert one.card["errors"] == same.card["errors"] and not same_weights(agent(one), agent(other))


def test_what_torch_would_have_drawn_next_is_left_alone(episodes):
    torch.manual_seed(4)
    wanted = torch.rand(3)
    torch.manual_seed(4)
    train_tdmpc2_offline(episodes, replace(SHORT, updates=1), CPU)
    assert torch.equal(torch.rand(3), wanted)


def test_it_is_the_stored_episodes_that_are_learned_from(episodes):
    """Other rewards, other weights; the order of the columns of a step is not to be mixed up."""
    one = train_tdmpc2_offline(episodes, SHORT, CPU)
    other = train_tdmpc2_offline(changed(episodes, rewards=1 - episodes.rewards), SHORT, CPU)
    assert not same_weights(agent(one), agent(other))


def test_the_decoder_soon_knows_the_stored_observations(episodes):
    """Far better than the mean of all of them would do."""
    card = train_tdmpc2_offline(episodes, replace(SHORT, updates=1, decoder_steps=300), CPU).card
    spread = float(episodes.observations.var(axis=(0, 1)).mean())
    assert card["errors"]["decoder_mse"] < 0.2 * spread and card["errors"]["held_out_decoder_mse"] < 0.5 * spread


@pytest.fixture(scope="module")
def whole(episodes, tmp_path_factory):
    """The folder of a training that was never stopped."""
    made = tmp_path_factory.mktemp("offline")
    state = TrainingState(made, CHECKPOINTS, seconds=0.0)
    with limit_threads(1):
        state.finish(train_tdmpc2_offline(episodes, SHORT, CPU, TrainingHooks(state=state)))
    return made


def test_keeping_changes_nothing(whole, episodes):
    made = train_tdmpc2_offline(episodes, SHORT, CPU)
    assert same_weights(weights_of(whole), made.model.network.state_dict())
    assert sorted(file.name for file in whole.iterdir()) == ["card.json", "checkpoints", "weights.safetensors"]


@pytest.mark.parametrize("stop", STOPS)
def test_a_checkpoint_is_of_exactly_so_many_updates(whole, episodes, stop):
    where = whole / "checkpoints" / f"{stop:07d}"
    assert sorted(file.name for file in where.parent.iterdir()) == [f"{one:07d}" for one in STOPS]
    alone = train_tdmpc2_offline(episodes, replace(SHORT, updates=stop), CPU)
    assert same_weights(restore(where, WORLD).network.agent.state_dict(), agent(alone))
    assert read_card(where)["fit"]["updates_taken"] == stop


@pytest.mark.parametrize("after", STOPS)
def test_going_on_ends_where_it_would_have_ended(whole, episodes, tmp_path, after):
    """The snapshot at a checkpoint is written as `TrainingState` writes it."""
    request = {"data": episodes.sha256, **SHORT.learning_settings, "checkpoints": 3}
    first = OfflineTraining(episodes, SHORT, CPU)

    def save_snapshot():
        if first.updates.done == after:
            first.snapshot(request).write(tmp_path)

    first.run(checkpoint_updates=STOPS, on_checkpoint=save_snapshot)
    state = TrainingState(tmp_path, CHECKPOINTS, seconds=0.0)
    made = train_tdmpc2_offline(episodes, SHORT, CPU, TrainingHooks(state=state))
    state.finish(made)
    assert same_weights(weights_of(tmp_path), weights_of(whole)) and not (tmp_path / SNAPSHOT_FILE).exists()
    if after < SHORT.updates:
        assert without_time(read_card(tmp_path)) == without_time(read_card(whole))


def test_where_it_stands_is_saved_now_and_then(episodes, tmp_path):
    """At the end here; a training this short is looked at once."""
    assert SHORT.updates < UPDATES_BETWEEN_REPORTS
    state = TrainingState(tmp_path, seconds=0.0)
    made = train_tdmpc2_offline(episodes, SHORT, CPU, TrainingHooks(state=state))
    assert state.saved == SHORT.updates and (tmp_path / SNAPSHOT_FILE).exists()
    again = train_tdmpc2_offline(episodes, SHORT, CPU, TrainingHooks(state=TrainingState(tmp_path)))
    assert same_weights(made.model.network.state_dict(), again.model.network.state_dict())


def test_other_data_or_settings_in_the_same_folder_are_refused(episodes, folder, tmp_path):
    train_tdmpc2_offline(
        episodes, replace(SHORT, updates=1), CPU, TrainingHooks(state=TrainingState(tmp_path, seconds=0.0))
    )
    other = changed(episodes, sha256="0" * 64)
    with pytest.raises(BadInput, match=f"data {episodes.sha256}, now {other.sha256}"):
        train_tdmpc2_offline(other, replace(SHORT, updates=1), CPU, TrainingHooks(state=TrainingState(tmp_path)))
    with pytest.raises(BadInput, match="updates 1, now 7"):
        train_tdmpc2_offline(episodes, SHORT, CPU, TrainingHooks(state=TrainingState(tmp_path)))


def test_one_that_played_is_not_gone_on_with(episodes, tmp_path):
    """Nor the other way round."""
    interrupt_training(tmp_path / "played", 1, SHORT)
    with pytest.raises(BadInput, match="data None, now"):
        train_tdmpc2_offline(episodes, SHORT, CPU, TrainingHooks(state=TrainingState(tmp_path / "played")))
    train_tdmpc2_offline(episodes, SHORT, CPU, TrainingHooks(state=TrainingState(tmp_path / "stored", seconds=0.0)))
    with pytest.raises(BadInput, match="environment None, now point"):
        finish_training(tmp_path / "stored", SHORT)


def test_one_episode_is_refused(episodes):
    one = {name: getattr(episodes, name)[:1] for name in ("observations", "actions", "rewards")}
    with pytest.raises(BadInput, match="1 episode"):
        train_tdmpc2_offline(changed(episodes, **one), SHORT, CPU)


def test_two_episodes_are_enough(episodes):
    two = {name: getattr(episodes, name)[:2] for name in ("observations", "actions", "rewards")}
    card = train_tdmpc2_offline(changed(episodes, **two), replace(SHORT, updates=1), CPU).card
    assert all(math.isfinite(error) for error in card["errors"].values())


def test_episodes_shorter_than_the_horizon_are_refused(episodes):
    words = f"episodes of {LENGTH} decisions are shorter than the training horizon {LENGTH + 1}"
    with pytest.raises(BadInput, match=words):
        train_tdmpc2_offline(episodes, replace(SHORT, horizon=LENGTH + 1), CPU)


def test_a_loss_that_is_no_number_ends_the_training(episodes):
    """Rewards so large that their squares are none."""
    huge = changed(episodes, observations=np.full_like(episodes.observations, 3e38))
    with pytest.raises(DivergenceError, match=r"NaN or infinite.*7") as raised:
        train_tdmpc2_offline(huge, SHORT, CPU)
    best = raised.value.best
    assert best is not None and best.card["kept"]["weights"] == "of update 0" and best.card["fit"]["diverged"]


def test_the_card_says_only_what_was_in_force(episodes):
    made = train_tdmpc2_offline(episodes, replace(SHORT, updates=1), CPU)
    assert made.card["fit"]["batch"] == SHORT.batch
    assert not {"envs", "updates_per_step", "seed_steps"} & set(made.card["fit"])


@pytest.mark.parametrize("cell", [{"activation": "relu", "latent_norm": "none"}, {"half": True}], ids=str)
def test_other_kinds_are_trained_too(episodes, tmp_path, cell):
    made = train_tdmpc2_offline(episodes, replace(SHORT, updates=2, **cell), CPU)
    TrainingState(tmp_path).finish(made)
    assert same_weights(restore(tmp_path, WORLD).network.state_dict(), made.model.network.state_dict())
    assert all(read_card(tmp_path)["model"][name] == value for name, value in cell.items() if name != "half")
