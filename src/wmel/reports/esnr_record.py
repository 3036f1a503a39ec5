"""The record of ESNR readings."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from wmel.contract.cell import ORACLE
from wmel.diagnostics.esnr.result import mean_over_states
from wmel.errors import BadInput
from wmel.reports.entries import estimate_entry
from wmel.reports.envelopes import EsnrDifferenceEntry, EsnrEntry, EsnrRecord
from wmel.reports.records import stamp
from wmel.stats.estimate import Estimate


def joined_esnr_record(parts: Sequence[Mapping[str, Any]], versions: Mapping[str, str]) -> EsnrRecord:
    """The record of models that were read one by one, each together with the oracle."""
    first = parts[0]
    for part in parts[1:]:
        for name in ("environment", "objective", "source", "states"):
            if part[name] != first[name]:
                raise BadInput(f"readings cannot be put side by side: their {name} differs")
    own = [one for part in parts for one in part["readings"] if one["model"] != ORACLE]
    truth = [one for one in first["readings"] if one["model"] == ORACLE]
    entries = [EsnrEntry(**one) for one in (*own, *truth)]
    episodes = np.array([state["episode_seed"] for state in first["states"]])
    shared = {name: first[name] for name in ("environment", "objective", "source", "states")}
    return EsnrRecord(
        **stamp(),
        kind="esnr",
        **shared,
        readings=entries,
        differences=_differences([one for one in entries if one.model != ORACLE], episodes),
        versions=dict(versions),
        parts={kind: part for kind, part in first.get("parts", {}).items() if kind != "model"},
    )


def _differences(entries: Sequence[EsnrEntry], episodes: np.ndarray) -> list[EsnrDifferenceEntry]:
    """Every pair of models by the same estimator with the same settings."""
    pairs = [(a, b) for a, b in combinations(entries, 2) if a.method == b.method and a.settings == b.settings]
    return [
        EsnrDifferenceEntry(
            model=a.model, other=b.model, method=a.method, estimate=estimate_entry(_difference(a, b, episodes))
        )
        for a, b in pairs
    ]


def _difference(a: EsnrEntry, b: EsnrEntry, episodes: np.ndarray) -> Estimate:
    """A - B on the same states and the same noise."""
    for one in (a, b):
        if one.esnr.value is None:
            return Estimate.undefined(f"{one.model}: {one.esnr.reason}")
    return mean_over_states(
        np.array(a.per_state, float) - np.array(b.per_state, float), episodes, int(a.settings["samples"])
    )
