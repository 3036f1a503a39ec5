"""Training, checkpoints and what a card says."""

import json
import pickle
from importlib.metadata import version

import numpy as np
import pytest
import torch

from wmel import catalog
from wmel.errors import BadInput
from wmel.training.checkpoints import read_checkpoint, restore, write_checkpoint
from wmel.training.data import Dataset, Transitions, collect, list_transitions, network_input
from wmel.training.mlp import MLPTrainer


def learned(world, data, **settings):
    return MLPTrainer(**settings).resolve(world).learn(world, data)


@pytest.fixture(scope="module")
def trained():
    world = catalog.environment("dmc_cartpole")
    data = collect(world, catalog.policy("random", world), 1500)
    return world, data, learned(world, data, hidden=(32,), target="delta", epochs=30)


def test_it_learns_what_it_is_shown(trained):
    _, data, made = trained
    errors = made.card["errors"]
    still = np.square(data.training.next_observations - data.training.observations).mean()
    assert errors["training_mse"] < 0.25 * still  # four times better than saying that nothing moves
    assert errors["held_out_transition_mse"] < 0.5 * still
    assert errors["open_loop_rmse"][0] == pytest.approx(errors["held_out_episode_mse"] ** 0.5, rel=1e-6)
    assert errors["open_loop_rmse"][-1] > errors["open_loop_rmse"][0]


def test_a_linear_world_is_fitted():
    """Next = A x + B u: at least 99% of the variance of what was held out is explained."""
    rng = np.random.default_rng(0)
    world = catalog.environment("dmc:point_mass-easy")
    seen, acted = rng.normal(size=(4000, 4)), rng.uniform(-1, 1, (4000, 2))
    after = seen + 0.1 * seen[:, ::-1] + 0.2 * acted.repeat(2, axis=1)
    held = {"observations": seen[:9, None], "actions": acted[:9, None], "next_observations": after[:9, None]}
    data = Dataset(Transitions(seen, acted, after, np.arange(4000)), {**held, "steps": np.ones(9, int)})
    made = learned(world, data, hidden=(64, 64), target="delta", epochs=60)
    assert made.card["errors"]["held_out_transition_mse"] < 0.01 * (after - seen).var()


def test_the_same_seed_gives_the_same_weights_and_another_does_not(trained):
    world, data, made = trained

    def weights(seed):
        again = learned(world, data, hidden=(32,), target="delta", epochs=30, seed=seed)
        return again.model.network.state_dict()

    one, same, other = made.model.network.state_dict(), weights(0), weights(1)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_patience_stops_early_and_keeps_the_best(trained):
    world, data, _ = trained
    made = learned(world, data, hidden=(32,), target="delta", epochs=400, learning_rate=0.02, patience=3)
    assert made.card["fit"]["epochs_taken"] < 400


def test_the_maze_is_learned_without_a_mistake():
    world = catalog.environment("maze_toy")
    made = learned(world, list_transitions(world))
    errors = made.card["errors"]
    assert errors["training_mse"] == 0
    assert errors["held_out_episode_mse"] is None and errors["open_loop_rmse"] == []


def test_a_checkpoint_gives_back_the_model(trained, tmp_path):
    world, _, made = trained
    write_checkpoint(tmp_path / "new" / "model", made.model.network.state_dict(), made.card)
    again = restore(tmp_path / "new" / "model", world)
    seen, acted = torch.randn(7, 5), torch.randn(7, 5)
    assert torch.equal(again.step(seen, acted), made.model.step(seen, acted))
    assert again.spec.action_input == "index"


def test_the_card_says_what_it_was_trained_on(trained):
    card = trained[2].card
    assert card["environment"] == "dmc_cartpole" and card["data"]["transitions"] == 1500
    assert card["data"]["sha256"] == trained[1].training.sha256
    assert card["coverage"]["axis"] == "uprightness" and sum(card["coverage"]["histogram"]) == 1500
    assert card["versions"]["torch"] == version("torch")
    json.dumps(card)


def spoiled(folder, made, how):
    write_checkpoint(folder, made.model.network.state_dict(), made.card)
    card = json.loads((folder / "card.json").read_text())
    del card["card_sha256"]  # as an earlier version wrote it
    weights = folder / "weights.safetensors"
    if how == "truncated":
        weights.write_bytes(weights.read_bytes()[:300])
    elif how == "gone":
        weights.unlink()
    elif how == "card":
        (folder / "card.json").write_text("{")
    elif how == "kind":
        (folder / "card.json").write_text(json.dumps({**card, "model": {"kind": "oracle"}}))
    elif how == "narrow":
        less = {name: one for name, one in card["model"].items() if name != "hidden"}
        (folder / "card.json").write_text(json.dumps({**card, "model": less}))
    elif how == "target":
        less = {name: one for name, one in card["model"].items() if name != "target"}
        (folder / "card.json").write_text(json.dumps({**card, "model": less}))
    elif how == "missing":
        (folder / "card.json").write_text(json.dumps({**card, "model": {**card["model"], "target": None}}))
    elif how == "wider":
        (folder / "card.json").write_text(json.dumps({**card, "model": {**card["model"], "hidden": [33]}}))
    elif how == "others":
        (folder / "card.json").write_text(json.dumps({**card, "weights_sha256": "0" * 64}))
    elif how == "deep":
        (folder / "card.json").write_text("[" * 200_000)
    elif how in HOSTILE:
        (folder / "card.json").write_text(json.dumps({**card, "model": {**card["model"], **HOSTILE[how]}}))
    elif how == "float8":
        eighths = {name: one.to(torch.float8_e4m3fn) for name, one in made.model.network.state_dict().items()}
        write_checkpoint(folder, eighths, made.card)
    return folder


HOSTILE = {  # cards of networks that no machine should build, or that no line should show
    "30 GB": {"hidden": [16_384] * 30},
    "too many layers": {"hidden": [1] * 100_000},
    "a million names": {"observation": [f"name {place}" for place in range(1_000_000)]},
    "nested": {"hidden": json.loads("[" * 400 + "]" * 400)},
    "a count of 21 digits": {"hidden": [10**20]},
}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("truncated", "does not match card.json"),
        ("gone", "cannot read the weights"),
        ("card", "is not JSON"),
        ("kind", "kind 'oracle'"),
        ("wider", "do not match the card"),
        ("narrow", "valid card of kind"),
        ("target", "valid card of kind"),
        ("missing", "valid card of kind"),
        ("others", "does not match card.json"),
        ("deep", "is not JSON"),
        ("30 GB", "do not match the card"),
        ("too many layers", "valid card of kind"),
        ("a million names", "its observation is"),
        ("nested", "nested more than"),
        ("a count of 21 digits", "valid card of kind"),
        ("float8", "float8_e4m3fn"),
    ],
)
def test_a_spoiled_checkpoint_is_one_sentence(trained, tmp_path, how, words):
    world, _, made = trained
    with pytest.raises(BadInput, match=words) as refused:
        restore(spoiled(tmp_path / how, made, how), world)
    assert len(str(refused.value)) < 1000


def test_a_checkpoint_of_another_environment_is_refused(trained, tmp_path):
    write_checkpoint(tmp_path, trained[2].model.network.state_dict(), trained[2].card)
    with pytest.raises(BadInput, match="trained on dmc_cartpole"):
        restore(tmp_path, catalog.environment("dmc_reacher"))
    with pytest.raises(BadInput, match="not on dmc:cartpole-swingup"):
        restore(tmp_path, catalog.environment("dmc:cartpole-swingup"))


class Trap:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code ran')",))


def test_a_pickle_is_refused_and_nothing_of_it_runs(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(BadInput, match="never loaded"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epochs": 0}, "epochs must.*1.*0"),
        ({"learning_rate": float("nan")}, "learning_rate must be .* got nan"),
        ({"held_out": 1.0}, "held_out must be .* below 1.* got 1.0"),
        ({"target": "sum"}, "target.*'next'.*'delta'.*'sum'"),
        ({"hidden": ()}, "at least one layer"),
        ({"hidden": (0,)}, "hidden must be .* at least 1"),
        ({"patience": 2, "held_out": 0.0}, "patience needs data held out"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, words):
    with pytest.raises(BadInput, match=words):
        MLPTrainer(**settings)


def test_a_loss_that_explodes_is_said(trained):
    world, data, _ = trained
    with pytest.raises(BadInput, match="lower the learning rate"):
        learned(world, data, hidden=(32,), target="next", epochs=5, learning_rate=1e30)


def test_a_model_of_one_maze_is_refused_in_another(tmp_path):
    world = catalog.environment("maze_toy")
    made = learned(world, list_transitions(world), epochs=1)
    write_checkpoint(tmp_path, made.model.network.state_dict(), made.card)
    with pytest.raises(BadInput, match="not on two_room_toy"):
        restore(tmp_path, catalog.environment("two_room_toy"))


def test_open_loop_errors_are_those_of_every_start(trained):
    """Each start of each held-out episode, stepped one by one, as far as its episode goes."""
    world, data, made = trained
    recorded, squares = data.held_out, {}
    for episode, length in enumerate(recorded["steps"]):
        for start in range(0, length):
            state = torch.as_tensor(recorded["observations"][episode, start][None], dtype=torch.float32)
            for k in range(1, min(4, length - start) + 1):
                acted = network_input(world.spec.actions, recorded["actions"][episode, start + k - 1][None])
                state = made.model.step(state, torch.as_tensor(acted))
                gap = state.numpy()[0] - recorded["next_observations"][episode, start + k - 1]
                squares.setdefault(k, []).append(np.square(gap).mean())
    expected = [np.sqrt(np.mean(squares[k])) for k in range(1, 5)]
    np.testing.assert_allclose(made.card["errors"]["open_loop_rmse"][:4], expected, rtol=1e-4)


def test_held_out_errors_are_of_what_was_not_fitted(trained):
    """The first tenth of the seed's shuffle was held out, and whole episodes besides; each error by hand."""
    world, data, made = trained
    held, kept = np.split(np.random.default_rng(0).permutation(1500), [150])

    def error(rows: Transitions) -> float:
        acted = torch.as_tensor(network_input(world.spec.actions, rows.actions))
        guess = made.model.step(torch.as_tensor(rows.observations, dtype=torch.float32), acted)
        return float(np.square(guess.numpy() - rows.next_observations).mean())

    wanted = {
        "training_mse": error(data.training.rows(kept)),
        "held_out_transition_mse": error(data.training.rows(held)),
        "held_out_episode_mse": error(Transitions.of(data.held_out)),
    }
    assert len(set(wanted.values())) == 3
    for name, number in wanted.items():
        assert made.card["errors"][name] == pytest.approx(number, rel=1e-4), name
