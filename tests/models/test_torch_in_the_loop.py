"""The same network in numpy and in torch: the same candidates, costs and plans."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from wmel import catalog
from wmel.contract.world_model import WorldModelSpec
from wmel.models.mlp import FoldedMLP
from wmel.training.mlp import MLPTrainer

EPISODES = 12
TRAINER = MLPTrainer(hidden=(32, 32), target="delta")


@dataclass
class NumpyMLP:
    """The folded network, product by product."""

    folded: FoldedMLP
    spec = WorldModelSpec("numpy-mlp", action_input="value")

    def encode(self, percept, previous):
        return percept.observation.astype(np.float32)

    def step(self, latents, actions):
        hidden = np.concatenate([latents, actions.astype(np.float32)], axis=1)
        for layer, (weight, bias) in enumerate(self.folded.layers):
            hidden = (np.maximum(hidden, 0) if layer else hidden) @ weight.numpy() + bias.numpy()
        return latents + hidden

    def decode(self, latents):
        return latents


@pytest.mark.parametrize("planner", ["random-shooting", "cem", "mppi"])
def test_planners_choose_the_same_in_either_library(planner, percept_of):
    from wmel.randomness import Streams

    world = catalog.environment("dmc:cartpole-swingup")
    torch.manual_seed(0)
    model = TRAINER.model(world, TRAINER.blank(world))
    percept = percept_of(world, world.reset(np.arange(EPISODES)))
    streams = Streams(np.arange(EPISODES), np.zeros(EPISODES, np.int64))
    made = []
    for one in (model, NumpyMLP(model.folded)):
        policy = catalog.policy(planner, world, candidates=64, plan_horizon=10, model=one, objective="smooth-upright")
        made.append(policy.act(percept, policy.observe(percept, None), streams))
    assert made[0].actions.dtype == made[1].actions.dtype
    close = 1e-4 if planner == "mppi" else 1e-6  # weights of mppi are exponentials of costs that agree to 1e-5
    np.testing.assert_allclose(made[0].actions, made[1].actions, atol=close)
    assert np.array_equal(made[0].lengths, made[1].lengths)


def test_costs_agree_to_1e_5(percept_of):
    from wmel.models.imagine import ImaginedCost

    world = catalog.environment("dmc:cartpole-swingup")
    torch.manual_seed(0)
    model = TRAINER.model(world, TRAINER.blank(world))
    percept = percept_of(world, world.reset(np.arange(3)))
    candidates = np.random.default_rng(0).uniform(-1, 1, (3, 20, 15, 1)).astype(np.float32)
    found = []
    for one, sequences in ((model, torch.as_tensor(candidates)), (NumpyMLP(model.folded), candidates)):
        objective = catalog.objective("task-reward", world)
        latents = one.encode(percept, None)
        found.append(
            np.asarray(ImaginedCost(one, objective, world.spec.actions, latents, percept.goal, 5)(sequences).costs)
        )
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_a_model_that_turns_to_nan_after_some_steps_never_wins_with_them(percept_of):
    """Candidates are judged by whole plans; where all of them go wrong the row has no plan, and says so."""
    from wmel.randomness import Streams

    world = catalog.environment("dmc_cartpole")

    class Spoiled(NumpyMLP):
        """Counts its steps in a latent of its own, and gives up at the seventh."""

        spec = WorldModelSpec("spoiled", action_input="one_hot")

        def encode(self, percept, previous):
            return np.concatenate([super().encode(percept, previous), np.zeros((len(percept), 1))], axis=1)

        def step(self, latents, actions):
            after = super().step(latents[:, :-1], actions)
            count = latents[:, -1:] + 1
            return np.concatenate([np.where(count >= 7, np.nan, after), count], axis=1)

        def decode(self, latents):
            return latents[:, :-1]

    torch.manual_seed(0)
    spoiled = Spoiled(TRAINER.model(world, TRAINER.blank(world)).folded)
    policy = catalog.policy("random-shooting", world, candidates=50, plan_horizon=15, model=spoiled)
    percept = percept_of(world, world.reset(np.arange(4)))
    decision = policy.act(percept, policy.observe(percept, None), Streams(np.arange(4), np.zeros(4, np.int64)))
    assert set(decision.errors) == {0, 1, 2, 3}
    assert all("finite cost" in message for message in decision.errors.values())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("planner", ["random-shooting", "cem", "mppi"])
def test_a_gpu_chooses_the_same(planner, percept_of):
    """Same candidates; the same plan, unless the two best are closer than the last digits of their costs."""
    from wmel.randomness import Streams

    world = catalog.environment("maze_toy")
    torch.manual_seed(0)
    made = []
    network = TRAINER.blank(world)
    percept = percept_of(world, world.reset(np.arange(EPISODES)))
    streams = Streams(np.arange(EPISODES), np.zeros(EPISODES, np.int64))
    for device in ("cpu", "cuda"):
        model = TRAINER.model(world, network.to(device))
        policy = catalog.policy(planner, world, candidates=64, plan_horizon=10, model=model)
        assert policy.observe(percept, None)["latents"].device.type == device
        made.append(policy.act(percept, policy.observe(percept, None), streams))
    assert np.array_equal(made[0].actions, made[1].actions)
    assert np.array_equal(made[0].lengths, made[1].lengths)
