"""Every number stored says where it belongs: round, episode and step can be read off a window."""

import numpy as np
import pytest
import torch
from scipy import stats

from wmel.errors import BadInput
from wmel.training.tdmpc2.replay import Replay

ENVS, LENGTH, HORIZON, ROUNDS = 3, 7, 2, 3
EACH = LENGTH - HORIZON + 1
CPU = torch.device("cpu")


def blank(rounds=ROUNDS, length=LENGTH, envs=ENVS, horizon=HORIZON) -> Replay:
    return Replay.blank(rounds, length, envs, 4, 2, horizon, CPU)


def observed(round: int, step: int) -> torch.Tensor:
    """[E,4]: round, episode, step, and one: no cell never written looks like this."""
    return torch.stack([torch.tensor([round, env, step, 1.0]) for env in range(ENVS)])


def add(replay: Replay, round: int, step: int) -> None:
    """The action of a step is its observation's place and step, plus a half; the reward counts all."""
    here = observed(round, step)
    replay.add_step(here[:, 1:3] + 0.5, 100 * round + 10 * here[:, 1] + step + 0.25, observed(round, step + 1))


def filled(steps: int, **settings) -> Replay:
    """So many decisions of all episodes, a new round whenever the last is over."""
    replay = blank(**settings)
    for now in range(steps):
        if now % LENGTH == 0:
            replay.begin_round(observed(now // LENGTH, 0))
        add(replay, now // LENGTH, now % LENGTH)
    return replay


def places(replay: Replay, batch: int, seed: int = 0) -> np.ndarray:
    """Round, episode and first step of sampled windows [n,3], after checking all else of them."""
    torch.manual_seed(seed)
    observations, actions, rewards = replay.sample(batch)
    horizon = replay.horizon
    assert observations.shape == (horizon + 1, batch, 4)
    assert actions.shape == (horizon, batch, 2) and rewards.shape == (horizon, batch)
    first = observations[0, :, :3]
    for ahead in range(horizon + 1):
        here = first + torch.tensor([0, 0, ahead])
        assert torch.equal(observations[ahead, :, :3], here) and (observations[ahead, :, 3] == 1).all()
        if ahead < horizon:
            assert torch.equal(actions[ahead], here[:, 1:] + 0.5)
            assert torch.equal(rewards[ahead], here @ torch.tensor([100.0, 10, 1]) + 0.25)
    return first.long().numpy()


@pytest.mark.parametrize(
    "steps", [HORIZON, HORIZON + 1, LENGTH - 1, LENGTH, LENGTH + 1, LENGTH + 2, 2 * LENGTH, 20, 21]
)
def test_every_finished_window_and_no_other_is_drawn(steps):
    """Of each round those that are over; of the last those whose last observation was seen."""
    samples = {tuple(place) for place in places(filled(steps), 3000).tolist()}
    rounds, left = divmod(steps, LENGTH)
    valid = {(done, env, start) for done in range(rounds) for env in range(ENVS) for start in range(EACH)}
    valid |= {(rounds, env, start) for env in range(ENVS) for start in range(max(left - HORIZON + 1, 0))}
    assert samples == valid


@pytest.mark.parametrize("steps", [LENGTH, LENGTH + 4, 3 * LENGTH])
def test_windows_are_drawn_alike(steps):
    _, counts = np.unique(places(filled(steps), 30_000), axis=0, return_counts=True)
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("horizon", [1, 3, LENGTH])
def test_any_horizon_that_fits_is_sampled(horizon):
    starts = places(filled(2 * LENGTH, horizon=horizon), 500)[:, 2]
    assert set(starts.tolist()) == set(range(LENGTH - horizon + 1))


def test_a_new_round_adds_nothing_until_a_window_is_over():
    replay = filled(LENGTH)
    replay.begin_round(observed(1, 0))
    assert set(places(replay, 300)[:, 0].tolist()) == {0}
    add(replay, 1, 0)
    assert set(places(replay, 300)[:, 0].tolist()) == {0}
    add(replay, 1, 1)
    assert set(places(replay, 300)[:, 0].tolist()) == {0, 1}


def test_the_seed_of_torch_decides_what_is_drawn():
    replay = filled(2 * LENGTH)
    assert np.array_equal(places(replay, 50), places(replay, 50))
    assert not np.array_equal(places(replay, 50), places(replay, 50, seed=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stored_episodes_come_back_whole(dtype):
    rng = np.random.default_rng(0)
    observations, actions = rng.normal(size=(5, 10, 4)).astype(dtype), rng.normal(size=(5, 9, 2)).astype(dtype)
    rewards = rng.normal(size=(5, 9)).astype(dtype)
    replay = Replay.of(observations, actions, rewards, 9, CPU)
    torch.manual_seed(0)
    windows = replay.sample(200)
    found = [int(np.abs(observations[:, 0] - first).sum(1).argmin()) for first in windows[0][0].numpy()]
    assert set(found) == set(range(5))
    for made, stored in zip(windows, (observations, actions, rewards), strict=True):
        np.testing.assert_array_equal(made.numpy(), np.moveaxis(stored[found].astype(np.float32), 0, 1))


def test_windows_of_stored_episodes_are_drawn_alike():
    episodes, steps = np.meshgrid(np.arange(4), np.arange(8), indexing="ij")
    observations = np.stack([episodes, steps], -1).astype(float)
    replay = Replay.of(observations, np.zeros((4, 7, 1)), np.zeros((4, 7)), 3, CPU)
    torch.manual_seed(0)
    first = replay.sample(20_000)[0][0].numpy()
    seen, counts = np.unique(first, axis=0, return_counts=True)
    assert len(seen) == 4 * 5 and seen[:, 1].max() == 4 and stats.chisquare(counts).pvalue > 1e-3


def test_what_was_given_is_copied():
    observations, actions, rewards = np.zeros((1, 4, 2), np.float32), np.zeros((1, 3, 1), np.float32), np.zeros((1, 3))
    replay = Replay.of(observations, actions, rewards, 3, CPU)
    observations += 1
    assert not replay.sample(4)[0].any()


def stored_short() -> Replay:
    return Replay.of(np.zeros((1, 3, 1)), np.zeros((1, 2, 1)), np.zeros((1, 2)), 3, CPU)


@pytest.mark.parametrize("make", [lambda: blank(length=2, horizon=3), stored_short])
def test_episodes_shorter_than_the_horizon_are_refused(make):
    with pytest.raises(BadInput, match=r"2 decisions are.*3"):
        make()


def test_a_round_left_early_offers_only_what_was_played():
    replay = blank()
    replay.begin_round(observed(0, 0))
    for step in range(3):
        add(replay, 0, step)
    replay.begin_round(observed(1, 0))
    for step in range(3):
        add(replay, 1, step)
    assert places(replay, 500)[:, 2].max() == 1


def test_there_is_nothing_to_draw_before_a_window_is_over():
    with pytest.raises(BadInput):
        filled(HORIZON - 1).sample(4)


def test_arrays_that_do_not_belong_together_are_refused():
    with pytest.raises(BadInput):
        Replay.of(np.zeros((5, 10, 4)), np.zeros((5, 9, 2)), np.zeros((1, 9)), 3, CPU)
