"""Published files as checkpoints of ours."""

from dataclasses import replace

import pytest
import torch

from tests.training.tdmpc2.test_official import published
from wmel import catalog
from wmel.errors import BadInput
from wmel.models.tdmpc2.network import SIZES, TDMPC2, Tasks
from wmel.training.checkpoints import restore, write_checkpoint
from wmel.training.tdmpc2.official import convert_checkpoint
from wmel.training.tdmpc2.resume import stored_weights

CPU = torch.device("cpu")


def swingup(length: int = 12):
    return catalog.environment("dmc:cartpole-swingup", max_steps=length)


def written(path, network: TDMPC2, layout: str = "new"):
    torch.save({"model": published(network, layout)}, path)
    return path


@pytest.mark.parametrize("layout", ("old", "new"))
def test_a_published_file_becomes_a_checkpoint_that_acts_as_it_did(layout, tmp_path):
    torch.manual_seed(3)
    network = TDMPC2(5, 1, SIZES[1])
    made = convert_checkpoint(written(tmp_path / "file.pt", network, layout), swingup(), CPU, decoder_steps=5)
    write_checkpoint(tmp_path / "folder", stored_weights(made), made.card)
    model = restore(tmp_path / "folder", swingup())
    latents = torch.rand(4, SIZES[1].latent)
    mean, _ = network.policy_distribution(latents)
    assert torch.allclose(model.policy(latents, None), mean.tanh(), atol=1e-6)
    assert torch.allclose(model.step(latents, torch.zeros(4, 1)), network.next(latents, torch.zeros(4, 1)), atol=1e-6)
    assert made.card["policy_return"]["episodes"] == 64 and made.card["fit"]["updates_taken"] == 0
    assert not {"updates", "envs", "learning_rate"} & set(made.card["fit"])  # nothing was learned here
    assert made.card["kept"]["weights"] == "of the published file file.pt"


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (lambda: TDMPC2(6, 1, SIZES[1]), "6 observations and.*1"),
        (lambda: TDMPC2(5, 2, SIZES[1]), "actions of width 2"),
        (lambda: TDMPC2(5, 1, replace(SIZES[1], hidden=64)), "hidden=64"),
        (lambda: TDMPC2(5, 1, SIZES[1], tasks=Tasks(3, 4)), "of several tasks"),
    ],
)
def test_one_that_does_not_fit_the_environment_is_refused(network, words, tmp_path):
    with pytest.raises(BadInput, match=words):
        convert_checkpoint(written(tmp_path / "file.pt", network()), swingup(), CPU)


def test_levels_are_refused(tmp_path):
    path = written(tmp_path / "file.pt", TDMPC2(5, 1, SIZES[1]))
    with pytest.raises(BadInput, match="dmc_cartpole"):
        convert_checkpoint(path, catalog.environment("dmc_cartpole"), CPU)
