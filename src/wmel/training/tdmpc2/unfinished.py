"""Where a training stands, in one file, so that one that was killed can go on."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from wmel.errors import BadInput
from wmel.training.checkpoints import write_tensors
from wmel.training.tdmpc2.moment import Moment

FILE = "unfinished.safetensors"


@dataclass(eq=False)
class Unfinished:
    """What must be known to go on: tensors by name, and the rest as data."""

    asked: dict[str, Any]  # the settings and what is learned from
    tensors: dict[str, Tensor]
    updates: int
    episodes: int
    rounds: int  # of episodes that were played to their end
    best_return: float | None
    curve: list[Moment] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """In place of what was there before."""
        said = {name: value for name, value in vars(self).items() if name not in ("tensors", "curve")}
        said["curve"] = [asdict(moment) for moment in self.curve]
        write_tensors(folder / FILE, self.tensors, {"unfinished": json.dumps(said)})

    def _check(self) -> None:
        """Refuse what no training wrote."""
        counts, numbers = (self.updates, self.episodes, self.rounds), [moment.seconds for moment in self.curve]
        numbers += [] if self.best_return is None else [self.best_return]
        if not all(type(count) is int and count >= 0 for count in counts) or self.updates > self.asked.get(
            "updates", self.updates
        ):
            raise ValueError("counts")
        if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
            raise ValueError("numbers")

    @classmethod
    def found(cls, folder: Path, asked: dict[str, Any]) -> "Unfinished | None":
        """The one in a folder; None where there is none. One that was asked for something else is refused."""
        path = folder / FILE
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                said, names = json.loads(file.metadata()["unfinished"]), list(file.keys())
                tensors = {name: file.get_tensor(name) for name in names}
            said["curve"] = [Moment(**moment) for moment in said["curve"]]
            made = cls(tensors=tensors, **said)
            made._check()
            differing = next((name for name in asked if made.asked.get(name) != asked[name]), None)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{path} is no unfinished training: remove it to begin anew") from error
        if differing is not None:
            raise BadInput(
                f"{folder} holds an unfinished training with {differing.replace('_', ' ')} "
                f"{made.asked.get(differing)}, now {asked[differing]}: ask for the same to go on with it, or remove "
                f"{path} to begin anew"
            )
        return made
