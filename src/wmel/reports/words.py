"""How estimates, settings and answers are written for people."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from wmel.analysis.horizon import HorizonSweep
from wmel.reports.json_envelope import Envelope, Metadata
from wmel.reports.old_parts import part_data
from wmel.stats.estimate import Estimate

BREAKS = re.compile(r"(?<=\w[_/=\[])(?=\w)|(?<=\w[-.,])(?=[^\W\d_])")  # where a line may end within a name
LONG_WORD = 12  # characters; shorter words stay whole
LISTED_SEEDS = 6  # more are named by the first and the last


def pieces(word: str) -> list[str]:
    """A word, divided behind its marks if it is long: a line may end there."""
    return BREAKS.split(word) if len(word) > LONG_WORD else [word]


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
    return f"{count} {noun}" if count == 1 else f"{count} {plural or f'{noun}s'}"


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
    share = "" if "perturbation_probability" in differing else f" in {metadata.perturb_prob:.0%} of episodes"
    reads = " (reads the true state)" if metadata.policy_reads == "state" else ""
    facts = {
        "environment": metadata.env,
        "starts": {None: None, "task": "sampled from the task", "fixed": "one fixed state"}[metadata.init],
        "policy": metadata.policy if metadata.planner is None else None,
        "model": None if metadata.model is None or "model" in differing else f"{metadata.model}{reads}",
        "planner": None if metadata.planner is None else _describe_planner(metadata, differing),
        "objective": None if metadata.objective is None else part_words(metadata.objective),
        "perturbation": None if metadata.perturbation is None else f"{metadata.perturbation}{share}",
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
    held = "" if effective.low is None else f"; confidence set {effective.low:.0f} to {effective.high:.0f}"
    return f"rule of the wmel 0.18 repository, epsilon {sweep.epsilon:g}{held}"


def stamp_words(record: Envelope) -> str:
    """Which version made a record, and when."""
    return f"wmel {record.wmel_version}, {record.generated_at.isoformat()}"
