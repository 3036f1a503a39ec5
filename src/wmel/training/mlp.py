"""Training an MLP world model: collect, fit, measure, write the card."""

import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import torch

from wmel.analysis.coverage import coverage
from wmel.contract.environment import Environment
from wmel.contract.spaces import Finite
from wmel.errors import BadInput, require
from wmel.models.mlp import MLP, MLPModel
from wmel.training.collect import Collected
from wmel.training.fit import FitSettings, Fitted, fit
from wmel.training.open_loop import open_loop_errors
from wmel.training.transitions import Transitions, network_input

Target = Literal["next", "delta"]
SMALLEST_SCALE = 1e-6  # of a component that hardly ever changes


@dataclass(frozen=True)
class MLPSettings:
    """The documents' by default: absolute next observation, 64-64; `delta` also scales what goes in and out."""

    hidden: tuple[int, ...] = (64, 64)
    target: Target | str = "next"
    rounded: bool = False  # predictions to whole numbers, as on a grid

    def __post_init__(self):
        require(self.target in ("next", "delta"), "target must be 'next' or 'delta'", self.target)
        require(len(self.hidden) > 0 and min(self.hidden) > 0, "hidden layers must be positive numbers", self.hidden)


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


def restored_mlp(environment: Environment, weights: dict[str, torch.Tensor], card: dict[str, Any]) -> MLPModel:
    """The model of a checkpoint, if it is one of this environment's physics and size."""
    described, names = card["model"], list(environment.spec.observation)
    if described.get("observation") != names:
        raise BadInput(
            f"the checkpoint was trained on {card.get('environment')}, which observes {described.get('observation')}; "
            f"{environment.spec.name} observes {names}"
        )
    settings = MLPSettings(tuple(described["hidden"]), described["target"], described.get("rounded", False))
    network = blank_mlp(environment, settings)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise BadInput(f"the checkpoint does not fit {environment.spec.name}: {_first_line(error)}") from error
    return mlp_model(environment, network)


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
    spec, data, test = environment.spec, collected.training, Transitions.of(collected.held_out)
    folded, seen = made.folded(), coverage(spec.observation, data.observations)

    def error(rows: Transitions) -> float:
        """Mean squared error of the next observation, whatever the network was fitted to."""
        acted = torch.as_tensor(network_input(spec.actions, rows.actions))
        guess = folded.step(torch.as_tensor(rows.observations, dtype=torch.float32), acted)
        return float(np.square(guess.double().numpy() - rows.next_observations).mean())

    return {
        "model": {"kind": "mlp", "observation": list(spec.observation), **asdict(network)},
        "environment": spec.name,
        "init": spec.init,
        "data": {
            "transitions": len(data),
            "episodes": collected.episodes,
            "sha256": data.sha256,
            "held_out_transitions": len(test),
        },
        "coverage": None if seen is None else asdict(seen),
        "errors": {
            "training_mse": error(data.rows(fitted.kept)),
            "held_out_transition_mse": error(data.rows(fitted.held_out)) if len(fitted.held_out) else None,
            "held_out_episode_mse": error(test),
            "open_loop_rmse": open_loop_errors(folded, spec.actions, collected.held_out),
        },
        "fit": {
            **asdict(settings),
            "epochs_taken": fitted.epochs,
            "interrupted": fitted.interrupted,
            "seconds": round(seconds, 3),
        },
        "versions": {
            "wmel": version("wmel"), "python": platform.python_version(), "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }  # fmt: skip
