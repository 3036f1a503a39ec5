"""Planning with a learned MLP against one state at a time and bare forward passes; training against bare updates."""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from physics_oracle import bare_rollout
from side_by_side import compare, repeated, verdict
from wmel import catalog
from wmel.arrays import keep_freed_memory
from wmel.closed_loop.run import BenchmarkRunner
from wmel.contract.policy import Percept
from wmel.machine import limit_threads
from wmel.randomness import Streams
from wmel.training.data import collect
from wmel.training.mlp import MLPTrainer

CANDIDATES, HORIZON = 50, 15
TRANSITIONS, EPOCHS = 20_000, 20
EPISODES = 10
WORLD = catalog.environment("dmc_acrobot", init="fixed")
TRAINER = MLPTrainer().resolve(WORLD)


def one_state_at_a_time(network: torch.nn.Module, start: np.ndarray, sequences: np.ndarray) -> float:
    """Learned dynamics of the wmel 0.18 repository: a tensor, a forward pass and a tuple for every imagined state."""
    best = np.inf
    for sequence in sequences:
        state = tuple(start)
        for action in sequence:
            one_hot = [0.0] * 5
            one_hot[int(action)] = 1.0
            with torch.no_grad():
                state = tuple(network(torch.tensor([*state, *one_hot], dtype=torch.float32)).tolist())
            best = min(best, -(state[2] + state[3]))
    return best


def planned(policy, episodes: int) -> Callable[[], object]:
    """One plan call for so many episodes."""
    states = WORLD.reset(np.arange(episodes))
    percept = Percept(
        WORLD.observe(states), WORLD.goals(states), states, np.zeros((episodes, 1), int), np.full(episodes, 500)
    )
    streams = Streams(np.arange(episodes), np.zeros(episodes, np.int64))
    return lambda: policy.act(percept, policy.observe(percept, None), streams)


def bare(network: torch.nn.Module, rows: int) -> Callable[[], object]:
    """As many forward passes of the plain network as the plan is long, on all rows at once."""
    inputs = torch.randn(rows, 11)

    def forward() -> None:
        with torch.inference_mode():
            for _ in range(HORIZON):
                network(inputs)

    return forward


def plain(widths: tuple[int, ...] = (11, 64, 64, 6)) -> torch.nn.Sequential:
    linear = torch.nn.Linear
    return torch.nn.Sequential(
        linear(widths[0], widths[1]), torch.nn.ReLU(), linear(widths[1], widths[2]), torch.nn.ReLU(),
        linear(widths[2], widths[3]),
    )  # fmt: skip


def planning() -> bool:
    torch.manual_seed(0)
    network, model = plain(), TRAINER.model(WORLD, TRAINER.blank(WORLD))
    policy = catalog.policy("random-shooting", WORLD, candidates=CANDIDATES, plan_horizon=HORIZON, model=model)
    start = WORLD.observe(WORLD.reset(np.arange(1)))[0]
    sequences = np.random.default_rng(0).integers(0, 5, (CANDIDATES, HORIZON))
    with limit_threads(1):
        loop = compare(lambda: one_state_at_a_time(network, start, sequences), repeated(planned(policy, 1), 40))
        alone = compare(repeated(planned(policy, 1), 40), repeated(bare(network, CANDIDATES), 40), rounds=9)
        many = compare(repeated(planned(policy, 50), 4), repeated(bare(network, 50 * CANDIDATES), 4), rounds=9)
    print(f"one state at a time {1e3 * loop.first:.1f} ms, planned {1e3 * loop.second / 40:.2f} ms of CPU")
    holds = verdict("one state at a time over a plan 50x15, batch 1", 40 * loop.ratio, at_least=40)
    holds &= verdict("a plan 50x15 over its bare batched forward, batch 1", alone.ratio, at_most=1.5)
    return holds & verdict("rows/s at lockstep 50 over the bare forward at 2,500 rows", 1 / many.ratio, at_least=0.8)


def flagship() -> bool:
    """CPU of the CPG paper's comparison, both arms, over the bare rollouts and forward passes in it."""
    torch.manual_seed(0)
    model, network = TRAINER.model(WORLD, TRAINER.blank(WORLD)), plain()
    arms = [{}, {"model": model}]
    policies = [catalog.policy("random-shooting", WORLD, candidates=50, plan_horizon=15, **arm) for arm in arms]
    runners = [BenchmarkRunner(WORLD, policy, EPISODES, 100, seed=0, timed_decisions=0) for policy in policies]
    oracle, learned = (runner.run().table for runner in runners)  # also compiles what is compiled at the first call
    rows = EPISODES * CANDIDATES
    steps = int(oracle["steps"].sum() + learned["steps"].sum())
    bare_work = (
        repeated(bare_rollout(WORLD, 1, rows), int(oracle["plan_calls"].sum()) // EPISODES),
        repeated(bare(network, rows), int(learned["plan_calls"].sum()) // EPISODES),
        repeated(bare_rollout(WORLD, 1, EPISODES, 1), steps // EPISODES),
    )
    with limit_threads(1):
        both = compare(lambda: [runner.run() for runner in runners], lambda: [work() for work in bare_work], rounds=5)
    start, sequences = WORLD.observe(WORLD.reset(np.arange(1)))[0], np.random.default_rng(0).integers(0, 5, (50, 15))
    begin = time.process_time()
    one_state_at_a_time(network, start, sequences)
    plans = int(oracle["plan_calls"].sum() + learned["plan_calls"].sum())
    loop = (time.process_time() - begin) * plans  # its oracle costs about as much as its network
    print(f"the comparison takes {1e6 * both.first / steps:.0f} us of CPU per executed step of both arms")
    print(f"     one state at a time costs {loop / both.first:.1f}x ours (no bound: decision 0013)")
    return verdict("the comparison over its bare rollouts and forward passes", both.ratio, at_most=1.3)


def bare_updates(updates: int, batch: int) -> Callable[[], object]:
    """As many updates of the plain network with Adam, on batches that are at hand."""
    inputs, targets = torch.randn(batch, 11), torch.randn(batch, 6)

    def fit() -> None:
        network = plain()
        optimiser = torch.optim.Adam(network.parameters(), fused=True)
        for _ in range(updates):
            optimiser.zero_grad(set_to_none=True)
            torch.nn.functional.mse_loss(network(inputs), targets).backward()
            optimiser.step()

    return fit


def training() -> bool:
    data = collect(WORLD, catalog.policy("random", WORLD), TRANSITIONS)
    trainer = replace(TRAINER, epochs=EPOCHS)
    held_out, batch = TRAINER.held_out, TRAINER.batch
    assert held_out is not None and batch is not None, "the trainer is resolved"
    updates = EPOCHS * math.ceil((1 - held_out) * TRANSITIONS / batch)
    with limit_threads(1):
        both = compare(lambda: trainer.learn(WORLD, data), bare_updates(updates, batch), rounds=3)
    print(f"fitting {TRANSITIONS:,} transitions, {EPOCHS} epochs: {both.first:.1f} s of CPU, bare {both.second:.1f} s")
    return verdict("fitting over as many bare updates", both.ratio, at_most=2)


def main() -> int:
    keep_freed_memory()
    holds = planning()
    holds &= flagship()
    holds &= training()
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
