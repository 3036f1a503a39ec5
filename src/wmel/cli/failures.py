"""When a run as a whole has failed."""

import sys

from wmel.episodes import EpisodeTable


def common_failure(table: EpisodeTable) -> int:
    """Exit code 1, and the reason said, when every episode failed alike before its first step."""
    reasons = set(table["error"])
    if len(reasons) == 1 and "" not in reasons and not table["steps"].any():
        print(f"wmel: every episode failed at its first decision: {reasons.pop()}", file=sys.stderr)
        return 1
    return 0
