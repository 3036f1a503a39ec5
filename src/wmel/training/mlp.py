"""Training an MLP world model: collect, fit, measure, write the card."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch

from wmel.analysis.coverage import coverage
from wmel.contract.environment import Environment
from wmel.contract.spaces import Box, Finite
from wmel.errors import BadInput, require, require_whole
from wmel.errors import described as described_error
from wmel.models.mlp import MLP, MLPModel
from wmel.training.collect import Collected
from wmel.training.fit import FitSettings, Fitted, fit
from wmel.training.open_loop import open_loop_errors
from wmel.training.transitions import Transitions, network_input
from wmel.versions import versions_in_use

Target = Literal["next", "delta"]
WIDEST = 16_384
SMALLEST_SCALE = 1e-6  # of a component that hardly ever changes


@dataclass(frozen=True)
class MLPSettings:
    """The documents' by default: absolute next observation, 64-64; `delta` also scales what goes in and out."""

    hidden: tuple[int, ...] = (64, 64)
    target: Target | str = "next"
    rounded: bool = False  # predictions to whole numbers, as on a grid

    def __post_init__(self):
        require(self.target in ("next", "delta"), "target must be 'next' or 'delta'", self.target)
        for width in self.hidden:
            require_whole(width, "the width of a hidden layer")
            require(width <= WIDEST, f"a hidden layer is at most {WIDEST} wide", width)
        require(len(self.hidden) > 0, "a network needs a hidden layer", self.hidden)


@dataclass(frozen=True, eq=False)
class TrainedMLP:
    """The model, and the card that says what it is and how good."""

    model: MLPModel
    card: dict[str, Any]


def train_mlp(
    environment: Environment,
    collected: Collected,
    network: MLPSettings,
    settings: FitSettings,
    progress: Callable[[float], None] = lambda epochs: None,
) -> TrainedMLP:
    """Fit an MLP to collected data and measure it on what was held out; `progress` counts epochs."""
    begin, data, space = time.perf_counter(), collected.training, environment.spec.actions
    torch.manual_seed(settings.seed)
    made = blank_mlp(environment, network)
    if network.target == "delta":
        _set_scales(made, data)
    inputs = (data.observations, network_input(space, data.actions), data.next_observations)
    fitted = fit(made, inputs, settings, progress)
    model = mlp_model(environment, made)
    seconds = time.perf_counter() - begin
    return TrainedMLP(model, _card(environment, collected, network, settings, fitted, made, seconds))


def blank_mlp(environment: Environment, settings: MLPSettings) -> MLP:
    """A network of the right size, its weights drawn from torch's generator."""
    space = environment.spec.actions
    action = space.count if isinstance(space, Finite) else space.width
    target: Target = "delta" if settings.target == "delta" else "next"
    return MLP(len(environment.spec.observation), action, settings.hidden, target, settings.rounded)


def mlp_model(environment: Environment, network: MLP) -> MLPModel:
    """The network as a model of an environment."""
    finite = isinstance(environment.spec.actions, Finite)
    return MLPModel(network.requires_grad_(False), "mlp", "index" if finite else "value")


def restored_mlp(
    environment: Environment, weights: dict[str, torch.Tensor], card: dict[str, Any], device: torch.device
) -> MLPModel:
    """The model of a checkpoint, if it was trained on this environment."""
    described, needed = card["model"], trained_for(environment)
    for name, wanted in needed.items():
        if described.get(name) != wanted:
            raise BadInput(
                f"the checkpoint was trained on {described.get('environment')}, and this is {environment.spec.name}: "
                f"its {name} is {described.get(name)}, here it is {wanted}"
            )
    try:
        settings = MLPSettings(tuple(described["hidden"]), described["target"], bool(described.get("rounded")))
        network = blank_mlp(environment, settings)
        network.load_state_dict(weights)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"the card of the checkpoint describes no MLP: {described_error(error)}") from error
    except RuntimeError as error:
        raise BadInput(f"the weights do not fit the card of their checkpoint: {_first_line(error)}") from error
    return mlp_model(environment, network.to(device))


def trained_for(environment: Environment) -> dict[str, Any]:
    """What of an environment a model depends on."""
    spec = environment.spec
    space = spec.actions
    bounds = [space.low.tolist(), space.high.tolist()] if isinstance(space, Box) else None
    values = space.values.tolist() if isinstance(space, Finite) and space.values is not None else None
    names = list(space.names) if isinstance(space, Finite) else None
    actions = {"names": names, "values": values, "bounds": bounds}
    return {"environment": spec.name, "observation": list(spec.observation), "actions": actions}


def _first_line(error: RuntimeError) -> str:
    return " ".join(str(error).split("\n")[1:2] or [str(error)]).strip()


def _set_scales(network: MLP, data: Transitions) -> None:
    for name, numbers in (("seen", data.observations), ("made", data.next_observations - data.observations)):
        centre, scale = numbers.mean(axis=0), numbers.std(axis=0).clip(SMALLEST_SCALE)
        getattr(network, f"{name}_centre").copy_(torch.as_tensor(centre))
        getattr(network, f"{name}_scale").copy_(torch.as_tensor(scale))


def _card(
    environment: Environment,
    collected: Collected,
    network: MLPSettings,
    settings: FitSettings,
    fitted: Fitted,
    made: MLP,
    seconds: float,
) -> dict[str, Any]:
    spec, data, recorded = environment.spec, collected.training, collected.held_out
    test = None if recorded is None else Transitions.of(recorded)
    folded, seen = made.folded(), coverage(spec.observation, data.observations)

    def error(rows: Transitions) -> float:
        """Mean squared error of the next observation, whatever the network was fitted to."""
        acted = torch.as_tensor(network_input(spec.actions, rows.actions))
        guess = folded.step(torch.as_tensor(rows.observations, dtype=torch.float32), acted)
        return float(np.square(guess.double().numpy() - rows.next_observations).mean())

    return {
        "model": {"kind": "mlp", **trained_for(environment), **asdict(network)},
        "environment": spec.name,
        "init": spec.init,
        "data": {
            "transitions": len(data),
            "episodes": collected.episodes,
            "sha256": data.sha256,
            "held_out_transitions": 0 if test is None else len(test),
        },
        "coverage": None if seen is None else asdict(seen),
        "errors": {
            "training_mse": error(data.rows(fitted.kept)),
            "held_out_transition_mse": error(data.rows(fitted.held_out)) if len(fitted.held_out) else None,
            "held_out_episode_mse": None if test is None else error(test),
            "open_loop_rmse": [] if recorded is None else open_loop_errors(folded, spec.actions, recorded),
        },
        "fit": {
            **asdict(settings),
            "epochs_taken": fitted.epochs,
            "interrupted": fitted.interrupted,
            "seconds": round(seconds, 3),
        },
        "versions": versions_in_use(),
    }
