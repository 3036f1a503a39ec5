"""Calls into wmel that have no stable public name yet; a change of internal modules changes this file alone."""

import json
import sys
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import wmel


def restore_model(folder: Path, environment: Any, rollout: str | None = None) -> Any:
    """Loads the model of a checkpoint folder; `rollout` selects how a tdmpc2 imagines."""
    from wmel.training.checkpoints import restore

    return restore(folder, environment, "cpu", rollout)


@cache
def train_model(environment_name: str, kind: str) -> Any:
    """Trains a tiny mlp or latent-mlp, once per process; every setting is explicit, because defaults may change."""
    from wmel.catalog import TRAINERS

    grid = environment_name == "maze_toy"
    collection = {"collect": "random", "transitions": 240, "epsilon": 0.0, "episode_steps": 40}
    network = {"target": "delta", "rounded": grid} if kind == "mlp" else {"latent": 8, "window": 4}
    fit = {"epochs": 200 if grid else 8, "batch": 64, "learning_rate": 3e-3, "decay": True, "held_out": 0.1}
    environment = wmel.environment(environment_name)
    collection = {"collect": "all"} if grid else collection
    settings = {**collection, "hidden": [16, 16], **network, **fit, "seed": 3, "threads": 1}
    trainer = TRAINERS.build(kind, **settings).resolve(environment)
    return trainer.learn(environment, trainer.gather(environment)).model


def train_tdmpc2(environment_name: str, max_steps: int) -> Any:
    """Trains a tdmpc2 for a few updates."""
    import torch

    from wmel.training.tdmpc2.train import train_tdmpc2
    from wmel.training.tdmpc2.trainer import TDMPC2Trainer

    settings = TDMPC2Trainer(
        size=1, activation="mish", latent_norm="simnorm", updates=8, envs=4, updates_per_step=2, seed_steps=16,
        batch=8, horizon=3, decoder_steps=10, seed=3, threads=1,
    )  # fmt: skip
    environment = wmel.environment(environment_name, max_steps=max_steps)
    return train_tdmpc2(environment, settings, torch.device("cpu")).model


def weights_of(model: Any) -> dict[str, Any]:
    """The tensors of a model by name."""
    return model.network.state_dict()


def hash_weights(weights: Mapping[str, Any]) -> str:
    """SHA-256 of the names, shapes and values of tensors."""
    digest = sha256()
    for name, values in sorted(weights.items()):
        array = np.ascontiguousarray(values.detach().cpu().numpy())
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def mix_policies(environment: Any, text: str, epsilon: float, model: Any = None) -> Any:
    """A mixture of policies such as 2*random+greedy, with a share `epsilon` of random actions."""
    from wmel.policies.direct import exploration

    return exploration(environment, text, epsilon, model)


def measure_esnr(environment: Any, model: Any, method: str, objective: str) -> np.ndarray:
    """ESNR at each of six states [6]; without a model that of the true dynamics."""
    from wmel.catalog import objective as objective_named

    states = wmel.fresh_observations(
        environment, wmel.policy("random", environment), 6, episodes=3, episode_steps=20, seed=1
    )
    found = wmel.esnr(
        wmel.Oracle(environment) if model is None else model,
        states,
        method,
        objective=objective_named(objective, environment),
        space=environment.spec.actions,
        horizon=4, discount=0.97, samples=8, sigma=0.5, actions="clamped", credit="reward_to_go",
        baseline="leave_one_out", population=8, elites=3, temperature=0.5, noise_seed=2,
    )  # fmt: skip
    return found.per_observation


def read_record_fields(path: Path) -> dict[str, Any]:
    """A stored record as JSON values, after it was read and checked."""
    return json.loads(wmel.read_record(path).model_dump_json(by_alias=True))


def recompute_scorecard(path: Path) -> dict[str, dict[str, Any]]:
    """The estimates of a stored run, computed from its rows: value, low, high and n by metric."""
    from wmel.reports.records import run_scorecard

    card = run_scorecard(wmel.read_record(path))
    fields = ("value", "low", "high", "n")
    return {name: {field: getattr(found, field) for field in fields} for name, found in card.estimates.items()}


def run_command(*arguments: str) -> int:
    """Runs `wmel ...` in this process and returns its exit code."""
    from wmel.cli.main import main

    before, sys.argv = sys.argv, ["wmel", *arguments]
    try:
        main()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0 if exit_.code is None else 1
    finally:
        sys.argv = before
    return 0
