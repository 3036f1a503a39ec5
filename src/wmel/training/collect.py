"""Collecting data: a policy plays fresh episodes, whose seeds no evaluation uses."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from wmel.closed_loop.record import Trajectories
from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.contract.abilities import able
from wmel.contract.environment import Enumerable, Environment
from wmel.contract.policy import Policy
from wmel.contract.spaces import Finite
from wmel.errors import BadInput, require_whole
from wmel.training.seeds import TRAINING
from wmel.training.transitions import Transitions

EPISODES_AT_ONCE = 64
MOST_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class Collected:
    """Transitions to fit, others of whole episodes that were held out, and the trajectories of those."""

    training: Transitions
    held_out: dict[str, np.ndarray] | None  # as recorded; None: there is nothing else

    @property
    def episodes(self) -> int:
        return int(self.training.episodes[-1]) + 1


def collect(
    environment: Environment,
    policy: Policy,
    transitions: int,
    *,
    episode_steps: int = 200,
    seed: int = 0,
    progress: Callable[[float], None] = lambda done: None,
) -> Collected:
    """So many transitions of a policy, in episodes that stop at success as the documents' do.

    A tenth as many episodes are played besides and held out. `progress` is told how many transitions have come.
    """
    require_whole(transitions, "the number of transitions", at_least=2)
    require_whole(episode_steps, "the steps of an episode")
    parts: list[Transitions] = []
    missing, used = transitions, 0
    while missing > 0 and len(parts) < MOST_ROUNDS:
        episodes = min(EPISODES_AT_ONCE, -(-missing // episode_steps))
        arrays = _played(environment, policy, seed, used, episodes, episode_steps)
        part = Transitions.of(arrays)
        parts.append(replace(part, episodes=part.episodes + used))
        used += episodes
        progress(min(len(part), missing))
        missing -= len(part)
    if missing > 0:
        raise BadInput(f"{used} episodes gave no more than {transitions - missing} transitions; they end too early")
    held_out = _played(environment, policy, seed, used, max(1, used // 10), episode_steps)
    return Collected(Transitions.joined(parts).first(transitions), held_out)


def _played(
    environment: Environment, policy: Policy, seed: int, first: int, episodes: int, steps: int
) -> dict[str, np.ndarray]:
    """Recorded episodes `first` to `first + episodes` of the training seeds."""
    seeds, record = episode_seeds(TRAINING + seed, first + episodes)[first:], Trajectories()
    table = run_episodes(
        environment, policy, seeds, max_steps=steps, block=EPISODES_AT_ONCE, timed_decisions=0, record=record
    )
    broken = [message for message in table["error"] if message]
    if broken:
        raise BadInput(f"{len(broken)} of {episodes} episodes broke while data were collected: {broken[0]}")
    return record.arrays(environment, table)


def every_transition(environment: Environment) -> Collected:
    """Each action in each state, of an environment that can list them; nothing is left to be held out but these."""
    listing, space = environment, environment.spec.actions
    if not able(listing, Enumerable) or not isinstance(space, Finite):
        raise BadInput(f"the states of {environment.spec.name} cannot be listed: collect them with a policy")
    states = listing.every_state()
    index = np.tile(np.arange(space.count), len(states))[:, None]
    states, values = np.repeat(states, space.count, axis=0), space.as_values(index)
    after = environment.step(states, values)
    rewards = environment.quantities(states, values, after).get("reward")
    seen, seen_after = environment.observe(states), environment.observe(after)
    return Collected(Transitions(seen, values, seen_after, np.arange(len(states)), rewards), None)


def gives_reward(environment: Environment) -> bool:
    """Whether the steps of an environment are rewarded."""
    states, idle = environment.reset(np.zeros(1, np.int64)), environment.spec.actions.idle(1)
    return "reward" in environment.quantities(states, idle, environment.step(states, idle))
