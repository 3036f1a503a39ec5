"""Parts as plugins bring them, each with a setting to sweep."""

import numpy as np

from tests.experiments.plain_planner import Plain
from wmel.contract.objective import DiscountedSum
from wmel.contract.policy import Decision
from wmel.environments.grids import GridWorld, Layout
from wmel.perturbations import NoEffect


class March:
    """Goes one way."""

    reads = "observation"
    compute_per_plan_call = None
    name = "march"

    def __init__(self, environment, action: int = 0):
        self._space, self._action = environment.spec.actions, action
        self.settings = {"action": action}

    def observe(self, percept, memory):
        return None

    def act(self, percept, memory, streams):
        count, steps = len(percept), int(percept.steps_left.max())
        actions = np.full((count, steps, self._space.width), self._action, self._space.dtype)
        return Decision(actions, percept.steps_left, None, np.zeros(count, np.int64))


class Weighted(Plain):
    """A planner with a weight."""

    def __init__(self, plan_horizon: int = 3, weight: int = 1):
        super().__init__(plan_horizon, 4)
        self.weight = weight


class Near:
    """An objective with a weight."""

    def __init__(self, environment, weight: float = 1.0):
        self.reduction, self.name, self.weight = DiscountedSum(1.0), "near", weight

    def costs(self, observations, actions, goals):
        return self.weight * abs(observations[:, 1:, :2] - goals[:, None, :2]).sum(-1)


class Push(NoEffect):
    """A perturbation with a setting that its name does not contain."""

    name = "push"

    def __init__(self, distance: int = 1):
        self.distance = distance


def corridor(length: int = 5, max_steps: int = 20):
    """A corridor of any length."""
    return GridWorld("corridor", Layout.parse("S" + "." * (length - 2) + "G"), max_steps)


class Lengths:
    """A diagnostic that returns whatever it likes."""

    def __init__(self, factor: float = 2.0):
        self.factor = factor

    def check(self, environment, model, objective):
        pass

    def read(self, environment, name, model, *, objective, seed, source=None, progress=None):
        return {"length": environment.spec.max_steps * self.factor, "unknown": float("nan"), "series": [1, 2]}

    @staticmethod
    def describe(data):
        return str(data["length"])


class Unreadable(Lengths):
    """A diagnostic that is accepted and then breaks."""

    def read(self, *parts, **how):
        raise RuntimeError("nothing to read")


class Stepped(Plain):
    """A planner whose setting has the name of a column of the summary."""

    def __init__(self, plan_horizon: int = 3, steps: int = 1):
        super().__init__(plan_horizon, 4)
        self.steps = steps


class Executing(Plain):
    """A planner whose setting has the name of one of the arm's."""

    def __init__(self, plan_horizon: int = 3, execute: int = 1):
        super().__init__(plan_horizon, 4)
        self.execute = execute


class Room(GridWorld):
    """A grid world made with a setting of its own."""

    def __init__(self, length: int = 5):
        super().__init__("room", Layout.parse("S" + "." * (length - 2) + "G"), 20)


def make_planner(weight: int = 1):
    """A function of settings alone: what it makes is the part."""
    return Weighted(weight=weight)


def make_nothing(weight: int = 1):
    """One that cannot be called."""
    raise ValueError("no weights here")
