"""The documents' oracle arms beside ours: runs what is missing, writes docs/reproduction.md."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wmel import catalog
from wmel.cli.progress import progress
from wmel.closed_loop.benchmark_runner import BenchmarkRunner
from wmel.reports.json_envelope import RunRecord
from wmel.reports.records import read_record, run_record, write_record
from wmel.stats.miettinen_nurminen import miettinen_nurminen, score
from wmel.stats.normal import two_sided
from wmel.stats.outcomes import binomial_table

RECORDS = Path("runs/oracle-arms")
PAGE = Path("docs/reproduction.md")
EPISODES = 150


WORDS = """# Reproduction: the documents' figures beside ours

Rates must agree in distribution: planner noise belongs to the episode here and to the run there, so no sequence is the
same. "Difference" is ours less theirs with the 95% score interval of Miettinen and Nurminen; "could see" is the
smallest fall from the documents' rate that these numbers of episodes show with a probability of 80%, by exact
enumeration. Episodes take at most 500 steps and stop at the first success, as there. Written by `make reproduction`,
from stored runs where there are some; the commands below make them.

## Oracle arms
| environment | start | planner | documents | here | difference | could see | agree |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Arm:
    """One oracle arm of the documents."""

    name: str
    environment: str
    init: str
    planner: str
    successes: int
    episodes: int

    @property
    def command(self) -> str:
        drawn = " --candidates 50" if self.planner == "random-shooting" else ""
        return (
            f"wmel run --env {self.environment} --init {self.init} --policy {self.planner}{drawn} --plan-horizon 15 "
            f"--episodes {EPISODES} --output {RECORDS}/{self.name}.json"
        )

    def record(self) -> RunRecord:
        """The stored run, or a new one."""
        path = RECORDS / f"{self.name}.json"
        if not path.exists():
            world = catalog.environment(self.environment, init=self.init)
            drawn = {"candidates": 50} if self.planner == "random-shooting" else {}
            policy = catalog.policy(self.planner, world, plan_horizon=15, **drawn)
            runner = BenchmarkRunner(world, policy, EPISODES, world.spec.max_steps, seed=0)
            with progress(self.name, EPISODES, quiet=False) as advance:
                write_record(path, run_record(runner.run(advance)))
        found = read_record(path)
        assert isinstance(found, RunRecord)
        return found


ARMS = [
    Arm("acrobot_rs", "dmc_acrobot", "fixed", "random-shooting", 40, 150),
    Arm("acrobot_cem", "dmc_acrobot", "fixed", "cem", 132, 150),
    Arm("cartpole_rs", "dmc_cartpole", "task", "random-shooting", 28, 30),
    Arm("cartpole_cem", "dmc_cartpole", "task", "cem", 14, 30),
    Arm("reacher_rs", "dmc_reacher", "task", "random-shooting", 30, 30),
    Arm("reacher_cem", "dmc_reacher", "task", "cem", 30, 30),
]


def smallest_seen(rate: float, theirs: int, ours: int) -> float | None:
    """The smallest fall from a rate that so many episodes there and here show with probability .8, by enumeration."""
    one, other = np.arange(theirs + 1.0)[:, None], np.arange(ours + 1.0)
    shown = score(one, np.array(float(theirs)), other, np.array(float(ours)), 0.0) > two_sided(0.95)
    for hundredths in range(1, round(100 * rate) + 1):
        mass = binomial_table(theirs, rate)[:, None] * binomial_table(ours, rate - hundredths / 100)
        if (mass * shown).sum() >= 0.8:
            return hundredths / 100
    return None


def line(arm: Arm) -> str:
    table = arm.record().results
    successes, episodes = sum(bool(row.success) for row in table), len(table)
    low, high = miettinen_nurminen(successes, episodes, arm.successes, arm.episodes)
    seen = smallest_seen(arm.successes / arm.episodes, arm.episodes, episodes)
    agree = "yes" if low <= 0 <= high else "**no**"
    planner = {"random-shooting": "random shooting 50x15", "cem": "CEM 3x24x15"}[arm.planner]
    shares = [f"{s / n:.3f} ({s}/{n})" for s, n in ((arm.successes, arm.episodes), (successes, episodes))]
    cells = [arm.environment, arm.init, planner, *shares, f"[{low:+.3f}, {high:+.3f}]", f"{seen:.2f}", agree]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    RECORDS.mkdir(parents=True, exist_ok=True)
    lines = [line(arm) for arm in ARMS]
    commands = "\n".join(arm.command for arm in ARMS)
    PAGE.write_text(f"{WORDS}{chr(10).join(lines)}\n\n```\n{commands}\n```\n")
    print(PAGE.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
