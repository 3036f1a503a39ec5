"""A plan on the true dynamics, against the wmel 0.18 repository, state by state, and bare `mujoco.rollout`."""

# pyright: reportAttributeAccessIssue=false

import math
import sys
import time
import warnings
from collections.abc import Callable

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from side_by_side import compare, repeated, verdict
from wmel import catalog
from wmel.arrays import keep_freed_memory
from wmel.contract.policy import Percept
from wmel.environments.dmc.environment import DmcEnvironment
from wmel.machine import limit_threads
from wmel.randomness import Streams

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from dm_control import suite

CANDIDATES, HORIZON = 50, 15
STEPS = CANDIDATES * HORIZON


class PerState:
    """The oracle of the wmel 0.18 repository: one dm_control environment, set to each state and stepped once."""

    def __init__(self, domain: str, task: str):
        self.environment = suite.load(domain, task, task_kwargs={"random": 0})
        self.environment.reset()
        self.model, self.data = self.environment.physics.model.ptr, self.environment.physics.data.ptr
        self.calls = 0

    def __call__(self, observation: tuple[float, ...], action: tuple[float, ...]) -> tuple[float, ...]:
        """Acrobot: joint angles from the sines and cosines, as that repository rebuilds them."""
        self.calls += 1
        if self.calls % 800 == 0:
            self.environment.reset()
        sin_upper, sin_lower, cos_upper, cos_lower, *velocity = observation
        upper = math.atan2(sin_upper, cos_upper)
        self.data.qpos[:] = (upper, math.atan2(sin_lower, cos_lower) - upper)
        self.data.qvel[:] = velocity
        mujoco.mj_forward(self.model, self.data)
        self.environment.task.before_step(action, self.environment.physics)
        self.environment.physics.step()
        seen = self.environment.task.get_observation(self.environment.physics)
        return (*seen["orientations"].tolist(), *seen["velocity"].tolist())

    def plan(self, observation: tuple[float, ...], sequences: np.ndarray) -> float:
        """The best height of any candidate, one state at a time."""
        best = np.inf
        for sequence in sequences:
            state = observation
            for action in sequence:
                state = self(state, tuple(action))
                best = min(best, -(state[2] + state[3]))
        return best


def planned(world: DmcEnvironment, policy_name: str = "random-shooting") -> Callable[[], object]:
    """One decision of random shooting 50x15 on the oracle, at batch 1."""
    policy = catalog.policy(policy_name, world, candidates=CANDIDATES, plan_horizon=HORIZON)
    states = world.reset(np.arange(1))
    percept = Percept(
        world.observe(states), world.goals(states), states, np.zeros((1, world.spec.actions.width)), np.array([500])
    )
    streams = Streams(np.zeros(1, np.int64), np.zeros(1, np.int64))
    return lambda: policy.act(percept, policy.observe(percept, None), streams)


def bare_rollout(
    world: DmcEnvironment, threads: int, rows: int = CANDIDATES, horizon: int = HORIZON
) -> Callable[[], object]:
    """`mujoco.rollout` and nothing else, on as many threads, outputs allocated beforehand."""
    batch = world._suite.batch
    model, layout, substeps = batch.model, batch.layout, batch.substeps
    start = np.repeat(world.reset(np.arange(1)), rows, axis=0)
    controls = np.random.default_rng(0).uniform(-1, 1, (rows, horizon * substeps, model.nu))
    pool, data = Rollout(nthread=threads if threads > 1 else 0), [mujoco.MjData(model) for _ in range(threads)]
    state = np.empty((rows, horizon * substeps, layout.state.stop))
    sensed = np.empty((rows, horizon * substeps, model.nsensordata))
    first, warm = start[:, layout.state].copy(), start[:, layout.warm_start].copy()
    return lambda: pool.rollout(
        [model] * rows,
        data,
        first,
        controls,
        skip_checks=True,
        nstep=horizon * substeps,
        initial_warmstart=warm,
        state=state,
        sensordata=sensed,
        chunk_size=max(1, rows // (4 * threads)),
    )


def raw_steps(world: DmcEnvironment) -> Callable[[], None]:
    """As many `mj_step` as a plan takes, one call each."""
    batch = world._suite.batch
    data = mujoco.MjData(batch.model)

    def step() -> None:
        for _ in range(STEPS * batch.substeps):
            mujoco.mj_step(batch.model, data)

    return step


def repository_way() -> bool:
    """Acrobot: the plan of the wmel 0.18 repository, ours, and what MuJoCo itself takes."""
    world, per_state = catalog.environment("dmc_acrobot"), PerState("acrobot", "swingup")
    start = tuple(world.observe(world.reset(np.arange(1)))[0])
    sequences = np.random.default_rng(0).choice([-1, -0.5, 0, 0.5, 1], (CANDIDATES, HORIZON, 1))
    with limit_threads(1):
        theirs = compare(lambda: per_state.plan(start, sequences), repeated(planned(world), 5), rounds=7)
        steps = compare(lambda: per_state.plan(start, sequences), raw_steps(world), rounds=5)
    microseconds = 1e6 * theirs.first / STEPS
    print(f"the wmel 0.18 repository takes {microseconds:.0f} us per state, {steps.ratio:.1f}x raw mj_step")
    print(f"     it costs {5 * theirs.ratio:.1f}x ours, acrobot 50x15 (no bound: decision 0013)")
    return verdict("oracle of the wmel 0.18 repository over raw mj_step, per state", steps.ratio, at_most=15)


def against_bare(name: str, bound: float) -> bool:
    """CPU of a plan over that of the rollout inside it, and the wall time of both on 1 and 2 threads."""
    world, holds = catalog.environment(name), True
    repeats = 10 if "humanoid" not in name and "walker" not in name else 1
    for threads in (1, 2):
        with limit_threads(threads):
            plan, bare = planned(world), bare_rollout(world, threads)
            cost = compare(repeated(plan, repeats), repeated(bare, repeats), rounds=9)
            wall = [_wall(repeated(work, repeats)) / repeats for work in (plan, bare)]
        print(f"{name}, {threads} threads: plan {1e3 * wall[0]:.2f} ms wall, bare rollout {1e3 * wall[1]:.2f} ms")
        holds &= verdict(f"{name} plan over bare rollout, {threads} threads", cost.ratio, at_most=bound)
    return holds


def _wall(work: Callable[[], None]) -> float:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def observation_and_reward(name: str) -> bool:
    """Per state: dm_control's functions against ours at 1,000 rows, and ours at 1 row against 1,000."""
    world = catalog.environment(name)
    seen = world._suite
    rows = world.rollout(np.repeat(world.reset(np.arange(1)), 100, axis=0), _random(world, 100, 10))[:, 1:]
    rows = rows.reshape(1000, -1)

    def theirs() -> None:
        for _ in range(1000):
            seen.environment.task.get_observation(seen.environment.physics)
            seen.environment.task.get_reward(seen.environment.physics)

    def ours(states: np.ndarray) -> Callable[[], object]:
        return lambda: (world.observe(states), world.quantities(states, states, states))

    against = compare(theirs, repeated(ours(rows), 20), rounds=5)
    alone = compare(repeated(ours(rows[:1]), 1000), repeated(ours(rows), 20), rounds=5)
    print(f"{name}: dm_control {1e3 * against.first:.1f} us, wmel {1e3 * against.second / 20:.3f} us per state")
    holds = verdict(f"{name} observation and reward, dm_control over wmel", 20 * against.ratio, at_least=20)
    return holds & verdict(f"{name} time per state, 1 row over 1,000 rows", 20 * alone.ratio, at_least=20)


def _random(world: DmcEnvironment, rows: int, steps: int) -> np.ndarray:
    low, high = world._suite.bounds
    return np.random.default_rng(0).uniform(low, high, (rows, steps, len(low)))


def main() -> int:
    keep_freed_memory()
    holds = repository_way()
    holds &= against_bare("dmc_acrobot", 1.2)
    for name in ("dmc:walker-walk", "dmc:humanoid-stand"):
        against_bare(name, float("inf"))
    for name in ("dmc:acrobot-swingup", "dmc:cartpole-swingup", "dmc:walker-walk", "dmc:finger-turn_easy"):
        holds &= observation_and_reward(name)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
