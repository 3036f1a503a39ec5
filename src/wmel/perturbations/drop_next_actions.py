"""drop-next-K: the next K planned actions are lost, and no time passes."""

from dataclasses import dataclass, replace

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.perturbation import Moment
from wmel.parts import check_settings, refuse_unknown_settings, setting
from wmel.perturbations.window import Unchanged
from wmel.randomness import Streams


@refuse_unknown_settings
@dataclass(frozen=True)
class DropNextActions(Unchanged):
    """Take the next k actions out of the plan in force; where none is left, the policy decides again."""

    k: int = setting(1, "planned actions that are lost", at_least=0)

    def __post_init__(self):
        check_settings(self)

    @property
    def window(self) -> int | None:
        return 1

    @property
    def name(self) -> str:
        return f"drop-next-{self.k}"

    def strike(self, environment: Environment, moment: Moment, streams: Streams) -> Moment:
        kept = moment.queue[:, self.k :]
        if not kept.shape[1]:
            kept = moment.queue[:, :1]
        return replace(moment, queue=kept, lengths=np.maximum(moment.lengths - self.k, 0))
