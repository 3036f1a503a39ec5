"""The records of `wmel power` and `wmel check`: their fields, beside those of json_envelope."""

from typing import Literal

from wmel.reports.json_envelope import Entry, Envelope, Positive


class PowerRecord(Envelope):
    """What was asked; the answers are computed from it."""

    kind: Literal["power"]
    oracle: float
    learned: float
    paired: bool
    phi: float
    equivalence: float | None
    n: Positive | None
    half_width: float | None
    power: float
    paper: bool


class FindingEntry(Entry):
    """One promise of a contract, and how it was kept or broken."""

    promise: str
    problem: str  # empty: it is kept
    note: str


class CheckRecord(Envelope):
    """What the conformance kit of a part found."""

    kind: Literal["check"]
    name: str
    part: str  # its kind
    findings: list[FindingEntry]
