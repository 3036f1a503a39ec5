"""Run episodes in blocks: `run_episodes` for a table, `BenchmarkRunner` for a run with its settings."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from wmel.closed_loop.latency import THREADS, DecisionSample, decision_times
from wmel.closed_loop.lockstep import Lockstep
from wmel.closed_loop.steps import Rules
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.criterion import Criterion, Stop, stop_rule
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Disturbance, Perturbation
from wmel.contract.policy import Policy
from wmel.errors import BadInput, require, require_whole
from wmel.machine import limit_blas_threads, versions_in_use
from wmel.perturbations.env_default import EnvPerturbation
from wmel.schema import EpisodeTable, Run, concatenate_tables

EPISODES_PER_SEED = 100_000
LEAST_TIMING, SHARE_OF_TIMING = 5.0, 0.2  # seconds spent on timing decisions: so many, or this share of the run's
EPISODES = 30  # the default of every verb


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
    with limit_blas_threads():
        for first in range(0, len(seeds), block):
            tables.append(Lockstep(rules, seeds[first : first + block], first, sample, progress, record).run())
    budget = max(LEAST_TIMING, SHARE_OF_TIMING * (perf_counter() - begin))
    return _with_costs(concatenate_tables(tables), policy, sample, budget)


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


@dataclass(frozen=True)
class BenchmarkRunner:
    """One policy in one environment for a number of episodes; without a seed one is drawn and recorded.

    With `perturb_prob` above 0 the perturbation (the environment's own unless another is given) strikes, and the seeds
    it struck are run once more without it, so that recovery has something to be compared with.
    """

    environment: Environment
    policy: Policy
    episodes: int = EPISODES
    horizon: int | None = None  # None: as many steps as the environment allows
    perturb_prob: float = 0.0
    perturbation: Perturbation | None = None
    perturb_step: int | None = None  # None: drawn by each episode's seed
    seed: int | Sequence[int] | None = None  # several: that many episodes of each
    first_episode: int = 0  # of each seed
    criterion: Criterion | None = None  # None: the environment's own
    stop: Stop | str | None = None  # None: at a success that is established at once, else at the end
    block: int = 512
    timed_decisions: int = 100

    @property
    def disturbance(self) -> Disturbance | None:
        """What strikes, if anything does."""
        if self.perturb_prob == 0:
            return None
        return Disturbance(self.perturbation or EnvPerturbation(), self.perturb_prob, self.perturb_step)

    @property
    def max_steps(self) -> int:
        """Steps an episode may take."""
        return self.environment.spec.max_steps if self.horizon is None else self.horizon

    def run(self, progress: Callable[[float], None] = lambda finished: None, record: Trajectories | None = None) -> Run:
        """Run the episodes; `progress` is told what share of how many has just been done, `record` every step."""
        seeds, disturbance = self._seeds(), self.disturbance
        share = 1 / (1 + self.perturb_prob)  # of the time; about as many as are struck run once more, left alone

        def part_done(finished: float) -> None:
            progress(share * finished)

        criterion = self.criterion or self.environment.default_criterion
        stop = stop_rule(criterion, self.stop)
        table = run_episodes(
            self.environment,
            self.policy,
            np.concatenate([self._episodes_of(seed) for seed in seeds]),
            criterion=criterion,
            stop=stop,
            max_steps=self.max_steps,
            disturbance=disturbance,
            block=self.block,
            timed_decisions=self.timed_decisions,
            progress=part_done,
            record=record,
        )
        whole = self._with_unperturbed(table, part_done)
        progress((1 - share) * len(table) - share * int(table["perturbed"].sum()))
        return Run(
            environment_name=self.environment.spec.name,
            policy_name=self.policy.name,
            policy_reads=self.policy.reads,
            policy_settings=self.policy.settings,
            seeds=seeds,
            horizon=self.max_steps,
            perturb_prob=self.perturb_prob,
            perturbation=None if disturbance is None else _named(disturbance),
            layout=self.environment.spec.layout,
            init=self.environment.spec.init,
            success=None if criterion is None else str(criterion),
            stop=stop,
            latency_threads=THREADS,
            versions=versions_in_use(),
            table=whole,
        )

    def _episodes_of(self, seed: int) -> np.ndarray:
        """episode seeds of one seed, from the first asked for on"""
        return episode_seeds(seed, self.first_episode + self.episodes)[self.first_episode :]

    def _seeds(self) -> tuple[int, ...]:
        """Those asked for; one is drawn where none was."""
        if self.seed is None:
            return (secrets.randbelow(2**31),)
        if not isinstance(self.seed, Sequence):
            return (self.seed,)
        require(len(set(self.seed)) == len(self.seed) > 0, "seeds must be one or more, all different", self.seed)
        return tuple(self.seed)

    def _with_unperturbed(self, table: EpisodeTable, progress: Callable[[float], None]) -> EpisodeTable:
        """The table with what became of the struck seeds when they were left alone."""
        struck = np.flatnonzero(table["perturbed"])
        if not len(struck):
            return table
        alone = run_episodes(
            self.environment,
            self.policy,
            table["episode_seed"][struck],
            criterion=self.criterion,
            stop=self.stop,
            max_steps=self.max_steps,
            block=self.block,
            timed_decisions=0,
            progress=progress,
        )
        success = table["unperturbed_success"].copy()
        success[struck] = alone["success"]
        return table.with_column("unperturbed_success", success)


def _named(disturbance: Disturbance) -> str:
    step = disturbance.step
    return disturbance.perturbation.name + ("" if step is None else f" from step {step}")
