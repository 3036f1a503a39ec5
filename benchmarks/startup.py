"""What `wmel --help` costs beside importing numpy."""

import resource
import subprocess
import sys

from side_by_side import verdict

ROUNDS = 7
NUMPY = [sys.executable, "-c", "import numpy"]
HELP = [sys.executable, "-c", "import sys; sys.argv = ['wmel', '--help']; from wmel.cli.main import main; main()"]


def child_seconds(command: list[str]) -> float:
    """CPU of a process and of what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    rounds = [(child_seconds(HELP), child_seconds(NUMPY)) for _ in range(ROUNDS)]
    ours, numpy = min(one for one, _ in rounds), min(other for _, other in rounds)
    print(f"wmel --help: {ours * 1e3:.0f} ms of CPU; import numpy: {numpy * 1e3:.0f} ms")
    return 0 if verdict("wmel --help over import numpy", ours / numpy, at_most=3) else 1


if __name__ == "__main__":
    sys.exit(main())
