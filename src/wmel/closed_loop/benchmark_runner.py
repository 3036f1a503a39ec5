"""BenchmarkRunner: the documents' face of run_episodes."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wmel.closed_loop.latency import THREADS
from wmel.closed_loop.record import Trajectories
from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.contract.criterion import Criterion, Stop, stop_rule
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Disturbance, Perturbation
from wmel.contract.policy import Policy
from wmel.contract.run import Run
from wmel.errors import require
from wmel.perturbations.env_default import EnvPerturbation
from wmel.schema import EpisodeTable
from wmel.versions import versions_in_use

EPISODES = 30  # the default of every verb


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
