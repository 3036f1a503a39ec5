"""Runs of episodes in blocks: `run_episodes` returns a table, `BenchmarkRunner` a run with its settings."""

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns

import numpy as np

from wmel.closed_loop.lockstep import Lockstep
from wmel.closed_loop.steps import DecisionSample, Rules, SampledDecision, attribute_errors
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.criterion import Criterion, Stop, stop_rule
from wmel.contract.environment import Environment
from wmel.contract.perturbation import FROM_STEP, Disturbance, Perturbation
from wmel.contract.policy import Policy
from wmel.errors import BadInput, require, require_whole
from wmel.machine import limit_blas_threads, limit_threads, versions_in_use
from wmel.perturbations import EnvPerturbation
from wmel.schema import EpisodeTable, Run, SweepPoint, concatenate_tables

EPISODES_PER_SEED = 100_000
MIN_TIMING_SECONDS, TIMING_SHARE = 5.0, 0.2  # the time spent on timing decisions: the longer of it and a share
WARM_UPS, THREADS = 3, 1  # of timing
EPISODES = 30  # the default of every verb


def episode_seeds(seed: int, episodes: int) -> np.ndarray:
    """The episode seeds of a seed: episode k has the seed `seed * 100000 + k`."""
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
    error_places: dict[str, str] | None = None,
) -> EpisodeTable:
    """Runs one episode per seed, `block` of them at a time. The rows do not depend on `block`.

    Args:
        criterion: The success criterion; None: that of the environment. Without either, no episode is judged and every
            episode runs to its end.
        timed_decisions: How many decisions to time: at least this many if there are as many, and below twice that.
        progress: Called with the newly finished part of the work, in episodes; it may be a fraction.
        record: Receives every step.
        error_places: Receives the line of the user's code that raised an error, by the error.
    """
    seeds = _check_seeds(episode_seeds)
    require_whole(block, "block")
    steps = environment.spec.max_steps if max_steps is None else max_steps
    require_whole(steps, "the episode horizon")
    criterion = criterion or environment.default_criterion
    stop = stop_rule(criterion, stop)
    if disturbance is not None:
        disturbance.check(environment, steps)
    require_whole(timed_decisions, "the number of timed decisions", at_least=0)
    rules = Rules(environment, policy, criterion, stop, steps, disturbance)
    sample, tables, begin = DecisionSample(timed_decisions), [], perf_counter()
    with limit_blas_threads():
        for first in range(0, len(seeds), block):
            episodes = seeds[first : first + block]
            tables.append(Lockstep(rules, episodes, first, sample, progress, record, error_places).run())
    budget = max(MIN_TIMING_SECONDS, TIMING_SHARE * (perf_counter() - begin))
    return _add_compute_and_latency(concatenate_tables(tables), policy, sample, budget)


def _add_compute_and_latency(
    table: EpisodeTable, policy: Policy, sample: DecisionSample, budget: float
) -> EpisodeTable:
    """The table with the declared compute of each episode, and the times of the sampled decisions.

    Timing stops after `budget` seconds.
    """
    if policy.compute_per_plan_call is not None:
        table = table.with_column("declared_compute", table["plan_calls"] * float(policy.compute_per_plan_call))
    latencies = table["planning_latencies_ms"].copy()
    for episode, milliseconds in time_decisions(policy, sample, budget):
        latencies[episode] = (*latencies[episode], milliseconds)
    return table.with_column("planning_latencies_ms", latencies)


def time_decisions(policy: Policy, sample: DecisionSample, budget: float = math.inf) -> list[tuple[int, float]]:
    """(episode, milliseconds) of sampled decisions at batch 1, after a warm-up, on one thread.

    Decisions that raise an error are left out. Timing stops once it has taken `budget` seconds; the order of the
    decisions is random, so that those timed are spread over the run.
    """
    if not sample.decisions:
        return []
    times, order = [], np.random.default_rng(0).permutation(len(sample.decisions))
    with limit_threads(THREADS):
        until = perf_counter_ns() + 1e9 * min(budget, 1e6)
        attribute_errors(lambda rows: [_seconds(policy, sample.decisions[0]) for _ in range(WARM_UPS)], np.arange(1))
        for place in order:
            one = sample.decisions[place]
            outcome = attribute_errors(lambda rows, one=one: _seconds(policy, one), np.arange(1))
            times += [(int(place), 1e3 * seconds) for _, seconds in outcome.pieces]
            if perf_counter_ns() > until:
                break
    return [(sample.decisions[place].episode, milliseconds) for place, milliseconds in sorted(times)]


def _seconds(policy: Policy, decision: SampledDecision) -> float:
    begin = perf_counter_ns()
    memory = policy.observe(decision.percept, decision.memory)
    policy.act(decision.percept, memory, decision.streams)
    return (perf_counter_ns() - begin) / 1e9


def _check_seeds(seeds: Sequence[int] | np.ndarray) -> np.ndarray:
    array = np.asarray(seeds)
    if array.ndim != 1 or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise BadInput(f"episode seeds must be a list of at least one whole number, got {seeds!r}")
    require(bool((array >= 0).all()), "episode seeds must not be negative", int(array.min()))
    require(bool((array < 2**63).all()), "episode seeds must be below 2^63", int(array.max()))
    require(len(np.unique(array)) == len(array), "episode seeds must differ from each other", f"{len(array)} seeds")
    return array.astype(np.int64)


@dataclass(frozen=True)
class BenchmarkRunner:
    """One policy in one environment, for a number of episodes. Without a seed, a random one is chosen and recorded.

    With `perturb_prob` above 0, episodes are perturbed at random. The seeds of perturbed episodes are run again without
    the perturbation, as the reference for recovery.
    """

    environment: Environment
    policy: Policy
    episodes: int = EPISODES
    horizon: int | None = None  # None: the maximum of the environment
    perturb_prob: float = 0.0
    perturbation: Perturbation | None = None  # None: that of the environment
    perturb_step: int | None = None  # None: sampled from the episode seed
    seed: int | Sequence[int] | None = None  # with several seeds, each has `episodes` episodes
    first_episode: int = 0  # of each seed
    criterion: Criterion | None = None  # None: that of the environment
    stop: Stop | str | None = None  # None: success if the criterion is established at once, else horizon
    block: int = 512
    timed_decisions: int = 100

    @property
    def disturbance(self) -> Disturbance | None:
        """The perturbation and its probability. None if the probability is 0."""
        if self.perturb_prob == 0:
            return None
        return Disturbance(self.perturbation or EnvPerturbation(), self.perturb_prob, self.perturb_step)

    @property
    def max_steps(self) -> int:
        """The maximum number of steps of an episode."""
        return self.environment.spec.max_steps if self.horizon is None else self.horizon

    def run(self, progress: Callable[[float], None] = lambda finished: None, record: Trajectories | None = None) -> Run:
        """Runs the episodes. `progress` and `record` are those of `run_episodes`."""
        seeds, disturbance = self._seeds(), self.disturbance
        share = 1 / (1 + self.perturb_prob)  # of the time; the perturbed episodes run again

        def report_share(finished: float) -> None:
            progress(share * finished)

        criterion, places = self.criterion or self.environment.default_criterion, {}
        stop = stop_rule(criterion, self.stop)
        table = run_episodes(
            self.environment,
            self.policy,
            np.concatenate([self._seeds_of_episodes(seed) for seed in seeds]),
            criterion=criterion,
            stop=stop,
            max_steps=self.max_steps,
            disturbance=disturbance,
            block=self.block,
            timed_decisions=self.timed_decisions,
            progress=report_share,
            record=record,
            error_places=places,
        )
        whole = self._add_unperturbed(table, report_share)
        progress((1 - share) * len(table) - share * int(table["perturbed"].sum()))
        return Run(
            environment_name=self.environment.spec.name,
            policy_name=self.policy.name,
            policy_reads=self.policy.reads,
            policy_settings=self.policy.settings,
            seeds=seeds,
            horizon=self.max_steps,
            perturb_prob=self.perturb_prob,
            perturbation=None if disturbance is None else _perturbation_name(disturbance),
            layout=self.environment.spec.layout,
            init=self.environment.spec.init,
            success=None if criterion is None else str(criterion),
            stop=stop,
            latency_threads=THREADS,
            versions=versions_in_use(),
            table=whole,
            error_places=places,
        )

    def _seeds_of_episodes(self, seed: int) -> np.ndarray:
        """The episode seeds of one seed, from `first_episode`."""
        return episode_seeds(seed, self.first_episode + self.episodes)[self.first_episode :]

    def _seeds(self) -> tuple[int, ...]:
        """The requested seeds, or a random one."""
        if self.seed is None:
            return (secrets.randbelow(2**31),)
        if not isinstance(self.seed, Sequence):
            return (self.seed,)
        require(len(set(self.seed)) == len(self.seed) > 0, "seeds must be one or more, all different", self.seed)
        return tuple(self.seed)

    def _add_unperturbed(self, table: EpisodeTable, progress: Callable[[float], None]) -> EpisodeTable:
        """The table with the success of the perturbed seeds in a run without the perturbation."""
        perturbed = np.flatnonzero(table["perturbed"])
        if not len(perturbed):
            return table
        unperturbed = run_episodes(
            self.environment,
            self.policy,
            table["episode_seed"][perturbed],
            criterion=self.criterion,
            stop=self.stop,
            max_steps=self.max_steps,
            block=self.block,
            timed_decisions=0,
            progress=progress,
        )
        success = table["unperturbed_success"].copy()
        success[perturbed] = unperturbed["success"]
        return table.with_column("unperturbed_success", success)


def _perturbation_name(disturbance: Disturbance) -> str:
    step = disturbance.step
    return disturbance.perturbation.name + ("" if step is None else f"{FROM_STEP}{step}")


def horizon_sweep(
    environment: Environment,
    policy_at: Callable[[int], Policy],
    plan_horizons: Sequence[int],
    *,
    episodes_per_point: int = EPISODES,
    episode_horizon: int | None = None,
    perturb_prob: float = 0.0,
    perturbation: Perturbation | None = None,
    seed: int = 0,
    criterion: Criterion | None = None,
    stop: Stop | str | None = None,
    timed_decisions: int = 100,
    progress: Callable[[float], None] = lambda finished: None,
) -> list[SweepPoint]:
    """Runs `policy_at(h)` for each planning horizon h, in increasing order.

    `episode_horizon` is the maximum number of steps of an episode; None: that of the environment.
    """
    if not plan_horizons:
        raise BadInput("a sweep requires at least one planning horizon, got none")
    for plan_horizon in plan_horizons:
        require_whole(plan_horizon, "a planning horizon")
    require(len(set(plan_horizons)) == len(plan_horizons), "planning horizons must differ", list(plan_horizons))
    policies = {horizon: policy_at(horizon) for horizon in sorted(plan_horizons)}
    points = []
    for horizon, policy in policies.items():
        runner = BenchmarkRunner(
            environment,
            policy,
            episodes_per_point,
            episode_horizon,
            perturb_prob=perturb_prob,
            perturbation=perturbation,
            seed=seed,
            criterion=criterion,
            stop=stop,
            timed_decisions=timed_decisions,
        )
        points.append(SweepPoint({"plan_horizon": horizon}, runner.run(progress)))
    return points
