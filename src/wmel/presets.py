"""Presets: named settings of published runs, applied where a part has them and nothing else was given."""

from collections.abc import Mapping
from typing import Any

from wmel.errors import UnknownPart
from wmel.parts import nearest

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    # the CPG paper: one fixed start, 50 random sequences or CEM with 3 x 24 of 15 steps, its interval and rule first
    "paper": {
        "environment": {"init": "fixed"},
        "random-shooting": {"plan_horizon": 15, "candidates": 50},
        "cem": {"plan_horizon": 15, "iterations": 3, "candidates": 24, "elites": 6, "smoothing": 0.1},
        "verdict": {"rule": "paper"},
    },
}


def preset_settings(name: str | None) -> Mapping[str, Mapping[str, Any]]:
    """The settings of a preset by kind or name of part; none without a preset."""
    if name is None:
        return {}
    if name not in PRESETS:
        raise UnknownPart(f"no preset named '{name}';{nearest(name, PRESETS)}")
    return PRESETS[name]
