"""How numbers, estimates and settings are written: as text, and as table cells with the reason where they are n/a."""

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from wmel import catalog
from wmel.analysis.horizon import HorizonSweep
from wmel.contract.cell import label_text
from wmel.contract.perturbation import FROM_STEP
from wmel.reports.document import NOT_APPLICABLE, Section, Table, TableCell, TableColumn
from wmel.reports.record_entries import estimate_from
from wmel.reports.record_types import CoverageEntry, Envelope, EstimateEntry, Metadata, ScorecardEntry
from wmel.stats.estimate import Estimate

RENAMED = {"horizon": "plan_horizon"}  # settings that have another name since


def part_data(part: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """A part of a record as data; a text that is no call of a class is a name."""
    return _parse_call(part) if isinstance(part, str) else part


@cache
def _parse_call(text: str) -> Mapping[str, Any]:
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return {"name": text}
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return {"name": text}
    keywords = {one.arg: one.value.value for one in call.keywords if isinstance(one.value, ast.Constant)}
    name = keywords.pop("name", None) or _catalogue_name(call.func.id)
    settings = {RENAMED.get(str(key), str(key)): value for key, value in keywords.items() if value not in (None, False)}
    return {"name": name, **settings}


def _catalogue_name(class_name: str) -> str:
    """The name of a class in the catalogue; the class itself where it is not there."""
    lines = [*catalog.PLANNERS.built_in.items(), *catalog.OBJECTIVES.built_in.items()]
    return next((name for name, line in lines if line.target.endswith(f":{class_name}")), class_name)


SHOWN_APART = ("probability", "step", "given", "identity")  # of an entry, and of a live part
LISTED_SEEDS = 6  # more are named by the first and the last


def number(estimate: Estimate, digits: int = 3) -> str:
    """The value, or n/a."""
    return "n/a" if estimate.value is None else f"{estimate.value:.{digits}f}"


def bounds(estimate: Estimate, digits: int = 3) -> str:
    """The interval, or n/a."""
    if estimate.low is None or estimate.high is None:
        return "n/a"
    return f"[{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def short(value: float | None) -> str:
    """Three digits of a number of any size, or n/a."""
    return "n/a" if value is None else f"{value:.3g}"


def count_words(count: int, noun: str, plural: str = "") -> str:
    """How many of something; `plural` where it is not the noun with an s."""
    return f"1 {noun}" if count == 1 else f"{count:,} {plural or f'{noun}s'}"


def listed_words(words: Sequence[str], most: int | None = None) -> str:
    """One after the other; of more than `most` the last are counted."""
    if most is not None and len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def part_name(part: Mapping[str, Any] | str) -> str:
    """What a part of a record is called."""
    return part_data(part)["name"]


def part_words(part: Mapping[str, Any] | str) -> str:
    """A part of a record with its settings, those that are none left out: `cem plan_horizon=15 candidates=24`."""
    data = part_data(part)
    settings = (f"{name}={value}" for name, value in data.items() if name != "name" and value is not None)
    return " ".join([data["name"], *settings])


def describe_setting(metadata: Metadata, episodes: str, differing: Sequence[str] = ()) -> str:
    """What every row of a result shares, in one line; `differing` names what differs from row to row."""
    return join_facts(setting_facts(metadata, episodes, differing))


def join_facts(facts: Mapping[str, str]) -> str:
    """Facts by name in one line."""
    return "; ".join(f"{name}: {value}" for name, value in facts.items())


def setting_facts(metadata: Metadata, episodes: str, differing: Sequence[str] = ()) -> dict[str, str]:
    """The settings of a result by name; `differing` names what differs from row to row."""
    reads = " (reads the true state)" if metadata.policy_reads == "state" else ""
    facts = {
        "environment": metadata.env,
        "starts": {None: None, "task": "sampled from the task", "fixed": "one fixed state"}[metadata.init],
        "policy": None if metadata.planner is not None else _describe_policy(metadata, differing),
        "model": None if metadata.model is None or "model" in differing else f"{metadata.model}{reads}",
        "planner": None if metadata.planner is None else _describe_planner(metadata, differing),
        "objective": None if metadata.objective is None else part_words(metadata.objective),
        "perturbation": _describe_perturbation(metadata, differing),
        "success": None if "criterion" in differing else metadata.success,
        "stop": "at the horizon" if metadata.stop == "horizon" else None,
        "seeds": _list_seeds(metadata.seeds),
        "episodes": episodes,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _describe_planner(metadata: Metadata, differing: Sequence[str]) -> str:
    planner = metadata.planner
    assert planner is not None
    planner = {name: value for name, value in part_data(planner).items() if name not in differing}
    executed = "the whole plan" if metadata.execute is None else f"{metadata.execute} actions of a plan"
    return (
        f"{part_words(planner)}{'' if {'execute', 'planner.execute'} & set(differing) else f' (executes {executed})'}"
    )


def _describe_policy(metadata: Metadata, differing: Sequence[str]) -> str:
    part = metadata.parts.get("policy", {})
    shown = {key: one for key, one in part.items() if not {key, f"policy.{key}"} & set(differing)}
    return _named_settings(metadata.policy, shown)


def _named_settings(name: str, part: Mapping[str, Any]) -> str:
    """The name that a part has in a run, and its settings."""
    return part_words({**{key: one for key, one in part.items() if key not in SHOWN_APART}, "name": name})


def _describe_perturbation(metadata: Metadata, differing: Sequence[str]) -> str | None:
    """A perturbation with its settings, those that differ left out; None if there is none."""
    part = metadata.parts.get("perturbation", {})
    name, start, step = (metadata.perturbation or part.get("name", "")).partition(FROM_STEP)
    if not name:
        return None
    if part.get("name") == "composite":
        known = [part_words(one) for one in part["parts"] if _has_own_settings(one["name"])]
        name += f" ({', '.join(known)})" if known else ""
    elif metadata.perturbation is None or _has_own_settings(name):
        shown = {key: one for key, one in part.items() if f"perturbation_{key}" not in differing}
        name = _named_settings(name, shown)
    share = "" if "perturbation_probability" in differing else f" in {metadata.perturb_prob:.0%} of episodes"
    return f"{name}{start}{step}{share}"


def _has_own_settings(perturbation: str) -> bool:
    """Whether the settings of a perturbation are not part of its name, as those of built-in ones are."""
    return not any(f"{perturbation}-".startswith(f"{one}-") for one in catalog.PERTURBATIONS.built_in)


def _list_seeds(seeds: Sequence[int]) -> str:
    """Every seed, or the first and the last of many in a row."""
    if len(seeds) <= LISTED_SEEDS:
        return ", ".join(map(str, seeds))
    if list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return f"{', '.join(map(str, seeds[:LISTED_SEEDS]))} and {len(seeds) - LISTED_SEEDS} more"


def horizon_note(sweep: HorizonSweep) -> str:
    """What belongs beside H*: epsilon and the confidence set, or why there is none."""
    effective = sweep.effective_horizon
    if not effective.is_defined:
        return effective.reason
    confidence = "" if effective.low is None else f"; confidence set {effective.low:.0f} to {effective.high:.0f}"
    return f"rule of the wmel 0.18 repository, epsilon {sweep.epsilon:g}{confidence}"


def stamp_words(record: Envelope) -> str:
    """Which version made a record, and when."""
    return f"wmel {record.wmel_version}, {record.generated_at.isoformat()}"


COMPUTE = "average_compute_per_decision"


def undefined(reason: str) -> TableCell:
    return TableCell("n/a", reason or "no reason is recorded")


def metric_cell(card: ScorecardEntry, metric: str, digits: int = 3) -> TableCell:
    """The value of a metric; a policy that plans nothing has no compute."""
    estimate = _metric(card, metric)
    if metric == COMPUTE and estimate.value is None:
        return NOT_APPLICABLE
    return _text_cell(estimate, number, digits)


def metric_bounds(card: ScorecardEntry, metric: str, digits: int = 3) -> TableCell:
    """The interval of a metric."""
    return _text_cell(_metric(card, metric), bounds, digits)


def estimate_cell(entry: EstimateEntry, digits: int = 3) -> TableCell:
    """A value with its interval, where it has one."""
    estimate = estimate_from(entry)
    if estimate.value is None or estimate.low is None:
        return _text_cell(estimate, number, digits)
    return TableCell(f"{number(estimate, digits)} {bounds(estimate, digits)}", value=estimate.value)


def with_interval(entry: EstimateEntry) -> TableCell:
    """Three digits of the value and of the ends of its interval."""
    estimate = estimate_from(entry)
    if estimate.value is None:
        return undefined(estimate.reason)
    if estimate.low is None or estimate.high is None:
        return TableCell(short(estimate.value), value=estimate.value)
    interval = f"[{short(estimate.low)}, {short(estimate.high)}]"
    return TableCell(f"{short(estimate.value)} {interval}", value=estimate.value)


def p_value_cell(value: float | None, reason: str) -> TableCell:
    """A p-value in two digits; the reason is why there is none."""
    if value is None:
        return undefined(reason)
    return TableCell(f"{value:.2g}" if value >= 1e-4 else "<0.0001", value=value)


def _metric(card: ScorecardEntry, name: str) -> Estimate:
    known = card.estimates.get(name)
    return Estimate.undefined("it is not in the record") if known is None else estimate_from(known)


def _text_cell(estimate: Estimate, words: Callable[[Estimate, int], str], digits: int) -> TableCell:
    text = words(estimate, digits)
    if text == "n/a":
        return undefined(estimate.reason or "it has no interval")
    return TableCell(text, value=estimate.value)


def scorecard_table(caption: str, estimates: Mapping[str, Estimate]) -> Table:
    """One row per metric; an undefined one has its reason."""
    rows = tuple(
        (
            TableCell(name),
            TableCell(number(one), value=one.value),
            NOT_APPLICABLE if one.low is None else TableCell(bounds(one)),
            TableCell(str(one.n), value=one.n),
            TableCell(one.method if one.is_defined else one.reason),
        )
        for name, one in estimates.items()
    )
    titles = ("value", "95% interval", "n")
    columns = (TableColumn("metric", False), *map(TableColumn, titles), TableColumn("note", False))
    return Table(caption, columns, rows)


IQM = "return (IQM)"
COSTS = {
    "steps": ("average_steps_to_success", 1),
    "compute/decision": (COMPUTE, 1),
    "latency_ms": ("average_planning_latency_ms", 2),
    "return": ("average_return", 1),
    IQM: ("interquartile_mean_return", 1),
    "pre-solved": ("pre_solved_rate", 3),
    "errors": ("error_rate", 3),
}


def arms_table(
    caption: str,
    cards: Mapping[str, ScorecardEntry],
    metrics: Sequence[str],
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> Table:
    """What each arm reached and cost; `metrics` are added, `own` are labels of single arms."""
    own = own or {}
    measured = {**COSTS, **{name: (name, 3) for name in metrics}}
    labels = list(dict.fromkeys(label for arm in cards for label in own.get(arm, {})))
    columns = (
        TableColumn("arm", False),
        *(TableColumn(label, False) for label in labels),
        *(TableColumn(title, is_detail=title == IQM) for title in ("success", "95% interval", *measured)),
        TableColumn("n", is_detail=True),
    )
    rows = tuple(
        (
            TableCell(arm),
            *(TableCell(label_text(own.get(arm, {}).get(label, ""))) for label in labels),
            metric_cell(card, "success_rate"),
            metric_bounds(card, "success_rate"),
            *(metric_cell(card, name, digits) for name, digits in measured.values()),
            TableCell(str(card.episodes), value=card.episodes),
        )
        for arm, card in cards.items()
    )
    return Table(caption, columns, rows)


def coverage_section(coverage: Mapping[str, CoverageEntry | None]) -> Section:
    """Where the states that each arm visited lie along the axis to be covered; empty where there is none."""
    known = {name: one for name, one in coverage.items() if one is not None}
    axis = next((one.axis for one in known.values()), "")
    return Section(f"Visited states: {axis}", [coverage_table(known)])


def coverage_table(coverage: Mapping[str, CoverageEntry]) -> Table:
    """The same as a table alone."""
    axis = next((one.axis for one in coverage.values()), "")
    columns = (TableColumn("name", False), *map(TableColumn, ("states", "mean", "max", "above 1/2", "above 3/4")))
    rows = tuple(
        (
            TableCell(name),
            TableCell(str(one.states)),
            TableCell(f"{one.mean:.3f}"),
            TableCell(f"{one.most:.3f}"),
            TableCell(f"{one.above_half:.1%}"),
            TableCell(f"{one.above_three_quarters:.1%}"),
        )
        for name, one in coverage.items()
    )
    caption = f"{axis} of visited states (shares above half and three quarters of the way up)"
    return Table(caption, columns, rows)
