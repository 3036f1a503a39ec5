"""What a part is: Protocols and frozen values. Old names of them work for one release, with a warning."""

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

NEW_NAMES: Mapping[str, Mapping[str, str]] = {  # by module: old name -> new name
    "wmel.contract.environment": {"RollsStates": "HasStateRollout", "RewardsObservations": "HasRewardFormula"},
    "wmel.contract.perturbation": {"Moment": "PendingStep"},
    "wmel.contract.planner": {"Knots": "KnotCount"},
    "wmel.contract.trainer": {
        "Trained": "TrainedModel",
        "CountsProgress": "HasProgressUnit",
        "LearnsFromStored": "OfflineTrainer",
    },
    "wmel.contract.world_model": {
        "RollsOut": "HasRollout",
        "RewardsItself": "HasReward",
        "ActsItself": "HasPolicy",
        "ValuesItself": "HasValue",
    },
}


def old_names(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module, which finds renamed objects by their old names."""

    def find(name: str) -> Any:
        new = NEW_NAMES[module].get(name)
        if new is None:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        warnings.warn(f"{module}.{name} is now {new}", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], new)

    return find
