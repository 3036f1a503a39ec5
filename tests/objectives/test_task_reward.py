import numpy as np
import pytest
import torch

from wmel import catalog
from wmel.control_suite import REWARD_OF_OBSERVATION
from wmel.errors import BadInput
from wmel.models.oracle import Oracle
from wmel.objectives import task_reward


@pytest.mark.parametrize("task", REWARD_OF_OBSERVATION)
def test_it_is_minus_the_reward_of_every_step(task):
    world = catalog.environment(f"dmc:{task}")
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 12, world.spec.actions.width))
    trajectory = world.rollout(world.reset(np.arange(20)), actions)
    rewards = Oracle(world).rewards(trajectory, actions)
    seen = world.observe(trajectory.reshape(20 * 13, -1)).reshape(20, 13, -1)
    objective = task_reward(world)
    np.testing.assert_allclose(objective.costs(seen, actions, np.zeros((20, 0))), -rewards, atol=1e-12)
    learned = objective.costs(torch.tensor(seen), torch.tensor(actions), torch.zeros(20, 0))
    np.testing.assert_allclose(learned.numpy(), -rewards, atol=1e-12)


def test_where_the_observation_does_not_tell_the_reward_it_is_refused():
    with pytest.raises(BadInput, match="dmc:cheetah-run"):
        task_reward(catalog.environment("dmc:cheetah-run"))
