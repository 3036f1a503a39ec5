"""Action repeat: each action is executed for several control steps, and their rewards are summed."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wmel.contract.environment import EnvironmentSpec
from wmel.environments.dmc.environment import DmcEnvironment, RecoverableEnvironment
from wmel.errors import require, require_whole


@dataclass(frozen=True, eq=False)
class ActionRepeatEnvironment:
    """Executes each action for `action_repeat` control steps of `inner` and sums their rewards.

    A state row is a row of `inner` and the reward of the last step. This reward is not a formula of the last
    observation, so the objective `task-reward` becomes `model-reward`.
    """

    inner: DmcEnvironment
    action_repeat: int

    def __post_init__(self):
        most = self.inner.max_steps
        message = f"action_repeat must lie in 1..{most}, the control steps of an episode"
        require(1 <= self.action_repeat <= most, message, self.action_repeat)

    @cached_property
    def spec(self) -> EnvironmentSpec:
        inner = self.inner.spec
        objectives = ("model-reward" if name == "task-reward" else name for name in inner.objectives)
        return replace(
            inner,
            name=f"{inner.name}[action_repeat={self.action_repeat}]",
            action_repeat=self.action_repeat,
            max_steps=-(-inner.max_steps // self.action_repeat),
            step_ms=None if inner.step_ms is None else inner.step_ms * self.action_repeat,
            objectives=tuple(dict.fromkeys(objectives)),
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The constructor arguments, for the record."""
        return {**self.inner.settings, "action_repeat": self.action_repeat}

    @property
    def default_criterion(self) -> None:
        """None: a bound on the reward of one control step does not apply to a sum."""

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        return _append_zero_reward(self.inner.reset(seeds))

    def step(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        current, rewards = states[:, :-1], np.zeros(len(states))
        for _ in range(self.action_repeat):
            after = self.inner.step(current, actions)
            rewards = rewards + self.inner.quantities(current, actions, after)["reward"]
            current = after
        return np.column_stack([current, rewards])

    def rollout(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """states [M,S], actions [M,H,A] -> states [M,H+1,S], which can be observed but not stepped."""
        count, steps, width = actions.shape
        controls = np.repeat(actions, self.action_repeat, axis=1)
        trajectory = self.inner.rollout(states[:, :-1], controls).swapaxes(0, 1)  # its order in memory
        before, after = (part.reshape(-1, trajectory.shape[-1]) for part in (trajectory[:-1], trajectory[1:]))
        rewards = self.inner.quantities(before, controls.swapaxes(0, 1).reshape(-1, width), after)["reward"]
        rows = np.empty((steps + 1, *states.shape))
        rows[:, :, :-1] = trajectory[:: self.action_repeat]
        rows[0, :, -1] = states[:, -1]
        rows[1:, :, -1] = rewards.reshape(steps, self.action_repeat, count).sum(axis=1)
        return rows.swapaxes(0, 1)

    def observe(self, states: np.ndarray) -> np.ndarray:
        return self.inner.observe(states[:, :-1])

    def goals(self, states: np.ndarray) -> np.ndarray:
        return self.inner.goals(states[:, :-1])

    def quantities(self, states: np.ndarray, actions: np.ndarray, next_states: np.ndarray) -> dict[str, np.ndarray]:
        """`reward`: the sum over the control steps of the action."""
        return {"reward": next_states[:, -1].copy()}


class RecoverableActionRepeat(ActionRepeatEnvironment):
    """An environment with action repeat whose observation determines its state."""

    def recover(self, observations: np.ndarray) -> np.ndarray:
        """observations [B,O] -> states [B,S] with a reward of zero"""
        assert isinstance(self.inner, RecoverableEnvironment), self.inner.name
        return _append_zero_reward(self.inner.recover(observations))


def repeat_actions(environment: DmcEnvironment, action_repeat: int) -> DmcEnvironment | ActionRepeatEnvironment:
    """The environment with action repeat, or the environment itself if the number is one."""
    require_whole(action_repeat, "action_repeat")
    if action_repeat == 1:
        return environment
    make = RecoverableActionRepeat if isinstance(environment, RecoverableEnvironment) else ActionRepeatEnvironment
    return make(environment, int(action_repeat))


def _append_zero_reward(states: np.ndarray) -> np.ndarray:
    """State rows of the inner environment [B,S-1] -> [B,S]"""
    return np.column_stack([states, np.zeros(len(states))])
