"""Episodes on disk: what is written is read, what is broken is refused, and what is drawn is of the environment."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.training.tdmpc2.point import HIGH, LOW, Point
from wmel import catalog
from wmel.errors import BadInput, CannotWrite
from wmel.training.checkpoints import describe_environment
from wmel.training.fitted import read_stored
from wmel.training.mlp import LatentMLPTrainer, MLPTrainer
from wmel.training.stored_episodes import DESCRIPTION, PARTS, ROUND, EpisodesFolder

LENGTH, ENVS, ROUNDS = 7, 5, 4
EPISODES = ENVS * ROUNDS
WORLD = Point(LENGTH)


def round_of(place: int, envs: int = ENVS, length: int = LENGTH) -> tuple[np.ndarray, ...]:
    """Random actions in the point's world, as a training has them: [L+1,E,O], [L,E,A], [L,E]."""
    acted = np.random.default_rng(place).uniform(-1, 1, size=(length, envs, 1)).astype(np.float32)
    states = WORLD.reset(100 * place + np.arange(envs))
    seen, earned = [WORLD.observe(states)], []
    for actions in acted:
        own = LOW + (actions + 1) / 2 * (HIGH - LOW)
        after = WORLD.step(states, own)
        earned.append(WORLD.quantities(states, own, after)["reward"])
        seen.append(WORLD.observe(after))
        states = after
    return np.stack(seen).astype(np.float32), acted, np.stack(earned).astype(np.float32)


@pytest.fixture
def folder(tmp_path):
    made = EpisodesFolder(tmp_path / "episodes")
    made.begin({**describe_environment(WORLD), "init": None})
    for place in range(ROUNDS):
        made.add(place, *round_of(place))
    return made


def file_of(folder: EpisodesFolder, place: int = 1):
    return folder.path / ROUND.format(place)


def test_what_is_added_is_read_back_bit_by_bit(folder):
    episodes = folder.read()
    assert episodes.observations.shape == (EPISODES, LENGTH + 1, 2)
    for place in range(ROUNDS):
        mine = slice(place * ENVS, (place + 1) * ENVS)
        parts = episodes.observations[mine], episodes.actions[mine], episodes.rewards[mine]
        for read, again, expected in zip(parts, folder.round(place), round_of(place), strict=True):
            np.testing.assert_array_equal(again, expected)
            np.testing.assert_array_equal(read.swapaxes(0, 1), expected)
    assert episodes.described["environment"] == "point" and episodes.described["observation"] == ["place", "speed"]


def test_a_round_that_is_no_contiguous_array_is_stored_as_it_looks(folder):
    """As a slice of a larger array, or one with its axes swapped, would be."""
    seen, acted, earned = round_of(0)
    turned = np.ascontiguousarray(seen.swapaxes(0, 1)).swapaxes(0, 1)
    folder.add(0, turned, acted, np.repeat(earned, 2, axis=1)[:, ::2])
    for read, expected in zip(folder.round(0), round_of(0), strict=True):
        np.testing.assert_array_equal(read, expected)


def test_the_hash_is_of_the_numbers_alone(folder, tmp_path):
    first = folder.read().sha256
    shutil.copytree(folder.path, tmp_path / "elsewhere")
    assert EpisodesFolder(tmp_path / "elsewhere").read().sha256 == first
    seen, acted, earned = round_of(1)
    earned[2, 3] += 1e-3
    folder.add(1, seen, acted, earned)
    assert folder.read().sha256 != first
    folder.add(1, *round_of(1))
    assert folder.read().sha256 == first


def test_beginning_anew_removes_the_rounds_and_nothing_else(folder):
    (folder.path / "notes.txt").write_text("mine")
    folder.begin({**describe_environment(WORLD), "init": None})
    assert sorted(file.name for file in folder.path.iterdir()) == [DESCRIPTION, "notes.txt"]
    with pytest.raises(BadInput, match="finished round of episodes"):
        folder.read()


def test_a_draft_that_was_never_finished_is_not_read(folder):
    """What a kill in the middle of writing leaves behind."""
    first = folder.read().sha256
    (folder.path / f".{ROUND.format(9)}.123").write_bytes(b"half")
    assert folder.read().sha256 == first


def test_own_actions_lie_in_their_range_and_say_the_same(folder):
    episodes = folder.read()
    own = episodes.unscaled_actions
    assert (own >= LOW).all() and (own <= HIGH).all() and own.max() > 1.5 and own.min() < 0.5
    np.testing.assert_allclose((own - LOW) / (HIGH - LOW) * 2 - 1, episodes.actions, atol=1e-6)


def test_the_ends_of_the_actions_are_the_ends_of_their_range(tmp_path):
    """In any range: what is added in single precision may end beside it."""
    rng = np.random.default_rng(0)
    low = rng.uniform(-10, 0, size=200)
    high = low + rng.uniform(0.01, 20, size=200)
    described = {**describe_environment(WORLD), "init": None}
    described["actions"] = {"names": None, "values": None, "bounds": [low.tolist(), high.tolist()]}
    made = EpisodesFolder(tmp_path)
    made.begin(described)
    ends = np.stack([np.full((2, 200), -1.0), np.full((2, 200), 1.0)]).astype(np.float32)
    made.add(0, np.zeros((3, 2, 2), np.float32), ends, np.zeros((2, 2), np.float32))
    own = made.read().unscaled_actions
    least, most = made.read().bounds
    assert (own >= least).all() and (own <= most).all()


@pytest.mark.parametrize("transitions", [1, 6, 7, 8, 60, 120, 126])
def test_what_is_collected_is_of_the_environment(folder, transitions):
    """Each transition, stepped again in the environment, ends where it was stored to end and earns the same."""
    collected = folder.read().sample_dataset(transitions, seed=3)
    data, held = collected.training, collected.held_out
    assert len(data) == transitions and collected.episodes == -(-transitions // LENGTH)
    after = WORLD.step(data.observations.astype(float), data.actions.astype(float))
    np.testing.assert_allclose(WORLD.observe(after), data.next_observations, atol=1e-5)
    rewards = WORLD.quantities(data.observations, data.actions, after)["reward"]
    np.testing.assert_allclose(rewards, data.rewards, atol=1e-4)
    same = data.episodes[1:] == data.episodes[:-1]
    np.testing.assert_array_equal(data.observations[1:][same], data.next_observations[:-1][same])
    assert (np.bincount(data.episodes)[:-1] == LENGTH).all() and (data.actions >= LOW).all()
    assert len(held["steps"]) == max(1, collected.episodes // 10) and (held["steps"] == LENGTH).all()
    np.testing.assert_array_equal(held["observations"][:, 1:], held["next_observations"][:, :-1])
    after = WORLD.step(held["observations"].reshape(-1, 2).astype(float), held["actions"].reshape(-1, 1))
    np.testing.assert_allclose(after, held["next_observations"].reshape(-1, 2), atol=1e-5)


def test_no_episode_is_both_learned_from_and_held_out(folder):
    episodes = folder.read()
    held_out = set()
    for seed in range(20):
        collected = episodes.sample_dataset(100, seed)
        begun = {row.tobytes() for row in collected.training.observations}
        held = {row.tobytes() for row in collected.held_out["observations"][:, 0]}
        assert not begun & held
        held_out |= held
    assert len(held_out) > 10


def test_the_seed_decides_which_episodes_are_drawn(folder):
    episodes = folder.read()
    one, same, other = (episodes.sample_dataset(50, seed).training.sha256 for seed in (0, 0, 1))
    assert one == same != other


@pytest.mark.parametrize(
    ("transitions", "words"),
    [(EPISODES * LENGTH, "20 episodes and 2 held out"), (10**9, "the stored data have 20")],
)
def test_more_than_there_is_is_refused(folder, transitions, words):
    with pytest.raises(BadInput, match=f"{transitions} transitions .*{words}"):
        folder.read().sample_dataset(transitions, 0)


def changed(folder, **arrays):
    """One round with some of its arrays replaced."""
    save_file(load_file(file_of(folder)) | arrays, file_of(folder))


def cut(folder):
    file_of(folder).write_bytes(file_of(folder).read_bytes()[:-8])


def without_rewards(folder):
    save_file({name: array for name, array in load_file(file_of(folder)).items() if name != "rewards"}, file_of(folder))


def with_nan(folder):
    seen = round_of(1)[0]
    seen[3, 2, 0] = np.nan
    changed(folder, observations=seen)


def too_far(folder):
    done = round_of(1)[1]
    done[0, 0] = 1.5
    changed(folder, actions=done)


def with_infinity(folder):
    earned = round_of(1)[2]
    earned[0, 0] = np.inf
    changed(folder, rewards=earned)


def narrower(folder):
    folder.add(1, *round_of(1, envs=ENVS - 1))


def shorter(folder):
    folder.add(1, *round_of(1, length=LENGTH - 1))


def flat(folder):
    changed(folder, rewards=np.zeros(LENGTH * ENVS, np.float32))


def all_flat(folder):
    for place in range(ROUNDS):
        save_file({name: np.zeros(3, np.float32) for name in PARTS}, file_of(folder, place))


def misplaced(folder):
    """Alike in all rounds, and an observation missing."""
    for place in range(ROUNDS):
        seen, acted, earned = round_of(place)
        folder.add(place, seen[:-1], acted, earned)


def a_folder(folder):
    file_of(folder).unlink()
    file_of(folder).mkdir()


def by_hand(folder):
    shutil.copy(file_of(folder), folder.path / "round-00001 (copy).safetensors")


BROKEN = {
    cut: "cannot read the episodes .*round-00001",
    without_rewards: "cannot read the episodes .*rewards",
    with_nan: "round-00001.* observations contain NaN", with_infinity: "rewards contain NaN",
    too_far: r"actions lie outside \[-1, 1\]",
    narrower: "different shapes", shorter: "different shapes", flat: "different shapes", all_flat: "episodes",
    misplaced: "do not match episodes.json", a_folder: "cannot read the episodes", by_hand: "copy",
}  # fmt: skip


@pytest.mark.parametrize("harm", BROKEN, ids=lambda harm: harm.__name__)
def test_what_is_damaged_is_refused(folder, harm):
    harm(folder)
    with pytest.raises(BadInput, match=BROKEN[harm]) as raised:
        folder.read()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "null", '{"environment": "x", "observation": ["a"], "actions": {"bounds": null}}',
     '{"environment": 1, "observation": ["a"], "actions": {"bounds": [[0], [1]]}}',
     '{"environment": "x", "observation": 3, "actions": {"bounds": [[0], [1]]}}',
     '{"environment": "x", "observation": ["a"], "actions": {"bounds": [[0], [1, 2]]}}', "\xff",
     '{"environment": "x", "observation": ["a"], "actions": {"bounds": [["a"], ["b"]]}}',
     '{"environment": "x", "observation": ["a"], "actions": {"bounds": [[0], [NaN]]}}',
     '{"environment": "x", "observation": ["a"], "actions": {"bounds": [[1], [0]]}}',
     '{"environment": "x", "observation": ["a"], "actions": {"bounds": [[0], [0]]}}'],
)  # fmt: skip
def test_a_description_that_describes_nothing_is_refused(folder, text):
    (folder.path / DESCRIPTION).write_text(text, encoding="latin-1")
    with pytest.raises(BadInput, match=r"episodes\.json"):
        folder.read()


def test_a_description_of_something_else_is_refused(folder):
    described = json.loads((folder.path / DESCRIPTION).read_text())
    (folder.path / DESCRIPTION).write_text(json.dumps({**described, "observation": ["place"]}))
    with pytest.raises(BadInput, match=r"do not match episodes\.json"):
        folder.read()


@pytest.mark.parametrize("where", ["nothing", "file"])
def test_where_there_are_no_episodes_that_is_said(tmp_path, where):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"cannot read .*episodes\.json"):
        EpisodesFolder(tmp_path / where).read()


def test_where_nothing_can_be_written_that_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match=r"cannot write .*episodes"):
        EpisodesFolder(tmp_path / "file" / "episodes").begin({})
    with pytest.raises(CannotWrite, match=r"cannot write .*episodes"):
        EpisodesFolder(tmp_path / "file" / "episodes").add(0, *round_of(0))


def test_another_environment_is_refused(folder):
    with pytest.raises(BadInput, match=r"point .* dmc:cartpole-swingup"):
        read_stored(folder.path, catalog.environment("dmc:cartpole-swingup"), 10, 0)


def test_the_same_world_with_other_actions_is_refused(folder):
    described = json.loads((folder.path / DESCRIPTION).read_text())
    described["actions"]["bounds"] = [[-1.0], [2.0]]
    (folder.path / DESCRIPTION).write_text(json.dumps(described))
    with pytest.raises(BadInput, match="observations, actions or action"):
        read_stored(folder.path, WORLD, 10, 0)


@pytest.mark.parametrize("unavailable", [{"epsilon": 0.1}, {"episode_steps": 10}, {"epsilon": 0.0}])
def test_what_stored_episodes_cannot_be_asked_for_is_refused(unavailable):
    with pytest.raises(BadInput, match="episode_steps have no effect"):
        MLPTrainer(collect="stored", **unavailable).resolve(WORLD)
    with pytest.raises(BadInput, match="episode_steps have no effect"):
        MLPTrainer(data="somewhere", **unavailable).resolve(WORLD)
    with pytest.raises(BadInput, match="leave out collect 'random'"):
        MLPTrainer(data="somewhere", collect="random")


def test_stored_episodes_must_be_somewhere():
    with pytest.raises(BadInput, match="requires `data`"):
        MLPTrainer(collect="stored").resolve(WORLD).gather(WORLD)


@pytest.mark.parametrize("kind", [MLPTrainer, LatentMLPTrainer])
def test_a_model_of_stored_episodes_knows_where_they_are_from(folder, kind):
    how = kind(data=str(folder.path), transitions=100, epochs=2).resolve(WORLD)
    data = how.gather(WORLD)
    card = how.learn(WORLD, data).card
    assert card["collect"]["policy"] == "stored" and card["data"]["transitions"] == 100
    assert card["data"]["held_out_transitions"] == LENGTH and card["data"]["sha256"] == data.training.sha256
