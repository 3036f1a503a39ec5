"""BenchmarkRunner: the documents' face of run_episodes."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from wmel.closed_loop.latency import THREADS
from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.contract.criterion import Stop
from wmel.contract.environment import Environment
from wmel.contract.policy import Policy
from wmel.contract.run import Run


@dataclass(frozen=True)
class BenchmarkRunner:
    """One policy in one environment for a number of episodes; without a seed one is drawn and recorded."""

    environment: Environment
    policy: Policy
    episodes: int = 50
    horizon: int = 50
    seed: int | None = None
    block: int = 512
    timed_decisions: int = 100

    def run(self, progress: Callable[[int], None] = lambda finished: None) -> Run:
        """Run the episodes; `progress` is told how many have just finished."""
        seed = secrets.randbelow(2**31) if self.seed is None else self.seed
        table = run_episodes(
            self.environment,
            self.policy,
            episode_seeds(seed, self.episodes),
            max_steps=self.horizon,
            block=self.block,
            timed_decisions=self.timed_decisions,
            progress=progress,
        )
        return Run(
            environment_name=self.environment.spec.name,
            policy_name=self.policy.name,
            policy_reads=self.policy.reads,
            seed=seed,
            horizon=self.horizon,
            success=str(self.environment.default_criterion),
            stop=Stop.SUCCESS,
            latency_threads=THREADS,
            table=table,
        )
