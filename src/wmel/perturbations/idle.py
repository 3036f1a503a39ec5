"""The action that does nothing, where an environment has one."""

import numpy as np

from wmel.contract.environment import Environment
from wmel.errors import BadInput


def idle_actions(environment: Environment, count: int, name: str) -> np.ndarray:
    """A batch [B,A] of idle actions; an environment without one is refused in the perturbation's name."""
    if environment.spec.idle is None:
        raise BadInput(f"{name} needs an idle action, and {environment.spec.name} has none")
    return np.repeat(np.asarray(environment.spec.idle)[None], count, axis=0)
