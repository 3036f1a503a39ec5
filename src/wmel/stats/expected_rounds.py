"""How long a run of pairs lasts that may stop after any of them."""

from typing import NamedTuple

import numpy as np

from wmel.errors import require_whole
from wmel.stats.confidence_sequence import log_wealth_at_zero
from wmel.stats.futility import HOPELESS, chances, is_look
from wmel.stats.power import Design


class Rounds(NamedTuple):
    """Mean number of pairs, and how often the run decides for a gap or is given up."""

    mean: float
    decides: float
    gives_up: float


def expected_rounds(design: Design, cap: int = 150, *, alpha: float = 0.05, futility: bool = False) -> Rounds:
    """Pairs until the confidence sequence excludes 0, or, where asked, until it hardly can by `cap`: exact."""
    require_whole(cap, "the cap")
    b, c = design.discordant
    counts = np.arange(cap + 1)
    decided = log_wealth_at_zero(counts[:, None], counts[None, :]) > -np.log(alpha)
    looks = chances(cap, 0.10, alpha) if futility else {}
    alive = np.zeros((cap + 1, cap + 1))
    alive[0, 0], mean, decides, gives_up = 1.0, 0.0, 0.0, 0.0
    for pairs in range(1, cap + 1):
        mean += alive.sum()
        after = (1 - b - c) * alive
        after[1:] += b * alive[:-1]
        after[:, 1:] += c * alive[:, :-1]
        decides += after[decided].sum()
        alive = np.where(decided, 0.0, after)
        if looks and is_look(pairs) and pairs < cap:
            hopeless = looks[pairs] < HOPELESS
            gives_up += alive[hopeless].sum()
            alive = np.where(hopeless, 0.0, alive)
    return Rounds(float(mean), float(decides), float(gives_up))
