"""Readings of checkpoints kept in a folder: what is there is not measured again, and must be of the same question."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from wmel.cli.esnr_sitting import Sitting
from wmel.contract.cell import ORACLE
from wmel.contract.spaces import Finite
from wmel.diagnostics.esnr.measure import chosen_settings
from wmel.errors import BadInput
from wmel.reports.esnr_envelope import EsnrRecord
from wmel.reports.records import read_record

READINGS = "readings"


@dataclass(frozen=True)
class Asked:
    """One checkpoint of a run, and where its reading is kept."""

    run: str
    updates: int
    checkpoint: Path
    output: Path
    rollout: str | None
    seed: int

    @property
    def file(self) -> Path:
        return self.output / READINGS / self.run / f"{self.updates:07d}.json"

    @property
    def name(self) -> str:
        """Of the model in its record."""
        return f"{self.run}@{self.updates}" + ("" if self.rollout is None else f" {self.rollout}")

    @property
    def noise_seed(self) -> int:
        """Its own: with shared noise even an estimator without signal drifts together with anything."""
        return int.from_bytes(sha256(f"{self.seed} {self.run} {self.updates}".encode()).digest()[:4])

    def kept(self, sitting: Sitting, model: Any) -> EsnrRecord | None:
        """The reading that is there, if it is of these weights and this question; None: there is none yet."""
        if not self.file.exists():
            return None
        found = read_record(self.file)
        if not isinstance(found, EsnrRecord):
            raise BadInput(f"{self.file} is no reading of ESNR: give another --output")
        for what, there, wanted in self._sides(found, sitting, model):
            if there != wanted:
                said = f"{there} there, {wanted} now" if isinstance(there, str) else "not the same now"
                raise BadInput(f"{self.file} was read otherwise, {what}: {said}; give another --output")
        return found

    def _sides(self, found: EsnrRecord, sitting: Sitting, model: Any) -> Iterable[tuple[str, Any, Any]]:
        """What must agree, by name: as it is there, and as it is asked for."""
        settings = chosen_settings({**sitting.settings, "noise_seed": self.noise_seed}, None, sitting.paper)
        discrete = isinstance(sitting.world.spec.actions, Finite)
        own = [one for one in found.readings if one.model != ORACLE]
        yield "environment", found.environment, sitting.world.spec.name
        yield "objective", found.objective, sitting.score.name
        yield "states", found.source, sitting.seen.source
        places = [(one.episode_seed, one.step) for one in found.states]
        yield "states", places, list(zip(sitting.seen.episodes.tolist(), sitting.seen.steps.tolist(), strict=True))
        yield "methods", ",".join(one.method for one in own), ",".join(sitting.methods)
        for one in own:
            wanted = settings.described(one.method, discrete=discrete)
            for name in wanted.keys() | one.settings.keys():
                yield f"{name} of {one.method}", str(one.settings.get(name)), str(wanted.get(name))
        oracle = sitting.oracle and sitting.world.spec.branchable
        yield "oracle", str(len(own) < len(found.readings)), str(oracle)
        yield "model", own[0].model, self.name
        yield "weights of the checkpoint", own[0].weights, model.spec.weights
