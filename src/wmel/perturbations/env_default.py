"""env-default: the environment's own perturbation."""

from dataclasses import dataclass, replace

from wmel.contract.environment import Environment, Perturbable
from wmel.contract.perturbation import Moment
from wmel.errors import BadInput
from wmel.kinds import implements
from wmel.perturbations.window import Unchanged
from wmel.randomness import Streams


@dataclass(frozen=True)
class EnvPerturbation(Unchanged):
    """Whatever the environment says can happen to its state."""

    @property
    def name(self) -> str:
        return "env-default"

    @property
    def window(self) -> int | None:
        return 1

    def check(self, environment: Environment) -> None:
        if not implements(environment, Perturbable):
            raise BadInput(f"{environment.spec.name} has no perturbation of its own; choose another than env-default")

    def strike(self, environment: Environment, moment: Moment, streams: Streams) -> Moment:
        assert implements(environment, Perturbable)
        return replace(moment, states=environment.perturb(moment.states, streams))
