"""Planning with an MLP on a CUDA device: the plans of the CPU, and how much of the bare forward's rate is left.

Not part of `make bench`: it needs a GPU. Results are kept in docs/gpu.md.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from wmel import catalog
from wmel.contract.policy import Decision, Percept
from wmel.models.mlp import MLP
from wmel.randomness import Streams
from wmel.training.mlp import MLPTrainer

CANDIDATES, HORIZON, REPEATS = 50, 15, 30


def seconds(action: Callable[[], object]) -> float:
    """The median of some calls, the device waited for."""
    taken = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        action()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken[5:]))


def planned(world, network: MLP, device: str, episodes: int) -> Callable[[], Decision]:
    """One plan call for so many episodes, on a device."""
    states = world.reset(np.arange(episodes))
    last, left = np.zeros((episodes, 1), int), np.full(episodes, 60)
    percept = Percept(world.observe(states), world.goals(states), states, last, left)
    streams = Streams(np.arange(episodes), np.zeros(episodes, np.int64))
    settings = {
        "candidates": CANDIDATES,
        "plan_horizon": HORIZON,
        "model": MLPTrainer().model(world, network.to(device)),
    }
    policy = catalog.policy("random-shooting", world, **settings)
    return lambda: policy.act(percept, policy.observe(percept, None), streams)


def bare(network: MLP, rows: int) -> Callable[[], None]:
    """As many forward passes as a plan is long, on all rows at once."""
    seen, acted = torch.randn(rows, 2, device="cuda"), torch.randn(rows, 4, device="cuda")

    def forward() -> None:
        with torch.inference_mode():
            for _ in range(HORIZON):
                network(seen, acted)

    return forward


def main() -> int:
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing measured")
        return 0
    world, agree = catalog.environment("maze_toy"), True
    torch.manual_seed(0)
    network = MLPTrainer(hidden=(64, 64), target="delta").blank(world)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, plans {CANDIDATES}x{HORIZON}, MLP 64-64")
    print("| episodes | cpu ms | cuda ms | bare forward on cuda ms | same plans |\n|---|---|---|---|---|")
    for episodes in (1, 50, 512):
        plans, times = [], []
        for device in ("cpu", "cuda"):
            plan = planned(world, network, device, episodes)
            plans.append(plan().actions)
            times.append(1e3 * seconds(plan))
        times.append(1e3 * seconds(bare(network, episodes * CANDIDATES)))
        same = np.array_equal(*plans)
        agree &= same
        print(f"| {episodes} | {' | '.join(f'{time:.2f}' for time in times)} | {same} |")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
