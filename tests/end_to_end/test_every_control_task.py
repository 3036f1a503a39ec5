"""Every planner, and random actions, on every task of the suite: a short episode each."""

import numpy as np
import pytest

from tests.environments.selection import OTHERS, QUICK
from wmel import catalog
from wmel.closed_loop.run import run_episodes

TASKS = [name for name in (*QUICK, *OTHERS) if name.startswith("dmc")]
POLICIES = ["random", "tabular-world-model", *catalog.PLANNERS.parts]


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_every_policy_that_needs_no_moves_runs_there(name):
    world = catalog.environment(name)
    for policy_name in POLICIES:
        small = {} if policy_name == "random" else {"candidates": 12, "plan_horizon": 3}
        policy = catalog.policy(policy_name, world, **small)
        table = run_episodes(world, policy, [0, 1], max_steps=4, stop="horizon", timed_decisions=0)
        assert list(table["error"]) == ["", ""], policy_name
        assert np.isfinite(table["return"]).all(), policy_name
