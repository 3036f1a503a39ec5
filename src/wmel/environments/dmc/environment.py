"""Tasks of the DeepMind Control Suite as pure batched environments."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from wmel.arrays import Array
from wmel.contract.criterion import Criterion
from wmel.contract.environment import Box, EnvironmentSpec, Finite
from wmel.control_suite import check_installed
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
