"""The scorecard of a run, what its metrics mean, and which part of the space its states covered."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from wmel import catalog
from wmel.catalog import METRICS
from wmel.errors import BadInput, UnknownPart, described
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate

BINS = 20


@dataclass(frozen=True)
class Scorecard:
    """Every metric's estimate; the undefined ones say why."""

    policy_name: str
    episodes: int
    estimates: Mapping[str, Estimate]

    def __getitem__(self, metric: str) -> Estimate:
        return self.estimates[metric]


def scorecard(policy_name: str, table: EpisodeTable, extra: Sequence[str] = ()) -> Scorecard:
    """Every metric of the catalogue that needs no number, and those asked for, such as success@20 or deadline@5."""
    plain = [name for name in catalog.METRICS.parts if not name.endswith("@")]
    for name in extra:
        catalog.metric(name)
    return Scorecard(policy_name, len(table), {name: asked(name, table) for name in (*plain, *extra)})


def asked(name: str, table: EpisodeTable) -> Estimate:
    """The estimate of a metric; one of a plugin that cannot be had is undefined with the reason, not fatal."""
    try:
        found = catalog.metric(name)(table)
    except BadInput as error:
        return Estimate.undefined(str(error))
    except Exception as error:
        if name in catalog.METRICS.built_in or "@" in name:
            raise
        return Estimate.undefined(f"the metric broke: {described(error)}")
    if not isinstance(found, Estimate):
        return Estimate.undefined(f"the metric returned a {type(found).__name__}, not an Estimate")
    return found


def explanation(metric: str) -> str:
    """The section of metrics.md about a metric; success@20 is explained by success@K."""
    sections = _sections()
    name = next((known for known in sections if _same(known, metric)), None)
    if name is not None:
        return sections[name]
    if metric in METRICS.parts:
        return (METRICS.load(metric).__doc__ or "its package says nothing about it").strip()
    raise UnknownPart(f"no metric named '{metric}'; known: {', '.join(sections)}")


def explained() -> list[str]:
    """The names of all metrics that are explained."""
    return list(_sections())


def _same(known: str, asked: str) -> bool:
    return known == asked or ("@" in known and known.partition("@")[0] == asked.partition("@")[0] and "@" in asked)


@cache
def _sections() -> dict[str, str]:
    page = files("wmel.analysis").joinpath("metrics.md").read_text(encoding="utf-8")
    parts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1].strip() for part in parts}


@dataclass(frozen=True)
class Coverage:
    """Visits along an axis from -top to top; shares lie beyond half and three quarters of the way up."""

    axis: str
    states: int
    mean: float
    most: float
    above_half: float
    above_three_quarters: float
    histogram: tuple[int, ...]  # of BINS equal parts of the axis


def has_axis(names: tuple[str, ...]) -> bool:
    """Whether observations with these components have an axis to be covered."""
    return any(name.startswith("cos") for name in names)


def uprightness(names: tuple[str, ...], observations: np.ndarray) -> np.ndarray | None:
    """The sum of the cosines among the components [...,O] -> [...]; None where there is none."""
    cosines = [place for place, name in enumerate(names) if name.startswith("cos")]
    return observations[..., cosines].sum(axis=-1) if cosines else None


def coverage(names: tuple[str, ...], observations: np.ndarray) -> Coverage | None:
    """How upright the visited states [N,O] were; None where nothing can be upright."""
    values = uprightness(names, observations)
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


def joined_coverage(parts: Sequence[Coverage]) -> Coverage:
    """The coverage of several sets of states as one."""
    states = sum(one.states for one in parts)

    def share(name: str) -> float:
        return sum(getattr(one, name) * one.states for one in parts) / states

    return Coverage(
        parts[0].axis,
        states,
        share("mean"),
        max(one.most for one in parts),
        share("above_half"),
        share("above_three_quarters"),
        tuple(sum(counts) for counts in zip(*(one.histogram for one in parts), strict=True)),
    )
