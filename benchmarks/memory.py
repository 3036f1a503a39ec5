"""Memory of a long `wmel run`, record written, against that of a short one: the peak less what imports take."""

import subprocess
import sys
import tempfile

from side_by_side import verdict

RUN = """
import resource, sys
import wmel.environments.dmc.suite, wmel.reports.records
from wmel.cli.main import app_for
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
line = "run --env dmc_cartpole --policy random --stop horizon --quiet --episodes"
typed = [*line.split(), sys.argv[1], "--output", sys.argv[2]]
app_for(typed)(typed, standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def peak(episodes: int) -> float:
    """Megabytes a run of so many episodes adds to the peak of its process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", RUN, str(episodes), f"{folder}/run.json"]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def main() -> int:
    short, long = peak(100), peak(1000)
    print(f"100 episodes add {short:.1f} MB, 1,000 episodes {long:.1f} MB")
    return 0 if verdict("memory of 1,000 episodes over 100", long / short, at_most=1.5) else 1


if __name__ == "__main__":
    sys.exit(main())
