"""CEM here, in TorchRL and in mbrl-lib: the same model, budget and machine; their own virtual environment must exist.

python3 -m venv .venv-peers && .venv-peers/bin/pip install torch==2.13.0 torchrl mbrl
.venv-peers/bin/pip install 'hydra-core>=1.3'   # the hydra that mbrl asks for does not import on Python 3.11
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cem_problem import (
    ACTION,
    CANDIDATES,
    CELLS,
    ELITES,
    HORIZON,
    ITERATIONS,
    OBSERVATION,
    PLANS,
    network,
    plan_costs,
    starts,
)  # fmt: skip
from side_by_side import verdict
from wmel.arrays import keep_freed_memory
from wmel.contract.environment import Box
from wmel.contract.objective import DiscountedSum
from wmel.contract.planner import PlanningProblem
from wmel.machine import limit_threads
from wmel.models.imagine import ImaginedCost
from wmel.models.mlp import MLP, MLPModel
from wmel.planners.cem import CEM
from wmel.randomness import Streams

PEERS = Path(os.environ.get("WMEL_PEERS", ".venv-peers"))
SPACE = Box(-np.ones(ACTION), np.ones(ACTION))


class Squares:
    """The squared observation of every step, summed over the plan."""

    name = "squares"
    reduction = DiscountedSum()

    def costs(self, observations: torch.Tensor, actions: torch.Tensor, goals: torch.Tensor) -> torch.Tensor:
        return observations[:, 1:].square().sum(-1)


def model(hidden: int) -> MLPModel:
    """The common network behind the model contract."""
    made = MLP(OBSERVATION, ACTION, (hidden, hidden), "delta")
    layers = [layer for layer in network(hidden) if isinstance(layer, torch.nn.Linear)]
    for ours, theirs in zip(made.layers, layers, strict=True):
        ours.load_state_dict(theirs.state_dict())
    return MLPModel(made.requires_grad_(False))


def ours(hidden: int, batch: int) -> dict[str, float]:
    """Milliseconds of CPU per plan call, and the cost of the plans."""
    planner = CEM(HORIZON, iterations=ITERATIONS, candidates=CANDIDATES, elites=ELITES, smoothing=0.0)
    times, start_states = [], starts(batch)
    for call in range(PLANS + 1):
        streams = Streams(np.arange(batch), np.full(batch, call))
        cost = ImaginedCost(model_of[hidden], Squares(), SPACE, start_states, np.zeros((batch, 0)), OBSERVATION)
        begin = time.process_time()
        plan = planner.plan(PlanningProblem(cost, SPACE, streams, HORIZON, like=start_states), None)
        times.append(time.process_time() - begin)
    worth = plan_costs(network(hidden), start_states, torch.as_tensor(plan.actions)).mean()
    return {"milliseconds": 1e3 * sorted(times[1:])[PLANS // 2], "cost": float(worth)}


model_of = {hidden: model(hidden) for hidden, _ in CELLS}


def theirs() -> dict[tuple[str, int, int], dict[str, Any]]:
    """What the peers' own Python measured."""
    here = Path(__file__).parent
    ran = subprocess.run(
        [(PEERS / "bin" / "python").absolute(), "cem_peers.py"], cwd=here, capture_output=True, text=True
    )
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return {(row["library"], row["hidden"], row["batch"]): row for row in rows}


def main() -> int:
    if not (PEERS / "bin" / "python").exists():
        print(f"skipped: no virtual environment of the peers at {PEERS}; how to make one is said in {__file__}")
        return 0
    keep_freed_memory()
    with limit_threads(1):
        mine, peers, holds = {cell: ours(*cell) for cell in CELLS}, theirs(), True
        for cell in CELLS:
            again = ours(*cell)
            mine[cell]["milliseconds"] = min(mine[cell]["milliseconds"], again["milliseconds"])
    for library in ("mbrl-lib", "torchrl"):
        for hidden, batch in CELLS:
            own = mine[hidden, batch]
            row: dict[str, Any] = peers.get((library, hidden, batch), {"error": "no answer"})
            if "error" in row:
                print(f"skipped: {library}, hidden {hidden}, B = {batch}: {row['error']}")
                continue
            cost = "n/a (only the first action is returned)" if row["cost"] is None else f"{row['cost']:.2f}"
            took = f"{row['milliseconds']:.1f} ms v {own['milliseconds']:.1f} ms"
            print(f"{library}, hidden {hidden}, B = {batch}: {took}, cost of the plan {cost} v {own['cost']:.2f}")
            ratio = row["milliseconds"] / own["milliseconds"]
            holds &= verdict(f"{library} over wmel, hidden {hidden}, B = {batch}", ratio, at_least=0.95)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
