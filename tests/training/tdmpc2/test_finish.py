"""Half precision: the file is half as large, and the model is the one that was measured."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training.tdmpc2.short_trainings import CPU, SETTINGS, WORLD, finish_training, same_weights, weights_of
from wmel.closed_loop.run import episode_seeds
from wmel.errors import BadInput
from wmel.machine import limit_threads
from wmel.training.checkpoints import WEIGHTS, read_card, restore
from wmel.training.data import TRAINING_SEED_OFFSET
from wmel.training.tdmpc2.online import TRAINING_STARTS, play_episodes
from wmel.training.tdmpc2.resume import DECODER_EPISODES, build_networks, decoder_pairs, round_to_half
from wmel.training.tdmpc2.train import MEASURED_EPISODES

BUFFERS = {"low", "high", "discount"}
SHORT = replace(SETTINGS, updates=3, decoder_steps=200)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """What a training made, and its folder, in half precision and in whole."""
    folder = tmp_path_factory.mktemp("half")
    with limit_threads(1):
        half = finish_training(folder / "half", replace(SHORT, half=True), checkpoints=1)
        whole = finish_training(folder / "whole", SHORT)
    return {"half": (half, folder / "half"), "whole": (whole, folder / "whole")}


def test_the_file_is_about_half_as_large(trained):
    half, whole = ((trained[kind][1] / WEIGHTS).stat().st_size for kind in ("half", "whole"))
    assert 0.5 <= half / whole < 0.51


def test_weights_are_stored_in_half_precision_and_the_rest_is_not(trained):
    stored = weights_of(trained["half"][1])
    assert {name for name, value in stored.items() if value.dtype != torch.float16} == BUFFERS
    assert {value.dtype for value in weights_of(trained["whole"][1]).values()} == {torch.float32}
    for name in BUFFERS:
        assert torch.equal(stored[name], weights_of(trained["whole"][1])[name])


def test_what_is_restored_is_what_was_measured_bit_by_bit(trained):
    made, folder = trained["half"]
    model = restore(folder, WORLD)
    assert same_weights(model.network.state_dict(), made.model.network.state_dict())
    assert {value.dtype for value in model.network.state_dict().values()} == {torch.float32}
    assert model.spec.weights == made.model.spec.weights


@pytest.mark.parametrize("kind", ["half", "whole"])
def test_the_numbers_of_the_card_are_of_the_stored_weights(trained, kind):
    """Measured again with the restored model, on the same episodes."""
    model, card = restore(trained[kind][1], WORLD), read_card(trained[kind][1])
    seeds = episode_seeds(TRAINING_SEED_OFFSET + SHORT.seed, TRAINING_STARTS + DECODER_EPISODES + MEASURED_EPISODES)[
        TRAINING_STARTS:
    ]
    own, others = (
        play_episodes(WORLD, model.network, some) for some in (seeds[:DECODER_EPISODES], seeds[DECODER_EPISODES:])
    )
    assert card["policy_return"]["mean"] == others.returns.mean()
    assert card["policy_return"]["deviation"] == others.returns.std(ddof=1)
    for name, episodes in (("decoder_mse", own), ("held_out_decoder_mse", others)):
        latents, seen = decoder_pairs(model.network, episodes.observations, episodes.actions)
        error = (model.network.decoder(latents) - seen).square().mean()
        assert card["errors"][name] == pytest.approx(float(error), rel=1e-6), name


def test_rounding_changes_the_weights_by_a_rounding(trained):
    """The training is the same; only what it hands over is rounded."""
    half, whole = (trained[kind][0].model.network.agent.state_dict() for kind in ("half", "whole"))
    assert same_weights(half, {name: value.half().float() for name, value in whole.items()})
    assert not same_weights(half, whole)


def test_checkpoints_on_the_way_are_rounded_too(trained):
    folder = trained["half"][1] / "checkpoints" / "0000003"
    stored = weights_of(folder)
    assert {name for name, value in stored.items() if value.dtype != torch.float16} == BUFFERS
    assert read_card(folder)["fit"]["half"] and restore(folder, WORLD).network.low.dtype == torch.float32


def test_rounding_twice_is_rounding_once():
    torch.manual_seed(0)
    networks = build_networks(2, np.array([-1 / 3]), np.array([0.1]), 6, SETTINGS)
    before = {name: value.clone() for name, value in networks.state_dict().items()}
    round_to_half(networks)
    once = {name: value.clone() for name, value in networks.state_dict().items()}
    round_to_half(networks)
    assert same_weights(networks.state_dict(), once) and not same_weights(once, before)
    assert all(torch.equal(before[name], once[name]) for name in BUFFERS) and networks.low.device == CPU


def test_weights_beyond_half_precision_are_refused_rather_than_lost():
    layer = torch.nn.Linear(2, 2)
    torch.nn.init.constant_(layer.weight, 7e4)
    with pytest.raises(BadInput, match=r"weight.*--half"):
        round_to_half(layer)


def test_loading_weights_leaves_the_bounds_of_the_environment_alone():
    from wmel.training.tdmpc2.resume import build_networks
    from wmel.training.tdmpc2.trainer import TDMPC2Trainer

    low, high = np.full(1, -1.0, np.float32), np.full(1, 1.0, np.float32)
    networks = build_networks(3, low, high, 10, TDMPC2Trainer(size=1))
    networks.load_state_dict({**networks.state_dict(), "low": torch.zeros(1), "high": torch.full((1,), 2.0)})
    assert (low, high) == (-1, 1) and networks.high == 2
