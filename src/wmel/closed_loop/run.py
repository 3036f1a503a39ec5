"""run_episodes: every episode assigned before the run, stepped in lockstep blocks, one row each."""

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from wmel.closed_loop.latency import DecisionSample, decision_times
from wmel.closed_loop.lockstep import Lockstep
from wmel.closed_loop.record import Trajectories
from wmel.closed_loop.steps import Rules
from wmel.contract.criterion import Criterion, Stop, stop_rule
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Disturbance
from wmel.contract.policy import Policy
from wmel.errors import BadInput, require, require_whole
from wmel.schema import EpisodeTable, stacked
from wmel.threads import arrays_on_few

EPISODES_PER_SEED = 100_000
LEAST_TIMING, SHARE_OF_TIMING = 5.0, 0.2  # seconds spent on timing decisions: so many, or this share of the run's


def episode_seeds(seed: int, episodes: int) -> np.ndarray:
    """The published formula: episode k of a seed is seed * 100000 + k."""
    require_whole(episodes, "the number of episodes")
    require(episodes <= EPISODES_PER_SEED, f"one seed holds at most {EPISODES_PER_SEED} episodes", episodes)
    require_whole(seed, "a seed", at_least=0)
    require(seed < 2**63 // EPISODES_PER_SEED, "a seed must be below 9e13", seed)
    return seed * EPISODES_PER_SEED + np.arange(episodes)


def run_episodes(
    environment: Environment,
    policy: Policy,
    episode_seeds: Sequence[int] | np.ndarray,
    *,
    criterion: Criterion | None = None,
    stop: Stop | str | None = None,
    max_steps: int | None = None,
    disturbance: Disturbance | None = None,
    block: int = 64,
    timed_decisions: int = 100,
    progress: Callable[[float], None] = lambda finished: None,
    record: Trajectories | None = None,
) -> EpisodeTable:
    """Run one episode per seed; `block` of them step together, which changes speed and never a row.

    Of its decisions `timed_decisions`, or up to twice as many, are timed for latency, all if there are fewer;
    `progress` is told what share of how many episodes has just been done. Without a criterion, given or the
    environment's own, nothing is judged and every episode runs to its end. `record` is handed every step.
    """
    seeds = _checked_seeds(episode_seeds)
    require_whole(block, "block")
    steps = environment.spec.max_steps if max_steps is None else max_steps
    require_whole(steps, "the episode horizon")
    criterion = criterion or environment.default_criterion
    stop = stop_rule(criterion, stop)
    if disturbance is not None:
        disturbance.perturbation.check(environment)
    require_whole(timed_decisions, "the number of timed decisions", at_least=0)
    rules = Rules(environment, policy, criterion, stop, steps, disturbance)
    sample, tables, begin = DecisionSample(timed_decisions), [], perf_counter()
    with arrays_on_few():
        for first in range(0, len(seeds), block):
            tables.append(Lockstep(rules, seeds[first : first + block], first, sample, progress, record).run())
    budget = max(LEAST_TIMING, SHARE_OF_TIMING * (perf_counter() - begin))
    return _with_costs(stacked(tables), policy, sample, budget)


def _with_costs(table: EpisodeTable, policy: Policy, sample: DecisionSample, budget: float) -> EpisodeTable:
    """The table with what each episode's decisions are declared to cost, and how long the kept ones took.

    No more than a budget of seconds is spent on timing them.
    """
    if policy.compute_per_plan_call is not None:
        table = table.with_column("declared_compute", table["plan_calls"] * float(policy.compute_per_plan_call))
    latencies = table["planning_latencies_ms"].copy()
    for episode, milliseconds in decision_times(policy, sample, budget):
        latencies[episode] = (*latencies[episode], milliseconds)
    return table.with_column("planning_latencies_ms", latencies)


def _checked_seeds(seeds: Sequence[int] | np.ndarray) -> np.ndarray:
    array = np.asarray(seeds)
    if array.ndim != 1 or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise BadInput(f"episode seeds must be a list of at least one whole number, got {seeds!r}")
    require(bool((array >= 0).all()), "episode seeds must not be negative", int(array.min()))
    require(bool((array < 2**63).all()), "episode seeds must be below 2^63", int(array.max()))
    require(len(np.unique(array)) == len(array), "episode seeds must differ from each other", f"{len(array)} seeds")
    return array.astype(np.int64)
