"""What `wmel --help` costs beside importing numpy, and a tiny `wmel cpg` beside the bare loop of its episodes."""

import os
import resource
import subprocess
import sys
from pathlib import Path

from side_by_side import verdict

ROUNDS = 7
HERE = Path(__file__).parent
NUMPY = [sys.executable, "-c", "import numpy"]
HELP = [sys.executable, "-c", "import sys; sys.argv = ['wmel', '--help']; from wmel.cli.main import main; main()"]
TINY = "cpg --env dmc_cartpole --model startup:still --episodes 3 --horizon 20 --quiet"
CPG = [sys.executable, "-c", f"import sys; sys.argv = 'wmel {TINY}'.split(); from wmel.cli.main import main; main()"]
LOOP = """
from startup import still
from wmel import catalog
from wmel.closed_loop.run import episode_seeds, run_episodes
world = catalog.environment("dmc_cartpole")
for name, model in (("random-shooting", {}), ("random-shooting", {"model": still}), ("random", {})):
    run_episodes(world, catalog.policy(name, world, **model), episode_seeds(0, 3), max_steps=20)
"""
BARE = [sys.executable, "-c", LOOP]
ENVIRONMENT = {name: one for name, one in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
MOST_OF_BARE = 1.8  # measured: 1.41 to 1.49 on two shared cores; records, checks and imports may cost a fifth more


def still(state, action):
    """A model in which nothing moves."""
    return state


def child_seconds(command: list[str]) -> float:
    """CPU of a process and of what it starts; compiled files are kept, so that the best round compiles nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, cwd=HERE, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least_seconds(first: list[str], second: list[str]) -> tuple[float, float]:
    """The best round of each of two commands, in turns."""
    rounds = [(child_seconds(first), child_seconds(second)) for _ in range(ROUNDS)]
    return min(one for one, _ in rounds), min(other for _, other in rounds)


def main() -> int:
    ours, numpy = least_seconds(HELP, NUMPY)
    print(f"wmel --help: {ours * 1e3:.0f} ms of CPU; import numpy: {numpy * 1e3:.0f} ms")
    holds = verdict("wmel --help over import numpy", ours / numpy, at_most=3)
    gap, bare = least_seconds(CPG, BARE)
    print(f"a tiny wmel cpg: {gap * 1e3:.0f} ms of CPU; the bare loop of its episodes: {bare * 1e3:.0f} ms")
    holds &= verdict("a tiny wmel cpg over the bare loop of its episodes", gap / bare, at_most=MOST_OF_BARE)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
