"""Tasks of the DeepMind Control Suite as pure batched environments, also with actions that repeat.

With finite actions, acrobot and cartpole are from the CPG paper, reacher is from the wmel 0.18 repository.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from wmel.arrays import Array
from wmel.contract.criterion import Criterion
from wmel.contract.environment import Box, EnvironmentSpec, Finite, MaxSteps
from wmel.control_suite import RECOVERABLE, REWARD_OF_OBSERVATION, VECTORISED, check_installed, objectives_of
from wmel.environments.dmc.formula import RecoveryFormula, RewardFormula
from wmel.errors import MissingExtra, describe_error, require, require_whole
from wmel.parts import Meaning

if TYPE_CHECKING:
    from wmel.environments.dmc.suite import SuiteTask

Init = Annotated[
    Literal["task", "fixed"], Meaning("start states: sampled from the task by the episode seed, or one fixed start")
]
FIXED_SEED = 0


@dataclass(frozen=True, eq=False)
class DmcEnvironment:
    """With `init="task"`, episodes start in states of the task; with `"fixed"`, all in the start of task seed 0."""

    name: str
    task: str  # domain-task
    init: Init = "task"
    max_steps: int = 1000
    actions: Finite | None = None  # None: the box of the task
    default_criterion: Criterion | None = None
    objectives: tuple[str, ...] = ("model-reward",)

    def __post_init__(self):
        require(self.init in ("task", "fixed"), "init must be 'task' or 'fixed'", self.init)
        require_whole(self.max_steps, "max_steps")
        check_installed()

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            self.name,
            self._suite.names,
            self.actions or Box(*self._suite.bounds),
            self.max_steps,
            idle=self._idle,
            step_ms=self._suite.milliseconds,
            single_start=self.init == "fixed",
            init=self.init,
            objectives=self.objectives,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The constructor arguments, for the record."""
        return {"init": self.init, "max_steps": self.max_steps}

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        if self.init == "fixed":
            return np.repeat(self._fixed_start[None], len(seeds), axis=0)
        return np.stack([self._suite.reset(int(seed)) for seed in seeds])

    def step(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self._suite.batch.step(states, actions)

    def rollout(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """states [M,S], actions [M,H,A] -> states [M,H+1,S], which can be observed but not stepped."""
        return self._suite.batch.rollout(states, actions)

    def observe(self, states: np.ndarray) -> np.ndarray:
        return self._suite.observe(states)

    def goals(self, states: np.ndarray) -> np.ndarray:
        """Empty [B,0]: the reward defines the goal of a task."""
        return np.empty((len(states), 0))

    def quantities(self, states: np.ndarray, actions: np.ndarray, next_states: np.ndarray) -> dict[str, np.ndarray]:
        """`reward`: the reward of the task."""
        return {"reward": self._suite.reward(next_states)}

    @cached_property
    def _fixed_start(self) -> np.ndarray:
        return self._suite.reset(FIXED_SEED)

    @property
    def _idle(self) -> np.ndarray:
        """The encoded action of value 0."""
        if self.actions is None:
            return np.zeros(len(self._suite.bounds[0]), np.float32)
        assert self.actions.values is not None
        return np.array([int(np.flatnonzero(~self.actions.values.any(axis=1))[0])])

    @cached_property
    def _suite(self) -> "SuiteTask":
        try:
            from wmel.environments.dmc.suite import suite_task  # imports mujoco and dm_control
        except (AttributeError, ImportError, OSError, RuntimeError) as error:
            raise MissingExtra(f"dm_control cannot be loaded: {describe_error(error)}") from error
        return suite_task(self.task)


class RewardFormulaEnvironment(DmcEnvironment):
    """A task whose reward is a formula of the observation after a step and of the action."""

    def reward_of(self, observations: Array, actions: Array) -> Array:
        """observations [...,O], action values [...,A] -> rewards [...]"""
        formula = self._suite.formula
        assert isinstance(formula, RewardFormula), self.task
        return formula.reward_of(observations, actions)


class RecoverableEnvironment(RewardFormulaEnvironment):
    """A task whose observation also determines its state."""

    def recover(self, observations: np.ndarray) -> np.ndarray:
        """observations [B,O] -> states [B,S], with zero warm start, control and clock"""
        states, formula = np.zeros((len(observations), self._suite.batch.layout.width)), self._suite.formula
        assert isinstance(formula, RecoveryFormula), self.task
        formula.recover(observations, self._suite.rows(states))
        return states


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


ActionRepeat = Annotated[int, Meaning("control steps per step; their rewards are summed", at_least=1)]
LEVELS = (-1.0, -0.5, 0.0, 0.5, 1.0)
CORNERS = tuple(product((-1.0, 0.0, 1.0), repeat=2))


def dmc_task(
    task: str, init: Init = "task", max_steps: MaxSteps = 1000, action_repeat: ActionRepeat = 1
) -> DmcEnvironment | ActionRepeatEnvironment:
    """A task of dm_control with its own actions and episodes of 1,000 steps. It has no default success criterion."""
    make = DmcEnvironment
    if task in REWARD_OF_OBSERVATION:
        recoverable = task.split("-")[0] in RECOVERABLE and task in VECTORISED
        make = RecoverableEnvironment if recoverable else RewardFormulaEnvironment
    return repeat_actions(make(f"dmc:{task}", task, init, max_steps, objectives=objectives_of(task)), action_repeat)


def dmc_acrobot(init: Init = "task", max_steps: MaxSteps = 500) -> DmcEnvironment:
    """Five elbow torques. Success: a reward of at least 0.6 at one step (the tip is within 0.671 of the target)."""
    return _finite_task("dmc_acrobot", "acrobot-swingup", init, max_steps, [(level,) for level in LEVELS], 0.6)


def dmc_cartpole(init: Init = "task", max_steps: MaxSteps = 500) -> DmcEnvironment:
    """Five forces on the cart. Success: a reward of at least 0.6 at one step."""
    return _finite_task("dmc_cartpole", "cartpole-swingup", init, max_steps, [(level,) for level in LEVELS], 0.6)


def dmc_reacher(init: Init = "task", max_steps: MaxSteps = 500) -> DmcEnvironment:
    """Nine pairs of torques. Success: the finger touches the target at one step."""
    return _finite_task("dmc_reacher", "reacher-easy", init, max_steps, CORNERS, 0.5)


def _finite_task(name: str, task: str, init: Init, max_steps: int, actions: object, reward: float) -> DmcEnvironment:
    values = np.array(actions)
    names = tuple(",".join(f"{number:g}" for number in value) for value in values)
    reward_objective, paper_objective, *others = objectives_of(task)
    return RecoverableEnvironment(
        name,
        task,
        init,
        max_steps,
        Finite(names, values),
        Criterion("reward", at_least=reward),
        (paper_objective, reward_objective, *others),
    )
