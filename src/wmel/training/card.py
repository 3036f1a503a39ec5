"""The card of a checkpoint: what a model is, what it was trained on and how good it is."""

from dataclasses import asdict
from typing import Any

from wmel.analysis.coverage import coverage
from wmel.contract.environment import Environment
from wmel.contract.spaces import Box, Finite
from wmel.errors import BadInput
from wmel.training.collect import Collected
from wmel.training.fit import Fitted
from wmel.versions import versions_in_use


def card_of(
    environment: Environment,
    collected: Collected,
    trainer: Any,
    fitted: Fitted,
    errors: dict[str, Any],
) -> dict[str, Any]:
    """The card of a model that a trainer fitted to collected data."""
    spec, data, recorded = environment.spec, collected.training, collected.held_out
    seen = coverage(spec.observation, data.observations)
    return {
        "model": {"kind": trainer.kind, **trained_for(environment), **trainer.described},
        "environment": spec.name,
        "init": spec.init,
        "data": {
            "transitions": len(data),
            "episodes": collected.episodes,
            "sha256": data.sha256,
            "held_out_transitions": 0 if recorded is None else int(recorded["steps"].sum()),
        },
        "coverage": None if seen is None else asdict(seen),
        "errors": errors,
        "fit": {
            **trainer.fitting,
            "epochs_taken": fitted.epochs,
            "interrupted": fitted.interrupted,
            "seconds": round(fitted.seconds, 3),
        },
        "versions": versions_in_use(),
    }


def trained_for(environment: Environment) -> dict[str, Any]:
    """What of an environment a model depends on."""
    spec = environment.spec
    space = spec.actions
    bounds = [space.low.tolist(), space.high.tolist()] if isinstance(space, Box) else None
    values = space.values.tolist() if isinstance(space, Finite) and space.values is not None else None
    names = list(space.names) if isinstance(space, Finite) else None
    actions = {"names": names, "values": values, "bounds": bounds}
    repeat = {} if spec.action_repeat == 1 else {"action_repeat": spec.action_repeat}
    return {"environment": spec.name, "observation": list(spec.observation), "actions": actions, **repeat}


def check_trained_for(environment: Environment, described: dict[str, Any]) -> None:
    """Refuse an environment that differs from the one a card describes."""
    check_action_repeat(environment, described)
    for name, wanted in trained_for(environment).items():
        if described.get(name) != wanted:
            raise BadInput(
                f"the checkpoint was trained on {described.get('environment')}, and this is {environment.spec.name}: "
                f"its {name} is {described.get(name)}, here it is {wanted}"
            )


def check_action_repeat(environment: Environment, described: dict[str, Any]) -> None:
    """Refuse an environment whose decisions are of other length than those a card describes; none said means 1."""
    then, now = described.get("action_repeat") or 1, environment.spec.action_repeat
    if then != now:
        way_out = "leave out --action-repeat" if then == 1 else f"add --action-repeat {then}"
        raise BadInput(f"the checkpoint was trained with action repeat {then}; here it is {now}: {way_out}")
