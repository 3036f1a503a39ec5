"""How long a run of pairs lasts that may stop after any of them."""

from typing import NamedTuple

import numpy as np

from wmel.errors import require_share, require_whole
from wmel.stats.confidence_sequence import log_wealth_at_zero
from wmel.stats.equivalence_region import equivalent_counts
from wmel.stats.futility import HOPELESS, chances
from wmel.stats.power import Design


class Rounds(NamedTuple):
    """Mean number of pairs, and how often the run decides for a gap, for equivalence, or is given up."""

    mean: float
    gap: float
    equivalence: float
    gives_up: float


def expected_rounds(design: Design, cap: int = 150, *, alpha: float = 0.05, futility: bool = False) -> Rounds:
    """Pairs until `anytime_decision` stops, or `cap`: exact. The margin is the design's, or .10 where it has none."""
    require_whole(cap, "the cap")
    require_share(alpha, "alpha")
    delta = 0.10 if design.equivalence is None else design.equivalence
    of_b, of_c = design.discordant
    b, c = np.ogrid[: cap + 1, : cap + 1]
    shows_gap = log_wealth_at_zero(b, c) > -np.log(alpha)
    looks = chances(cap, delta, alpha) if futility else {}
    alive = np.zeros((cap + 1, cap + 1))
    alive[0, 0], mean, stopped = 1.0, 0.0, {"gap": 0.0, "equivalence": 0.0, "gives_up": 0.0}
    for pairs in range(1, cap + 1):
        mean += alive.sum()
        after = (1 - of_b - of_c) * alive
        after[1:] += of_b * alive[:-1]
        after[:, 1:] += of_c * alive[:, :-1]
        ends = {"gap": shows_gap, "equivalence": equivalent_counts(pairs, delta, alpha)}
        if pairs in looks:
            ends["gives_up"] = looks[pairs] < HOPELESS
        for reason, where in ends.items():
            stopped[reason] += after[where].sum()
            after[where] = 0.0
        alive = after
    return Rounds(float(mean), **{reason: float(share) for reason, share in stopped.items()})
