"""What is on disk while a training goes on, and going on from it."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.training.tdmpc2.short_trainings import (
    CPU,
    ENVS,
    LENGTH,
    SETTINGS,
    WORLD,
    finish_training,
    interrupt_training,
    other_than,
    same_weights,
    weights_of,
    without_time,
)
from tests.training.tdmpc2.test_train import Breaking
from wmel.errors import BadInput
from wmel.machine import limit_threads
from wmel.training.checkpoints import read_card, restore
from wmel.training.stored_episodes import ROUND
from wmel.training.tdmpc2.online import DivergenceError, OnlineTraining
from wmel.training.tdmpc2.resume import SNAPSHOT_FILE, TrainingHooks, TrainingState
from wmel.training.tdmpc2.train import train_tdmpc2

CHECKPOINTS = 4
STOPS = (1, 2, 6, 15)  # fifteen to the power of a third is 2.47


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a training that was never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    with limit_threads(1):
        finish_training(folder, checkpoints=CHECKPOINTS)
    return folder


@pytest.mark.parametrize("updates", [1, 2, 7, 100, 100_000])
@pytest.mark.parametrize("checkpoints", [0, 1, 2, 3, 8, 40])
def test_checkpoints_are_evenly_spaced_in_the_logarithm(tmp_path, updates, checkpoints):
    stops = TrainingState(tmp_path, checkpoints).checkpoint_updates(updates)
    assert list(stops) == sorted(set(stops)) and len(stops) <= min(checkpoints, updates)
    assert all(isinstance(stop, int) and 1 <= stop <= updates for stop in stops)
    if checkpoints:
        assert stops[-1] == updates and (checkpoints == 1 or stops[0] == 1)
    if 1 < checkpoints <= 8 and updates == 100_000:
        gaps = np.diff(np.log(stops))
        assert len(stops) == checkpoints and gaps == pytest.approx(np.full(len(gaps), gaps.mean()), rel=0.1)


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_numbers_of_checkpoints_that_are_none_are_refused(count):
    with pytest.raises(BadInput, match=f"checkpoints must be .* got {count}"):
        replace(SETTINGS, checkpoints=count)


def test_every_finished_round_is_kept(whole):
    """As the replay had it, and not the last, which was left early."""
    training = OnlineTraining(WORLD, SETTINGS, CPU)
    training.run()
    state = TrainingState(whole)
    assert training.replay.round == 3 and training.replay.step == 3
    assert sorted(file.name for file in (whole / "episodes").glob("round*")) == [ROUND.format(at) for at in range(3)]
    for place in range(3):
        for stored, played in zip(state.episodes.round(place), training.replay.copy_round(place), strict=True):
            np.testing.assert_array_equal(stored, played)
    assert state.episodes.read().rewards.shape == (3 * ENVS, LENGTH)


def test_what_is_done_and_no_more_is_left_at_the_end(whole):
    assert sorted(file.name for file in whole.iterdir()) == [
        "card.json", "checkpoints", "episodes", "weights.safetensors"
    ]  # fmt: skip
    assert sorted(file.name for file in (whole / "checkpoints").iterdir()) == [f"{stop:07d}" for stop in STOPS]


@pytest.mark.parametrize("stop", STOPS)
def test_a_checkpoint_is_of_exactly_so_many_updates(whole, stop):
    """A training that ends there has the same weights, bit by bit."""
    folder = whole / "checkpoints" / f"{stop:07d}"
    card, model = read_card(folder), restore(folder, WORLD)
    assert card["fit"]["updates_taken"] == stop and card["kept"]["weights"] == f"of update {stop}"
    assert math.isfinite(card["policy_return"]["mean"]) and card["policy_return"]["episodes"] == 64
    training = OnlineTraining(WORLD, replace(SETTINGS, updates=stop), CPU)
    training.run()
    assert same_weights(model.network.agent.state_dict(), training.learner.network.state_dict())


def test_keeping_changes_nothing(whole):
    alone = train_tdmpc2(WORLD, SETTINGS, CPU)
    assert same_weights(weights_of(whole), alone.model.network.state_dict())
    card = {name: value for name, value in read_card(whole).items() if not name.endswith("_sha256")}
    assert without_time(card) == without_time(json.loads(json.dumps(alone.card)))


@pytest.mark.parametrize(("after", "saved"), [(1, None), (2, None), (3, None), (3, 1), (4, 2)])
def test_going_on_ends_where_it_would_have_ended(whole, tmp_path, after, saved):
    """Also where rounds after the last saving were played to their end: they are played again."""
    state = interrupt_training(tmp_path, after, checkpoints=CHECKPOINTS, saved=saved)
    assert state.saved == LENGTH * (min(saved or after, 3) - 1) and (tmp_path / SNAPSHOT_FILE).exists()
    again = TrainingState(tmp_path, CHECKPOINTS, seconds=0.0)
    reported = []
    made = train_tdmpc2(WORLD, SETTINGS, CPU, TrainingHooks(reported.append, state=again))
    again.finish(made)
    assert reported[0].updates > state.saved and not (tmp_path / SNAPSHOT_FILE).exists()
    assert same_weights(weights_of(tmp_path), weights_of(whole))
    assert without_time(read_card(tmp_path)) == without_time(read_card(whole))
    assert again.episodes.read().sha256 == TrainingState(whole).episodes.read().sha256
    for stop in STOPS:
        one, other = (folder / "checkpoints" / f"{stop:07d}" for folder in (tmp_path, whole))
        assert same_weights(weights_of(one), weights_of(other))
        assert without_time(read_card(one)) == without_time(read_card(other))


def test_time_goes_on_too(tmp_path):
    """Seconds of the curve never run backwards."""
    interrupt_training(tmp_path, 3)
    seconds = [point["seconds"] for point in finish_training(tmp_path).card["curve"]]
    assert len(seconds) == 4 and seconds == sorted(seconds)


def test_going_on_again_and_again(whole, tmp_path):
    for _ in range(3):
        interrupt_training(tmp_path, 1)
    finish_training(tmp_path)
    assert same_weights(weights_of(tmp_path), weights_of(whole))


@pytest.mark.parametrize("cell", [{"activation": "relu", "latent_norm": "none", "half": True}, {"seed": 5}], ids=str)
def test_other_kinds_go_on_too(tmp_path, cell):
    settings = replace(SETTINGS, updates=8, **cell)
    finish_training(tmp_path / "whole", settings)
    interrupt_training(tmp_path / "stopped", 2, settings)
    finish_training(tmp_path / "stopped", settings)
    assert same_weights(weights_of(tmp_path / "stopped"), weights_of(tmp_path / "whole"))


def test_one_that_was_stopped_after_its_last_update_goes_on(tmp_path):
    settings = replace(SETTINGS, updates=LENGTH)
    interrupt_training(tmp_path, 2, settings)
    made = finish_training(tmp_path, settings)
    alone = train_tdmpc2(WORLD, settings, CPU)
    assert same_weights(made.model.network.state_dict(), alone.model.network.state_dict())
    assert made.card["kept"] == alone.card["kept"] and made.card["fit"]["updates_taken"] == LENGTH


def test_nothing_is_saved_before_its_time(tmp_path):
    state = TrainingState(tmp_path, seconds=1e6)
    train_tdmpc2(WORLD, replace(SETTINGS, updates=1), CPU, TrainingHooks(state=state))
    assert (
        state.saved is None
        and not (tmp_path / SNAPSHOT_FILE).exists()
        and (tmp_path / "episodes" / ROUND.format(0)).exists()
    )


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """The folder of a training that was stopped."""
    folder = tmp_path_factory.mktemp("left")
    with limit_threads(1):
        interrupt_training(folder, 1)
    return folder


@pytest.mark.parametrize("name", other_than(SETTINGS))
def test_other_settings_in_the_same_folder_are_refused(left, name):
    with pytest.raises(BadInput) as raised:
        train_tdmpc2(WORLD, other_than(SETTINGS)[name], CPU, TrainingHooks(state=TrainingState(left, seconds=0.0)))
    then, now = getattr(SETTINGS, name), getattr(other_than(SETTINGS)[name], name)
    for words in (f"{name.replace('_', ' ')} {then}, now {now}", f"remove {left / SNAPSHOT_FILE}"):
        assert words in str(raised.value)


def test_a_refused_training_leaves_everything_as_it_was(whole, tmp_path):
    interrupt_training(tmp_path, 2)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(BadInput):
        train_tdmpc2(WORLD, replace(SETTINGS, batch=5), CPU, TrainingHooks(state=TrainingState(tmp_path, seconds=0.0)))
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("name", ["learner.scale", "learner.network.reward.1.bias", "draws.host"])
def test_one_with_tensors_missing_is_refused(tmp_path, name):
    """As a file of another version might be."""
    interrupt_training(tmp_path, 2)
    with safe_open(tmp_path / SNAPSHOT_FILE, framework="pt") as file:
        metadata = file.metadata()
    tensors = {key: value for key, value in load_file(tmp_path / SNAPSHOT_FILE).items() if not key.startswith(name)}
    save_file(tensors, tmp_path / SNAPSHOT_FILE, metadata)
    with pytest.raises(BadInput, match="unfinished"):
        finish_training(tmp_path)


def test_episodes_that_are_gone_are_said(tmp_path):
    interrupt_training(tmp_path, 2)
    (tmp_path / "episodes" / ROUND.format(1)).unlink()
    with pytest.raises(BadInput, match=r"cannot read the episodes .*round-00001"):
        finish_training(tmp_path)


def test_episodes_of_another_shape_are_refused(tmp_path):
    interrupt_training(tmp_path, 2)
    shorter = (np.zeros((LENGTH, ENVS, 2), np.float32), np.zeros((LENGTH - 1, ENVS, 1), np.float32))
    TrainingState(tmp_path).episodes.add(1, *shorter, np.zeros((LENGTH - 1, ENVS), np.float32))
    with pytest.raises(BadInput, match="round 1 of the episodes"):
        finish_training(tmp_path)


def test_a_finished_training_is_never_begun_anew(tmp_path):
    finish_training(tmp_path, checkpoints=3)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for settings in (SETTINGS, replace(SETTINGS, updates=3)):
        with pytest.raises(BadInput, match=f"{tmp_path}.*give another --output"):
            finish_training(tmp_path, settings, checkpoints=2)
    assert files == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_other_checkpoints_on_the_way_are_another_training(tmp_path):
    interrupt_training(tmp_path, 2, checkpoints=3)
    with pytest.raises(BadInput, match="checkpoints 3, now 2"):
        finish_training(tmp_path, checkpoints=2)


def test_a_new_training_after_one_that_was_never_saved_has_only_its_own_episodes_and_checkpoints(tmp_path):
    finish_training(tmp_path, checkpoints=3)
    (tmp_path / "card.json").unlink()
    finish_training(tmp_path, replace(SETTINGS, updates=3), checkpoints=2)
    assert [file.name for file in (tmp_path / "episodes").glob("round*")] == [ROUND.format(0)]
    assert sorted(file.name for file in (tmp_path / "checkpoints").iterdir()) == ["0000001", "0000003"]


def test_what_others_put_beside_checkpoints_is_in_nobodys_way(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "notes.txt").write_text("mine")
    finish_training(tmp_path, replace(SETTINGS, updates=1), checkpoints=1)
    assert sorted(file.name for file in (tmp_path / "checkpoints").iterdir()) == ["0000001", "notes.txt"]


def diverging(folder, steps: int) -> DivergenceError:
    """How a training ends whose rewards are numbers for so many steps of its episodes."""
    with pytest.raises(DivergenceError) as raised:
        train_tdmpc2(
            Breaking(WORLD, 1 + steps),
            replace(SETTINGS, updates=100),
            CPU,
            TrainingHooks(state=TrainingState(folder, seconds=0)),
        )
    return raised.value


def test_where_a_loss_is_no_number_the_episodes_before_stay(tmp_path):
    ended = diverging(tmp_path, 2 * LENGTH + 2)
    episodes = TrainingState(tmp_path).episodes.read()
    assert episodes.rewards.shape == (2 * ENVS, LENGTH) and ended.best is not None
    assert all(torch.isfinite(value).all() for value in ended.best.model.network.state_dict().values())


def test_a_last_round_with_rewards_that_are_no_numbers_spoils_no_others(tmp_path):
    """One at its last step is noticed by the next update only, when the round is over."""
    diverging(tmp_path, 3 * LENGTH - 1)
    assert len(TrainingState(tmp_path).episodes.read().rewards) == 2 * ENVS
