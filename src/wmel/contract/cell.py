"""A cell of a study: everything that decides its rows, as data."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any

from wmel.contract.run import Run

PARTS = 1  # raised when a part of wmel comes to mean something else by the same name and settings
FLOOR = "random"
ORACLE = "oracle"
USUAL_ROLLOUT = ("rollout", "latent")  # said or not, it is the same model


@dataclass(frozen=True, eq=False)
class Cell:
    """One policy in one environment on the episodes of one seed."""

    environment: str
    environment_settings: Mapping[str, Any]
    planner: Mapping[str, Any] | None  # its name and settings; None: actions at random
    objective: str | None  # None: the environment's own
    arm: str  # the name of its model; `oracle` and `random` are kept
    model: Mapping[str, Any] | None  # what identifies it; None: the oracle, or none
    perturbation: str | None
    perturb_prob: float
    perturb_step: int | None  # None: drawn by each episode's seed
    success: str | None  # None: the environment's own
    stop: str | None  # None: as the criterion asks
    horizon: int | None  # None: as many steps as the environment allows
    seed: int
    episodes: int = field(compare=False)
    labels: Mapping[str, Any] = field(default_factory=dict)  # what a study sweeps, and where this cell stands

    @cached_property
    def key(self) -> str:
        """The name its rows are stored by: of all that decides them, and of nothing else."""
        known = dict(item for item in (self.model or {}).items() if item != USUAL_ROLLOUT)
        known.pop("checkpoint", None)  # it may move
        return _hash({**self._deciding, "seed": self.seed, "arm": self.arm, "model": known})

    @cached_property
    def setting(self) -> str:
        """What arms must share to be compared: all but the model and the seed."""
        return _hash(self._deciding)

    @cached_property
    def world(self) -> str:
        """What a floor shares with the arms above it: all but planner, objective, model and seed."""
        return _hash({**self._deciding, "planner": None, "objective": None})

    @property
    def name(self) -> str:
        """As people write it, for `--only` and for tables."""
        where = [self.environment, *(str(value) for value in self.environment_settings.values())]
        how = [] if self.planner is None else [str(value) for value in self.planner.values()]
        asked = (self.objective, self._struck, self.success, self.stop)
        parts = ["-".join(where), "-".join(how), *asked, self.arm, f"seed-{self.seed}"]
        return "/".join(part for part in parts if part)

    @property
    def _struck(self) -> str | None:
        """What strikes, how often unless always, and when unless that is drawn."""
        if self.perturbation is None:
            return None
        often = "" if self.perturb_prob == 1 else f"-with-{self.perturb_prob:g}"
        return self.perturbation + often + ("" if self.perturb_step is None else f"-from-{self.perturb_step}")

    def as_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Cell":
        return cls(**{one.name: data[one.name] for one in fields(cls)})

    @property
    def _deciding(self) -> dict[str, Any]:
        named = (
            "environment",
            "environment_settings",
            "planner",
            "objective",
            "perturbation",
            "perturb_prob",
            "perturb_step",
        )
        return {"parts": PARTS} | {name: getattr(self, name) for name in (*named, "success", "stop", "horizon")}


@dataclass(frozen=True, eq=False)
class CellResult:
    """What a store holds of a cell."""

    cell: Cell
    run: Run | None  # None: no episode is stored
    missing: int = 0  # episodes not stored
    failure: str | None = None  # why, where it is known


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
