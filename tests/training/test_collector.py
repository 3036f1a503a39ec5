"""MLPs on the data of another model: its checkpoint collects with its own policy."""

from pathlib import Path

import numpy as np
import pytest

from wmel import catalog
from wmel.errors import BadInput
from wmel.training.checkpoints import restore
from wmel.training.data import collect
from wmel.training.mlp import MLPTrainer

CHECKPOINT = Path(__file__).parents[2] / "models" / "cartpole-td1-seed0"


def test_the_data_are_those_of_the_policy_of_the_checkpoint():
    world = catalog.environment("dmc_cartpole", init="fixed")
    trainer = MLPTrainer(collector=str(CHECKPOINT), transitions=60, episode_steps=30).resolve(world)
    assert trainer.collect == "prior"
    found = trainer.gather(world)
    policy = catalog.policy("prior", world, model=restore(CHECKPOINT, world))
    expected = collect(world, policy, 60, episode_steps=30)
    assert found.training.sha256 == expected.training.sha256
    random = MLPTrainer(transitions=60, episode_steps=30).resolve(world).gather(world)
    assert not np.array_equal(found.training.actions, random.training.actions)


@pytest.mark.parametrize("settings", [{"collect": "random"}, {"data": "episodes"}])
def test_a_collector_without_effect_is_refused(settings):
    with pytest.raises(BadInput, match="collector"):
        MLPTrainer(collector=str(CHECKPOINT), **settings)
