"""When a run of pairs may stop: as soon as the confidence sequence decides, or hardly can any more."""

from typing import Literal

import numpy as np

from wmel.errors import require_share, require_whole
from wmel.stats.confidence_sequence import check_discordant, log_wealth_at_zero, rules_out_margin
from wmel.stats.futility import HOPELESS, chance_of_deciding, is_look

Decision = Literal["gap", "equivalence", "futility"]


def anytime_decision(
    oracle_only: int,
    learned_only: int,
    pairs: int,
    *,
    delta: float = 0.10,
    alpha: float = 0.05,
    cap: int | None = None,
) -> Decision | None:
    """What these counts of pairs decide, whenever one looks; the order in which pairs finished does not matter.

    With a cap, the most pairs the run may take, every tenth pair from the thirtieth also asks whether it is worth going
    on. Stopping for futility claims nothing, and ignoring it costs no validity.
    """
    require_share(delta, "delta")
    require_share(alpha, "alpha")
    if cap is not None:
        require_whole(cap, "the cap")
    check_discordant(oracle_only, learned_only, pairs)
    if log_wealth_at_zero(oracle_only, learned_only) > -np.log(alpha):
        return "gap"
    if rules_out_margin(oracle_only, learned_only, pairs, delta=delta, alpha=alpha):
        return "equivalence"
    if cap is None or not is_look(pairs) or pairs >= cap:
        return None
    chance = chance_of_deciding(oracle_only, learned_only, pairs, cap=cap, delta=delta, alpha=alpha)
    return "futility" if chance < HOPELESS else None
