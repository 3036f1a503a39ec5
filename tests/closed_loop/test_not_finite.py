"""A reward or a state that is not finite breaks its own episode: nothing is summed up, nothing succeeds."""

from dataclasses import replace

import numpy as np
import pytest

import wmel
from wmel.closed_loop.run import run_episodes
from wmel.contract.criterion import Criterion, Stop
from wmel.testing import check_environment

BROKEN_SEEDS = (1, 3)
STEP = 4


class Breaking:
    """A maze whose quantity or state breaks at a step of some seeds; states count steps and hold the seed."""

    def __init__(self, what: str, value: float):
        self.maze, self.what, self.value = wmel.environment("maze_toy"), what, value
        self.spec = replace(self.maze.spec, branchable=True)
        self.default_criterion = self.maze.default_criterion

    def reset(self, seeds):
        return np.column_stack([self.maze.reset(seeds), np.asarray(seeds), np.zeros(len(seeds))]).astype(float)

    def _is_broken(self, states):
        return np.isin(states[:, -2], BROKEN_SEEDS) & (states[:, -1] == STEP)

    def step(self, states, values):
        after = np.array(states, float)
        after[:, :-2], after[:, -1] = self.maze.step(states[:, :-2].astype(np.int64), values), states[:, -1] + 1
        if self.what == "state":
            after[self._is_broken(after), 0] = self.value
        return after

    def observe(self, states):
        return self.maze.observe(np.nan_to_num(states[:, :-2], posinf=1, neginf=1).astype(np.int64))

    def goals(self, states):
        return self.maze.goals(np.nan_to_num(states[:, :-2], posinf=1, neginf=1).astype(np.int64))

    def quantities(self, states, values, after):
        whole = [np.nan_to_num(some[:, :-2], posinf=1, neginf=1).astype(np.int64) for some in (states, after)]
        found = dict(self.maze.quantities(whole[0], values, whole[1]))
        found["reward"] = (
            np.where(self._is_broken(after), self.value, 1.0) if self.what == "reward" else np.ones(len(after))
        )
        return found


@pytest.mark.parametrize("what", ["reward", "state"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_ends_its_own_episode_with_an_error(what, value):
    environment = Breaking(what, value)
    policy = wmel.policy("random", environment)
    rule = Criterion.parse("reward>=100")
    how = {"criterion": rule, "stop": Stop.HORIZON, "max_steps": 9, "timed_decisions": 0}
    table = run_episodes(environment, policy, range(6), **how)
    broken = np.isin(table["episode_seed"], BROKEN_SEEDS)
    assert (table["error"] != "").tolist() == broken.tolist()
    assert all(("reward" if what == "reward" else "state") in message for message in table["error"][broken])
    assert np.isnan(table["return"][broken]).all() and (table["return"][~broken] == 9).all()
    assert not table["success"].any() and (table["steps"][broken] == STEP - 1).all()


@pytest.mark.parametrize("what", ["reward", "state"])
def test_the_kit_names_what_is_not_finite_with_its_seed_and_step(what):
    problems = [finding.problem for finding in check_environment(Breaking(what, np.nan)) if finding.problem]
    assert any(what in problem and "seed 1" in problem and f"step {STEP}" in problem for problem in problems)
