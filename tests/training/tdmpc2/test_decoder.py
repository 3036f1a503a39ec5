import copy

import numpy as np
import pytest
import torch

from tests.models.tdmpc2.by_hand import random_network
from wmel.models.tdmpc2.model import TDMPC2WithDecoder
from wmel.training.tdmpc2.resume import decoder_error, decoder_pairs, fit_decoder

EPISODES, LENGTH = 3, 6


def networks() -> TDMPC2WithDecoder:
    torch.manual_seed(0)
    return TDMPC2WithDecoder(random_network(), torch.tensor([-1.0, 0.0]), torch.tensor([1.0, 4.0]))


def episodes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(EPISODES, LENGTH + 1, 5)), rng.uniform([-1, 0], [1, 4], (EPISODES, LENGTH, 2))


def test_every_observation_is_met_encoded_and_all_but_the_first_foreseen():
    made, (seen, acted) = networks(), episodes()
    latents, wanted = decoder_pairs(made, seen, acted)
    assert len(latents) == len(wanted) == EPISODES * (2 * LENGTH + 1) and not latents.requires_grad
    place = 0
    for foreseen in (False, True):
        for episode in range(EPISODES):
            for step in range(int(foreseen), LENGTH + 1):
                np.testing.assert_allclose(wanted[place], seen[episode, step], rtol=1e-6)
                before = torch.as_tensor(seen[episode, step - foreseen], dtype=torch.float32)
                latent = made.agent.encode(before)
                if foreseen:
                    unit = acted[episode, step - 1] / [1, 2] - [0, 1]
                    latent = made.agent.next(latent, torch.as_tensor(unit, dtype=torch.float32))
                torch.testing.assert_close(latents[place], latent, rtol=1e-4, atol=1e-5)
                place += 1


def test_fitting_changes_the_decoder_alone_and_says_its_error():
    made = networks()
    before, pairs = copy.deepcopy(made), decoder_pairs(made, *episodes())
    first = float((made.decoder(pairs[0]) - pairs[1]).square().mean().detach())
    fit_decoder(made, *pairs, seed=0, steps=150)
    error = decoder_error(made, *pairs)
    assert error == pytest.approx(float((made.decoder(pairs[0]) - pairs[1]).square().mean().detach()), rel=1e-5)
    assert error < 0.7 * first
    for (name, old), (_, new) in zip(before.named_parameters(), made.named_parameters(), strict=True):
        assert torch.equal(old, new) is name.startswith("agent."), name


def test_the_seed_decides_which_rows_are_seen():
    def fitted(seed):
        made = networks()
        pairs = decoder_pairs(made, *episodes())
        fit_decoder(made, *pairs, seed=seed, steps=5)
        error = decoder_error(made, *pairs)
        return error, torch.cat([weight.detach().flatten() for weight in made.decoder.parameters()])

    torch.manual_seed(1)
    one, same, other = fitted(0), fitted(0), fitted(1)
    assert one[0] == same[0] and torch.equal(one[1], same[1]) and not torch.equal(one[1], other[1])
