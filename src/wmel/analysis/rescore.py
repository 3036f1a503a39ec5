"""Rescoring: applies another success criterion to stored episodes, from the rewards of their steps."""

import numpy as np

from wmel.contract.criterion import Criterion, Stop, is_met, is_success
from wmel.errors import BadInput, parse_choice, require_whole
from wmel.schema import EpisodeTable

REWARD = "reward"


def rescore(table: EpisodeTable, criterion: Criterion, *, horizon: int, stop: Stop) -> EpisodeTable:
    """The table with the successes of a run with this criterion and stop = horizon.

    The columns `judged`, `success` and `first_success_step` are new. An episode that ended with an error or an empty
    decision remains a failure. Rewards do not determine `unperturbed_success`, which becomes NaN, and `pre_solved`,
    which becomes False. The other columns do not change: `steps` may exceed the first success, and `return` is still
    NaN where stop = success may have ended an episode early.

    Args:
        horizon: The horizon of the run of the table.
        stop: The stop rule of the run of the table.
    """
    stop = parse_choice(Stop, stop)
    _check(table, criterion, horizon, stop)
    count, executed = len(table), table["steps"]
    whole = executed == horizon
    cut_short = ~whole & table["success"] & (stop is Stop.SUCCESS)
    completed = (table["error"] == "") & (whole | cut_short)  # without an error or an empty decision
    first = np.full(count, -1, np.int64)
    for row in np.flatnonzero(completed):
        first[row] = _first_success(criterion, table["rewards"][row], is_whole=bool(whole[row]))
    _check_known(criterion, int((cut_short & completed & (first < 0)).sum()), count)
    columns = dict(table.columns)
    columns["judged"] = np.ones(count, bool)
    columns["success"], columns["first_success_step"] = first > 0, first
    columns["pre_solved"] = np.zeros(count, bool)
    columns["unperturbed_success"] = np.full(count, np.nan)
    return EpisodeTable(columns)


def _first_success(criterion: Criterion, rewards: np.ndarray, *, is_whole: bool) -> int:
    """The step, counted from 1, at which success is established. -1: not within these steps."""
    holds = is_met(criterion, {REWARD: rewards})
    counted = np.cumsum(holds)
    streak = counted - np.maximum.accumulate(np.where(holds, 0, counted))
    is_last = np.arange(1, len(rewards) + 1) == len(rewards)
    successes = np.flatnonzero(is_success(criterion, streak, is_last & is_whole))
    return int(successes[0]) + 1 if len(successes) else -1


def _check(table: EpisodeTable, criterion: Criterion, horizon: int, stop: Stop) -> None:
    """Raises BadInput if the rewards do not determine success, or if the table has another horizon or stop rule."""
    if criterion.quantity != REWARD:
        raise BadInput(
            f"'{criterion}' needs another run: only the {REWARD} of every step is stored, not {criterion.quantity!r}"
        )
    require_whole(horizon, "the horizon of the stored episodes")
    healthy, executed = table["error"] == "", table["steps"]
    if (executed > horizon).any():
        raise BadInput(f"an episode has {int(executed.max())} steps, which is more than the given horizon of {horizon}")
    if stop is Stop.HORIZON and (healthy & table["success"] & (executed < horizon)).any():
        raise BadInput(f"an episode succeeded and ended before step {horizon}: it was not run with stop = horizon")
    has_rewards = np.array([rewards is not None for rewards in table["rewards"]], bool)
    without_rewards = int((healthy & (executed > 0) & ~has_rewards).sum())
    if without_rewards:
        raise BadInput(
            f"{without_rewards} of {len(table)} episodes have no stored rewards: their environment has none, or the "
            "record omits them (`wmel run --rewards`)"
        )
    lengths = [0 if rewards is None else len(rewards) for rewards in table["rewards"]]
    if (healthy & (lengths != executed)).any():
        raise BadInput("an episode must have one reward for each of its steps")


def _check_known(criterion: Criterion, unknown: int, count: int) -> None:
    if unknown:
        raise BadInput(
            f"'{criterion}' is unknown for {unknown} of {count} episodes: they stopped at their own success before it "
            "was established; run it with stop = horizon"
        )
