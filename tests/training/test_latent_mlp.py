"""Training a latent model: windows, what is learned, checkpoints."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.testing.wrapped import Wrapped
from wmel import catalog
from wmel.errors import BadInput
from wmel.training.checkpoints import build_untrained, restore, write_checkpoint
from wmel.training.data import Dataset, Transitions, collect, list_transitions, network_input, window_indices
from wmel.training.mlp import LatentMLPTrainer

SHORT = LatentMLPTrainer(hidden=(32,), latent=8, epochs=20, learning_rate=6e-3, decay=True)


def learned(world, data, trainer=SHORT):
    return trainer.resolve(world).learn(world, data)


@pytest.fixture(scope="module")
def swingup():
    world = catalog.environment("dmc:cartpole-swingup")
    data = collect(world, catalog.policy("random", world), 1500, episode_steps=100)
    return world, data, learned(world, data)


def test_it_learns_what_it_is_shown(swingup):
    """Ten times better than the network it began with; rewards three times better than their average."""
    world, data, made = swingup
    before = learned(world, data, replace(SHORT, epochs=1, learning_rate=1e-9)).card["errors"]
    errors = made.card["errors"]
    for name in ("training_mse", "held_out_transition_mse", "held_out_episode_mse"):
        assert errors[name] < 0.1 * before[name], name
    assert errors["open_loop_rmse"][9] < 0.5 * before["open_loop_rmse"][9]
    seen = Transitions.of(data.held_out).rewards
    assert errors["held_out_episode_reward_mse"] < 0.33 * seen.var()
    assert errors["open_loop_rmse"][0] == pytest.approx(errors["held_out_episode_mse"] ** 0.5, rel=1e-6)


def test_its_errors_are_those_of_the_model(swingup):
    """Encoded, stepped and decoded by hand; held out are the whole episodes the seed's shuffle puts first."""
    world, data, made = swingup
    held = np.random.default_rng(0).permutation(15)[:1]
    of_held = np.isin(data.training.episodes, held)

    def errors(rows: Transitions) -> tuple[float, float]:
        acted = torch.as_tensor(network_input(world.spec.actions, rows.actions))
        latents = made.model.network.encode(torch.as_tensor(rows.observations, dtype=torch.float32))
        after = made.model.decode(made.model.step(latents, acted)).numpy()
        rewards = made.model.network.rewards(latents, acted).numpy()
        return np.square(after - rows.next_observations).mean(), np.square(rewards - rows.rewards).mean()

    card, whole = made.card["errors"], Transitions.of(data.held_out)
    fitted = data.training.rows(np.flatnonzero(~of_held))
    assert (card["training_mse"], card["training_reward_mse"]) == pytest.approx(errors(fitted), rel=1e-3)
    assert (card["held_out_episode_mse"], card["held_out_episode_reward_mse"]) == pytest.approx(errors(whole), rel=1e-3)
    assert card["held_out_transition_mse"] == pytest.approx(
        errors(data.training.rows(np.flatnonzero(of_held)))[0], rel=1e-3
    )


def test_the_same_seed_gives_the_same_weights_and_another_does_not(swingup):
    world, data, made = swingup
    same, other = (learned(world, data, replace(SHORT, seed=seed)) for seed in (0, 1))
    assert same.model.spec.weights == made.model.spec.weights != other.model.spec.weights


def test_a_checkpoint_gives_back_the_model(swingup, tmp_path):
    world, _, made = swingup
    write_checkpoint(tmp_path, made.model.network.state_dict(), made.card)
    again = restore(tmp_path, world)
    latents, acted = torch.randn(7, 8), torch.randn(7, 1)
    assert torch.equal(again.step(latents, acted), made.model.step(latents, acted))
    assert again.spec == made.model.spec and again.spec.action_input == "value"


@pytest.mark.parametrize(
    ("change", "words"),
    [({"latent": 9}, "do not match the card"), ({"hidden": None}, "card of kind latent-mlp"),
     ({"kind": "mlp", "target": "delta"}, "do not match the card")],
)  # fmt: skip
def test_a_card_that_is_not_of_its_weights_is_refused(swingup, tmp_path, change, words):
    world, _, made = swingup
    card = {**made.card, "model": {**made.card["model"], **change}}
    write_checkpoint(tmp_path, made.model.network.state_dict(), card)
    with pytest.raises(BadInput, match=words):
        restore(tmp_path, world)


def test_the_card_says_what_it_was_trained_on(swingup):
    _, data, made = swingup
    card = made.card
    assert card["model"]["kind"] == "latent-mlp" and card["model"]["latent"] == 8 and card["model"]["window"] == 5
    assert card["data"]["sha256"] == data.training.sha256 and card["data"]["held_out_transitions"] == 100
    assert card["coverage"]["axis"] == "uprightness" and card["fit"]["epochs_taken"] == 20
    json.dumps(card)


def test_windows_never_cross_episodes():
    episodes = np.repeat([0, 1, 3], [4, 2, 5])
    found = window_indices(episodes, 3)
    assert found.tolist() == [[0, 1, 2], [1, 2, 3], [6, 7, 8], [7, 8, 9], [8, 9, 10]]
    assert window_indices(episodes, 9).tolist() == [[6, 7, 8, 9, 10]]  # none is longer
    assert window_indices(np.arange(3), 5).tolist() == [[0], [1], [2]]


def test_finite_actions_are_learned_one_hot():
    world = catalog.environment("dmc_cartpole")
    how = LatentMLPTrainer(transitions=120, episode_steps=30, epochs=2).resolve(world)
    made = how.learn(world, how.gather(world))
    assert made.model.spec.action_input == "one_hot"
    assert made.card["collect"] == {
        "policy": "random", "transitions": 120, "epsilon": 0.0, "episode_steps": 30, "seed": 0
    }  # fmt: skip
    shape = {name: value.shape for name, value in build_untrained(world, how).network.state_dict().items()}
    assert shape == {name: value.shape for name, value in made.model.network.state_dict().items()}


@pytest.mark.parametrize("world", ["maze_toy", "two_room_toy"])
def test_a_world_without_reward_is_refused_with_the_way_out(world):
    world = catalog.environment(world)
    words = f"{world.spec.name} has none: train mlp instead"
    with pytest.raises(BadInput, match=words):
        SHORT.resolve(world)
    whole = replace(SHORT, batch=256, held_out=0.0)
    with pytest.raises(BadInput, match=words):
        whole.learn(world, list_transitions(world))


class Rewarded(Wrapped):
    """A grid whose reward is the distance left, with a minus."""

    def every_state(self):
        return self.world.every_state()

    def quantities(self, states, actions, next_states):
        distances = self.world.quantities(states, actions, next_states)
        return {**distances, "reward": -distances["distance"]}


def test_a_grid_that_rewards_is_learned_from_every_transition():
    """They follow no order, so each is a window of its own."""
    world = Rewarded(catalog.environment("maze_toy"))
    how = LatentMLPTrainer(epochs=150).resolve(world)
    made = how.learn(world, how.gather(world))
    errors = made.card["errors"]
    assert how.collect == "all" and errors["training_mse"] < 0.2 and errors["training_reward_mse"] < 0.2
    assert errors["held_out_transition_mse"] is None and errors["held_out_episode_reward_mse"] is None


@pytest.mark.parametrize(("rewards", "words"), [(None, "have none"), (np.full(1500, np.nan), "NaN")])
def test_rewards_that_cannot_be_learned_are_refused(swingup, rewards, words):
    world, data, _ = swingup
    with pytest.raises(BadInput, match=words):
        spoiled = Dataset(replace(data.training, rewards=rewards), data.held_out)
        learned(world, spoiled)


@pytest.mark.parametrize(
    ("values", "words"),
    [({"target": "delta"}, "'latent-mlp' has no.*'target'"), ({"latent": 0}, "latent must be .* got 0"),
     ({"window": 0}, "window must be .* got 0"), ({"hidden": []}, "at least one layer")],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(values, words):
    with pytest.raises(BadInput, match=words):
        catalog.TRAINERS.build("latent-mlp", **values)


def test_patience_needs_an_episode_to_hold_out(swingup):
    world, data, _ = swingup
    few = Dataset(data.training.first(300), data.held_out)  # of 3 episodes
    with pytest.raises(BadInput, match="patience needs data held out"):
        learned(world, few, replace(SHORT, epochs=2, patience=1))
