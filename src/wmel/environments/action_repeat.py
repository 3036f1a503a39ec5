"""One decision for several steps of an environment, their rewards added up."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wmel.contract.environment import EnvironmentSpec
from wmel.environments.dmc.environment import DmcEnvironment, RecoverableByObservation
from wmel.errors import require, require_whole


@dataclass(frozen=True, eq=False)
class Repeated:
    """Each action is held for `action_repeat` control steps of `inner`, and their rewards are added up.

    A row is one of `inner` and the reward of the decision that led to it. No formula of the last observation is that
    reward: planners have `model-reward` where `inner` offers `task-reward`.
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
        told = ("model-reward" if name == "task-reward" else name for name in inner.objectives)
        return replace(
            inner,
            name=f"{inner.name}[action_repeat={self.action_repeat}]",
            action_repeat=self.action_repeat,
            max_steps=-(-inner.max_steps // self.action_repeat),
            step_ms=None if inner.step_ms is None else inner.step_ms * self.action_repeat,
            objectives=tuple(dict.fromkeys(told)),
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What it was built with."""
        return {**self.inner.settings, "action_repeat": self.action_repeat}

    @property
    def default_criterion(self) -> None:
        """None: a bound on the reward of one control step is none on a sum."""

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        return _unrewarded(self.inner.reset(seeds))

    def step(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        now, earned = states[:, :-1], np.zeros(len(states))
        for _ in range(self.action_repeat):
            after = self.inner.step(now, actions)
            earned = earned + self.inner.quantities(now, actions, after)["reward"]
            now = after
        return np.column_stack([now, earned])

    def rollout(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """states [M,S], actions [M,H,A] -> states [M,H+1,S], to be observed and not to be stepped on."""
        count, steps, width = actions.shape
        controls = np.repeat(actions, self.action_repeat, axis=1)
        rolled = self.inner.rollout(states[:, :-1], controls).swapaxes(0, 1)  # as it lies in memory
        before, after = (part.reshape(-1, rolled.shape[-1]) for part in (rolled[:-1], rolled[1:]))
        rewards = self.inner.quantities(before, controls.swapaxes(0, 1).reshape(-1, width), after)["reward"]
        rows = np.empty((steps + 1, *states.shape))
        rows[:, :, :-1] = rolled[:: self.action_repeat]
        rows[0, :, -1] = states[:, -1]
        rows[1:, :, -1] = rewards.reshape(steps, self.action_repeat, count).sum(axis=1)
        return rows.swapaxes(0, 1)

    def observe(self, states: np.ndarray) -> np.ndarray:
        return self.inner.observe(states[:, :-1])

    def goals(self, states: np.ndarray) -> np.ndarray:
        return self.inner.goals(states[:, :-1])

    def quantities(self, states: np.ndarray, actions: np.ndarray, next_states: np.ndarray) -> dict[str, np.ndarray]:
        """`reward`: of all control steps of the decision."""
        return {"reward": next_states[:, -1].copy()}


class RepeatedRecoverable(Repeated):
    """One whose observation also tells its state."""

    def recover(self, observations: np.ndarray) -> np.ndarray:
        """observations [B,O] -> states [B,S], nothing earned yet"""
        assert isinstance(self.inner, RecoverableByObservation), self.inner.name
        return _unrewarded(self.inner.recover(observations))


def repeated(environment: DmcEnvironment, action_repeat: int) -> DmcEnvironment | Repeated:
    """The environment with each action held for so many control steps: itself where that is one."""
    require_whole(action_repeat, "action_repeat")
    if action_repeat == 1:
        return environment
    make = RepeatedRecoverable if isinstance(environment, RecoverableByObservation) else Repeated
    return make(environment, int(action_repeat))


def _unrewarded(states: np.ndarray) -> np.ndarray:
    """Rows of the inner environment [B,S-1] -> [B,S], before any decision"""
    return np.column_stack([states, np.zeros(len(states))])
