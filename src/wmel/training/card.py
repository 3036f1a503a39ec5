"""The card of a model fitted to a dataset, and the checks of an environment against a card."""

from dataclasses import asdict
from typing import Any

from wmel.analysis.scorecard import coverage
from wmel.contract.environment import Box, Environment, Finite
from wmel.errors import BadInput
from wmel.machine import versions_in_use
from wmel.training.data import Dataset
from wmel.training.fit import FitResult

CURVE_POINTS = 100  # of the training curve on a card


def build_card(
    environment: Environment,
    dataset: Dataset,
    trainer: Any,
    result: FitResult,
    errors: dict[str, Any],
) -> dict[str, Any]:
    """The card of a model that a trainer fitted to a dataset."""
    spec, data, recorded = environment.spec, dataset.training, dataset.held_out
    covered = coverage(spec.observation, data.observations)
    return {
        "model": {"kind": trainer.kind, **describe_environment(environment), **trainer.network_values},
        "environment": spec.name,
        "init": spec.init,
        "data": {
            "transitions": len(data),
            "episodes": dataset.episodes,
            "sha256": data.sha256,
            "held_out_transitions": 0 if recorded is None else int(recorded["steps"].sum()),
        },
        "coverage": None if covered is None else asdict(covered),
        "errors": errors,
        "fit": {
            **trainer.fit_values,
            "epochs_taken": result.epochs,
            "interrupted": result.interrupted,
            "seconds": round(result.seconds, 3),
        },
        "curve": _thin_curve(result.losses),
        "versions": versions_in_use(),
    }


def _thin_curve(losses: list[float]) -> list[dict[str, Any]]:
    """The loss after about CURVE_POINTS epochs, the last epoch included."""
    stride = max(1, len(losses) // CURVE_POINTS)
    points = range(len(losses) - 1, -1, -stride)[::-1]
    return [{"epochs": place + 1, "losses": {"training": losses[place]}} for place in points]


def describe_environment(environment: Environment) -> dict[str, Any]:
    """The properties of an environment that a model depends on, for a card."""
    spec = environment.spec
    space = spec.actions
    bounds = [space.low.tolist(), space.high.tolist()] if isinstance(space, Box) else None
    values = space.values.tolist() if isinstance(space, Finite) and space.values is not None else None
    names = list(space.names) if isinstance(space, Finite) else None
    actions = {"names": names, "values": values, "bounds": bounds}
    repeat = {} if spec.action_repeat == 1 else {"action_repeat": spec.action_repeat}
    return {"environment": spec.name, "observation": list(spec.observation), "actions": actions, **repeat}


def check_same_environment(environment: Environment, described: dict[str, Any]) -> None:
    """Raises BadInput for an environment that differs from the one on a card."""
    check_action_repeat(environment, described)
    for name, value in describe_environment(environment).items():
        if described.get(name) != value:
            raise BadInput(
                f"the checkpoint was trained on {described.get('environment')}, not on {environment.spec.name}: "
                f"its {name} is {described.get(name)}, here it is {value}"
            )


def check_action_repeat(environment: Environment, described: dict[str, Any]) -> None:
    """Raises BadInput for an environment with another action repeat than on a card, where the default is 1."""
    then, now = described.get("action_repeat") or 1, environment.spec.action_repeat
    if then != now:
        way_out = "leave out --action-repeat" if then == 1 else f"add --action-repeat {then}"
        raise BadInput(f"the checkpoint was trained with action repeat {then}; here it is {now}: {way_out}")
