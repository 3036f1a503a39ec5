"""BenchmarkRunner: the documents' face of run_episodes."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wmel.closed_loop import judge
from wmel.closed_loop.latency import THREADS
from wmel.closed_loop.record import Trajectories
from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.contract.criterion import Criterion, Stop
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Disturbance, Perturbation
from wmel.contract.policy import Policy
from wmel.contract.run import Run
from wmel.episodes import EpisodeTable
from wmel.perturbations.env_default import EnvPerturbation


@dataclass(frozen=True)
class BenchmarkRunner:
    """One policy in one environment for a number of episodes; without a seed one is drawn and recorded.

    With `perturb_prob` above 0 the perturbation (the environment's own unless another is given) strikes, and the seeds
    it struck are run once more without it, so that recovery has something to be compared with.
    """

    environment: Environment
    policy: Policy
    episodes: int = 50
    horizon: int = 50
    perturb_prob: float = 0.0
    perturbation: Perturbation | None = None
    seed: int | None = None
    criterion: Criterion | None = None  # None: the environment's own
    stop: Stop | str | None = None  # None: at a success that is established at once, else at the end
    block: int = 512
    timed_decisions: int = 100

    @property
    def disturbance(self) -> Disturbance | None:
        """What strikes, if anything does."""
        if self.perturb_prob == 0:
            return None
        return Disturbance(self.perturbation or EnvPerturbation(), self.perturb_prob)

    def run(self, progress: Callable[[float], None] = lambda finished: None, record: Trajectories | None = None) -> Run:
        """Run the episodes; `progress` is told what share of how many has just been done, `record` every step."""
        seed, disturbance = secrets.randbelow(2**31) if self.seed is None else self.seed, self.disturbance
        criterion = self.criterion or self.environment.default_criterion
        stop = judge.stop_rule(criterion, self.stop)
        table = run_episodes(
            self.environment,
            self.policy,
            episode_seeds(seed, self.episodes),
            criterion=criterion,
            stop=stop,
            max_steps=self.horizon,
            disturbance=disturbance,
            block=self.block,
            timed_decisions=self.timed_decisions,
            progress=progress,
            record=record,
        )
        return Run(
            environment_name=self.environment.spec.name,
            policy_name=self.policy.name,
            policy_reads=self.policy.reads,
            policy_settings=self.policy.settings,
            seed=seed,
            horizon=self.horizon,
            perturb_prob=self.perturb_prob,
            perturbation=None if disturbance is None else disturbance.perturbation.name,
            init=self.environment.spec.init,
            success=None if criterion is None else str(criterion),
            stop=stop,
            latency_threads=THREADS,
            table=self._with_unperturbed(table),
        )

    def _with_unperturbed(self, table: EpisodeTable) -> EpisodeTable:
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
            max_steps=self.horizon,
            block=self.block,
            timed_decisions=0,
        )
        success = table["unperturbed_success"].copy()
        success[struck] = alone["success"]
        return table.with_column("unperturbed_success", success)
