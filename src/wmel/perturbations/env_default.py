"""env-default: the environment's own perturbation."""

from dataclasses import dataclass, replace

from wmel.contract.environment import Environment, Perturbable
from wmel.contract.perturbation import PendingStep
from wmel.errors import BadInput
from wmel.parts import implements
from wmel.perturbations.window import NoEffect
from wmel.randomness import Streams


@dataclass(frozen=True)
class EnvPerturbation(NoEffect):
    """Applies the perturbation that the environment defines."""

    @property
    def name(self) -> str:
        return "env-default"

    def check(self, environment: Environment) -> None:
        if not implements(environment, Perturbable):
            raise BadInput(f"{environment.spec.name} has no perturbation of its own: env-default cannot be used")

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        assert implements(environment, Perturbable)
        return replace(pending, states=environment.perturb(pending.states, streams))
