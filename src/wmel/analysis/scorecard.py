"""The scorecard of a run, the coverage of its states, and stored episodes scored by another success criterion."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isfunction
from itertools import product
from typing import Any

import numpy as np

from wmel.catalog import METRICS, name_and_settings
from wmel.contract.criterion import Criterion, Stop, is_met, is_success
from wmel.errors import (
    BadInput,
    WmelError,
    describe_error,
    locate_code,
    locate_error,
    message_of,
    parse_choice,
    printable,
    require_whole,
    shorten,
)
from wmel.schema import Coverage, EpisodeTable, blank_columns
from wmel.settings import builds_part
from wmel.stats.estimate import MAX_EPISODES, Estimate
from wmel.values import is_json

BINS = 20  # of the histogram of a coverage axis


@dataclass(frozen=True)
class Scorecard:
    """The estimate of every metric. An undefined estimate has a reason."""

    policy_name: str
    episodes: int
    estimates: Mapping[str, Estimate]

    def __repr__(self) -> str:
        success = self.estimates.get("success_rate")
        rate = "" if success is None else f", success {success.words}"
        return f"Scorecard({self.policy_name}, {self.episodes} episodes{rate})"

    def __getitem__(self, metric: str) -> Estimate:
        return self.estimates[metric]


def scorecard(policy_name: str, table: EpisodeTable, extra: Sequence[str] = ()) -> Scorecard:
    """The metrics of the catalogue without required settings, and extra ones such as success@20 or deadline@5."""
    for name in extra:
        metric(name)
    return stored_scorecard(policy_name, table, extra)


def stored_scorecard(policy_name: str, table: EpisodeTable, extra: Sequence[str] = ()) -> Scorecard:
    """The scorecard of stored rows. A metric that is no longer installed is undefined, with the reason."""
    plain, table = [name for name in METRICS.parts if not name.endswith("@")], table.read_only()
    return Scorecard(policy_name, len(table), {name: evaluate_metric(name, table) for name in (*plain, *extra)})


def evaluate_metric(name: str, table: EpisodeTable) -> Estimate:
    """The estimate of a metric. If a metric of a plugin fails, it is undefined, with the reason."""
    try:
        found = metric(name)(table.read_only())
    except WmelError as error:
        return Estimate.undefined(printable(message_of(error)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if metric_data(name)["name"] in METRICS.built_in:
            raise
        return Estimate.undefined(f"the metric broke: {describe_error(error)}")
    if not isinstance(found, Estimate):
        return Estimate.undefined(f"the metric returned a {type(found).__name__}, not an Estimate")
    return found if metric_data(name)["name"] in METRICS.built_in else _recordable(found)


def _recordable(found: Estimate) -> Estimate:
    """The estimate of a plugin as a record holds it: undefined, with the reason, unless its numbers are finite."""
    try:
        value, low, high = (None if one is None else float(one) for one in (found.value, found.low, found.high))
        n, method, reason = int(found.n), printable(found.method), printable(found.reason)
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        return Estimate.undefined(f"the metric returned an invalid Estimate: {describe_error(error)}")
    if not all(one is None or math.isfinite(one) for one in (value, low, high)) or not 0 <= n <= MAX_EPISODES:
        return Estimate.undefined(f"the metric returned value {value}, interval {low} to {high}, n {shorten(n)}")
    return Estimate(value, low, high, n, method, reason)


def metric(part: Any) -> Any:
    """A metric, from text (success_rate, success@20, share@above=0.5), {name, **settings} or a function of a table.

    A class, or a function of settings alone, builds the metric. Any other function is the metric.
    """
    if callable(part):
        return part
    spec = METRICS.spec(*name_and_settings(metric_data(part), "metric"))
    if builds_part(spec.factory):
        return spec.build()
    return partial(spec.factory, **spec.settings) if spec.settings else spec.factory


def try_metric(name: str) -> None:
    """Raises BadInput if a metric of a plugin fails or returns no Estimate, on a table of a success and a failure."""
    if metric_data(name)["name"] in METRICS.built_in:
        return
    found, place = metric(name), ""
    try:
        estimate = found(_two_episodes().read_only())
        if isinstance(estimate, Estimate):
            return
        reason = f"it returned a {type(estimate).__name__}, not an Estimate"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reason, place = describe_error(error), locate_error(error)
    place = place or locate_code(_code_of(found), is_library_shown=True)
    raise BadInput(f"metric '{name}' breaks on two episodes: {reason}{place}")


def _code_of(metric: Any) -> Any:
    """The function or class that defines a metric."""
    inner = metric.func if isinstance(metric, partial) else metric
    return inner if isfunction(inner) else type(inner)


def _two_episodes() -> EpisodeTable:
    """A success and a failure, both perturbed and timed."""
    columns = blank_columns(2)
    columns["episode_seed"][:] = 0, 1
    columns["success"][:] = True, False
    columns["steps"][:] = 3, 5
    columns["first_success_step"][:] = 3, -1
    for name, number in {"plan_calls": 2, "model_steps": 20, "declared_compute": 20.0, "return": 1.0}.items():
        columns[name][:] = number
    columns["perturbed"][:] = True
    columns["unperturbed_success"][:] = 1.0
    for row, steps in enumerate(columns["steps"]):
        columns["rewards"][row] = np.full(steps, 1.0 / steps)
        columns["planning_latencies_ms"][row] = (1.0, 2.0)
    return EpisodeTable(columns)


def metric_data(part: str | Mapping[str, Any]) -> dict[str, Any]:
    """A metric as {name, **settings}, from that or from text: NAME@VALUE, or NAME@KEY=VALUE,KEY=VALUE."""
    if not isinstance(part, str):
        name, settings = name_and_settings(part, "metric")
        return {"name": name, **settings}
    name, at, rest = part.partition("@")
    if not at or (not rest and METRICS.has(part)):
        return {"name": part}
    name = f"{name}@" if METRICS.has(f"{name}@") else name
    first = next(iter(METRICS.settings_of(name)), None)
    if first is None:
        raise BadInput(f"metric '{name}' takes no settings, got '{part}'")
    pairs = [text.partition("=") for text in rest.split(",")] if "=" in rest else [(first, "=", rest)]
    return {"name": name, **METRICS.parse(name, {key.strip(): value for key, _, value in pairs})}


def metric_texts(metrics: Sequence[Any]) -> list[str]:
    """Metrics as texts, as in tables and records. A swept setting gives one text for each value."""
    return [text for one in metrics for text in ([one] if isinstance(one, str) else _metric_texts(one))]


def _metric_texts(part: Mapping[str, Any]) -> Iterator[str]:
    name, settings = name_and_settings(part, "metric")
    for chosen in product(*(_values_of(name, key, value) for key, value in settings.items())):
        stated = dict(zip(settings, chosen, strict=True))
        is_first = len(stated) == 1 and list(stated) == list(METRICS.settings_of(name))[:1]
        texts = [str(value) if is_first else f"{key}={value}" for key, value in stated.items()]
        yield f"{name.removesuffix('@')}@{','.join(texts)}" if texts else name


def _values_of(name: str, setting: str, value: Any) -> Sequence[Any]:
    """The values of a metric's setting: one, or those of its sweep."""
    is_swept = isinstance(value, Mapping) and set(value) == {"sweep"}
    values = value["sweep"] if is_swept else [value]
    if not isinstance(values, list | tuple) or not values:
        raise BadInput(f"metric '{name}': {setting}.sweep must be a list of at least one value, got {values!r:.60}")
    for one in values:
        if not is_json(one):
            raise BadInput(f"metric '{name}': JSON cannot represent {setting} = {one!r:.60}")
    return values


def has_coverage_axis(names: tuple[str, ...]) -> bool:
    """Whether observations with these components have a coverage axis."""
    return any(name.startswith("cos") for name in names)


def _uprightness(names: tuple[str, ...], observations: np.ndarray) -> np.ndarray | None:
    """The sum of the cosines among the components [...,O] -> [...]. None if there is no cosine."""
    cosines = [index for index, name in enumerate(names) if name.startswith("cos")]
    return observations[..., cosines].sum(axis=-1) if cosines else None


def coverage(names: tuple[str, ...], observations: np.ndarray) -> Coverage | None:
    """The coverage of uprightness by the visited states [N,O]. None if no component is a cosine."""
    values = _uprightness(names, observations)
    if values is None:
        return None
    values = values[np.isfinite(values)]
    if not len(values):
        raise BadInput("coverage needs at least one visited state, got none")
    top = float(sum(name.startswith("cos") for name in names))
    counts, _ = np.histogram(values.clip(-top, top), bins=BINS, range=(-top, top))
    return Coverage(
        "uprightness",
        len(values),
        float(values.mean()),
        float(values.max()),
        float((values > top / 2).mean()),
        float((values > 0.75 * top).mean()),
        tuple(int(count) for count in counts),
    )


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
