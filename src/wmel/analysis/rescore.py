"""Re-scoring: another criterion of success on stored episodes, from the reward of every step, without running again."""

import numpy as np

from wmel.contract.criterion import Criterion, Stop, is_met, is_success
from wmel.errors import BadInput, parse_choice, require_whole
from wmel.schema import EpisodeTable

REWARD = "reward"


def rescored(table: EpisodeTable, criterion: Criterion, *, horizon: int, stop: Stop) -> EpisodeTable:
    """The table as a run with this criterion and stop = horizon would judge it.

    `horizon` and `stop` are those the table was run with. New are `judged`, `success` and `first_success_step`; an
    episode that broke or gave up stays a failure, whatever came before. What the rewards of executed steps
    cannot tell is unknown: `unperturbed_success` is NaN, `pre_solved` is False. All else stays as it was executed:
    `steps` (a looser criterion may have been met before the last of them), `perturbed`, and `return`, which does not
    depend on success but is NaN where stop = success may have cut episodes short.
    """
    stop = parse_choice(Stop, stop)
    _check(table, criterion, horizon, stop)
    count, executed = len(table), table["steps"]
    whole = executed == horizon
    cut_short = ~whole & table["success"] & (stop is Stop.SUCCESS)
    in_order = (table["error"] == "") & (whole | cut_short)  # the others broke or gave up
    first = np.full(count, -1, np.int64)
    for row in np.flatnonzero(in_order):
        first[row] = _first_success(criterion, table["rewards"][row], is_whole=bool(whole[row]))
    _check_known(criterion, int((cut_short & in_order & (first < 0)).sum()), count)
    columns = dict(table.columns)
    columns["judged"] = np.ones(count, bool)
    columns["success"], columns["first_success_step"] = first > 0, first
    columns["pre_solved"] = np.zeros(count, bool)
    columns["unperturbed_success"] = np.full(count, np.nan)
    return EpisodeTable(columns)


def _first_success(criterion: Criterion, rewards: np.ndarray, *, is_whole: bool) -> int:
    """The step, counted from 1, at which success is established; -1: not within these steps."""
    holds = is_met(criterion, {REWARD: rewards})
    counted = np.cumsum(holds)
    streak = counted - np.maximum.accumulate(np.where(holds, 0, counted))
    is_last = np.arange(1, len(rewards) + 1) == len(rewards)
    won = np.flatnonzero(is_success(criterion, streak, is_last & is_whole))
    return int(won[0]) + 1 if len(won) else -1


def _check(table: EpisodeTable, criterion: Criterion, horizon: int, stop: Stop) -> None:
    """Refuse what cannot be judged by these rewards, and a horizon or stop that is not the table's."""
    if criterion.quantity != REWARD:
        raise BadInput(
            f"'{criterion}' needs another run: only the {REWARD} of every step is stored, not {criterion.quantity!r}"
        )
    require_whole(horizon, "the horizon of the stored episodes")
    healthy, executed = table["error"] == "", table["steps"]
    if (executed > horizon).any():
        raise BadInput(
            f"an episode has {int(executed.max())} steps, more than the horizon of {horizon} it is said to have"
        )
    if stop is Stop.HORIZON and (healthy & table["success"] & (executed < horizon)).any():
        raise BadInput(f"an episode succeeded and ended before step {horizon}: it was not run with stop = horizon")
    kept = np.array([rewards is not None for rewards in table["rewards"]], bool)
    lacking = int((healthy & (executed > 0) & ~kept).sum())
    if lacking:
        raise BadInput(
            f"{lacking} of {len(table)} episodes have no stored rewards: their environment gives none, or the record "
            "left them out (`wmel run --rewards`)"
        )
    lengths = [0 if rewards is None else len(rewards) for rewards in table["rewards"]]
    if (healthy & (lengths != executed)).any():
        raise BadInput("an episode has one reward for each of its steps, and one of these has not")


def _check_known(criterion: Criterion, unknown: int, count: int) -> None:
    if unknown:
        raise BadInput(
            f"'{criterion}' cannot be told of {unknown} of {count} episodes: they stopped at a success of their own "
            "before it was established; run it with stop = horizon"
        )
