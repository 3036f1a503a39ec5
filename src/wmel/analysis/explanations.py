"""What a metric means, read from the page that defines it."""

import re
from functools import cache
from importlib.resources import files

from wmel.catalog import METRICS
from wmel.errors import UnknownPart


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
    page = files("wmel.analysis.metrics").joinpath("metrics.md").read_text(encoding="utf-8")
    parts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1].strip() for part in parts}
