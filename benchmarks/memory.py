"""Memory of a long run against that of a short one: the peak less what imports take."""

import subprocess
import sys

from side_by_side import verdict

RUN = """
import resource, sys
import wmel.environments.dmc.suite
from wmel import catalog
from wmel.arrays import keep_freed_memory
from wmel.closed_loop.benchmark_runner import BenchmarkRunner
keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
world = catalog.environment("dmc_cartpole")
policy = catalog.policy("random-shooting", world, candidates=8, plan_horizon=10)
BenchmarkRunner(world, policy, int(sys.argv[1]), 200, seed=0, stop="horizon").run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def peak(episodes: int) -> float:
    """Megabytes a run of so many episodes adds to the peak of its process."""
    ran = subprocess.run([sys.executable, "-c", RUN, str(episodes)], check=True, capture_output=True, text=True)
    return int(ran.stdout) / 1024


def main() -> int:
    short, long = peak(100), peak(1000)
    print(f"100 episodes add {short:.1f} MB, 1,000 episodes {long:.1f} MB")
    return 0 if verdict("memory of 1,000 episodes over 100", long / short, at_most=1.5) else 1


if __name__ == "__main__":
    sys.exit(main())
