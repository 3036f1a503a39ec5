"""Episodes of the policy prior's mean action, kept whole."""

from dataclasses import dataclass

import numpy as np
import torch

from wmel.contract.environment import Environment
from wmel.models.tdmpc2.model import Decoded


@dataclass(frozen=True, eq=False)
class Played:
    """Whole episodes in step with each other."""

    observations: np.ndarray  # [E,L+1,O]
    actions: np.ndarray  # [E,L,A] in their own units
    rewards: np.ndarray  # [E,L]

    @property
    def returns(self) -> np.ndarray:
        """[E]"""
        return self.rewards.sum(axis=1)


def played(environment: Environment, networks: Decoded, seeds: np.ndarray) -> Played:
    """One episode per seed, to its end."""
    states = environment.reset(seeds)
    seen, acted, earned = [environment.observe(states)], [], []
    middle, reach = (networks.low + networks.high) / 2, (networks.high - networks.low) / 2
    for _ in range(environment.spec.max_steps):
        with torch.no_grad():
            numbers = torch.as_tensor(seen[-1], dtype=torch.float32, device=networks.low.device)
            mean, _ = networks.agent.policy_of(networks.agent.encode(numbers))
            actions = (middle + reach * mean.tanh()).cpu().numpy()
        after = environment.step(states, actions)
        earned.append(environment.quantities(states, actions, after)["reward"])
        acted.append(actions)
        seen.append(environment.observe(after))
        states = after
    return Played(*(np.stack(part, axis=1) for part in (seen, acted, earned)))
