"""TD-MPC2 updates per second on made-up data: eager, and as a captured CUDA graph that must do the same.

`PYTHONPATH=src python benchmarks/tdmpc2_updates.py` needs numpy and torch only; without CUDA it times the CPU, eager.
"""

import copy
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from wmel.models.tdmpc2.network import SIZES, TDMPC2
from wmel.training.tdmpc2.learner import WARM_UPS, Learner, capture_graph
from wmel.training.tdmpc2.replay import Replay
from wmel.training.tdmpc2.trainer import TDMPC2Trainer, discount_of

EPISODES, LENGTH, OBSERVATION, ACTION = 64, 1000, 5, 1
COMPARED, TIMED = {"cuda": 20, "cpu": 5}, {"cuda": 300, "cpu": 5}  # updates
# Kernels may round a gradient differently in its last bit, and Adam divides each gradient by its own size: where it is
# almost zero a weight then steps the other way. Other noise gives about 1, which is shown beside it.
MOST = 0.02


def made_up(device: torch.device, horizon: int) -> Replay:
    """Finished episodes of random numbers."""
    rng = np.random.default_rng(0)
    observations = rng.normal(size=(EPISODES, LENGTH + 1, OBSERVATION))
    actions = rng.uniform(-1, 1, (EPISODES, LENGTH, ACTION))
    return Replay.of(observations, actions, rng.uniform(0, 1, (EPISODES, LENGTH)), horizon, device)


def blank(size: int, device: torch.device) -> TDMPC2:
    torch.manual_seed(0)
    return TDMPC2(OBSERVATION, ACTION, SIZES[size]).to(device)


def learning(network: TDMPC2, replay: Replay, size: int) -> tuple[Learner, Callable[[], None]]:
    """A learner of a copy of the network, and one update of it; sampling is part of the update."""
    on_gpu = replay.windows.device.type == "cuda"
    learner = Learner(copy.deepcopy(network), TDMPC2Trainer(size=size), discount_of(LENGTH), capturable=on_gpu)
    return learner, lambda: learner.update(*replay.sample(learner.settings.batch))


def learned(network: TDMPC2, replay: Replay, size: int, *, graph: bool = False, seed: int = 0) -> list[Tensor]:
    """Weights after some updates, all draws (windows, noise, dropout) from seeds set before each update.

    The first few have one seed in common: capturing does them in one go, and no seed can be set in between.
    """
    learner, update = learning(network, replay, size)
    torch.manual_seed(seed)
    if graph:
        update = capture_graph(update)
    else:
        for _ in range(WARM_UPS):
            update()
    for place in range(WARM_UPS, COMPARED[replay.windows.device.type]):
        torch.manual_seed(seed + place)
        update()
    return [weights.detach().clone() for weights in learner.network.parameters()]


def furthest(ours: list[Tensor], theirs: list[Tensor], start: TDMPC2) -> float:
    """The largest difference between two trainings of one tensor of weights, as a share of the way it went."""
    begins = [weights.detach() for weights in start.parameters()]
    tensors = zip(ours, theirs, begins, strict=True)
    shares = [(one - other).norm() / (other - begin).norm() for one, other, begin in tensors]
    return float(torch.stack(shares).max())  # NaN where weights did not move or are no numbers, which holds no bound


def same_as_eager(size: int, replay: Replay) -> bool:
    """Whether captured and eager updates go the same way; without CUDA only eager ones are compared."""
    network, on_gpu = blank(size, replay.windows.device), replay.windows.device.type == "cuda"
    eager = learned(network, replay, size)
    again = furthest(learned(network, replay, size), eager, network)
    found = furthest(learned(network, replay, size, graph=True), eager, network) if on_gpu else again
    other = furthest(learned(network, replay, size, seed=1000), eager, network)
    holds = found <= MOST < other
    name = "captured" if on_gpu else "eager again"
    print(
        f"{'ok  ' if holds else 'MISS'} size {size}: {name} differs from eager by {found:.1e} of the way weights went"
    )
    print(f"     (bound <= {MOST:g}); eager again {again:.1e}, other draws {other:.2f}")
    return holds


def per_second(update: Callable[[], None], times: int, device: torch.device) -> float:
    for _ in range(WARM_UPS):
        update()
    finish(device)
    begin = time.perf_counter()
    for _ in range(times):
        update()
    finish(device)
    return times / (time.perf_counter() - begin)


def finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> int:
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    replay = made_up(device, TDMPC2Trainer().horizon)
    name = torch.cuda.get_device_name() if on_gpu else f"CPU ONLY ({torch.get_num_threads()} threads), no CUDA here"
    print(f"{name}, torch {torch.__version__}, batch {TDMPC2Trainer().batch}, horizon {TDMPC2Trainer().horizon}")
    print("| size | values | eager updates/s | captured updates/s |\n|---|---|---|---|")
    sizes, times, holds = (1, 5) if on_gpu else (1,), TIMED[device.type], True
    for size in sizes:
        network = blank(size, device)
        values = sum(weights.numel() for weights in network.parameters())
        eager = per_second(learning(network, replay, size)[1], times, device)
        graph = f"{per_second(capture_graph(learning(network, replay, size)[1]), times, device):.0f}" if on_gpu else "-"
        print(f"| {size} | {values:,} | {eager:.1f} | {graph} |")
    for size in sizes:
        holds &= same_as_eager(size, replay)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
