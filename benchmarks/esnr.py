"""ESNR against the bare batched rollout in it, the ESNR paper's nested loops, and running the planner."""

import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from side_by_side import compare, repeated, verdict
from wmel import catalog
from wmel.arrays import keep_freed_memory
from wmel.closed_loop.run import BenchmarkRunner
from wmel.diagnostics.esnr.measure import esnr
from wmel.diagnostics.states import fresh_observations
from wmel.machine import limit_threads
from wmel.stats.estimate import MIN_VALUES, mean
from wmel.training.data import collect
from wmel.training.mlp import MLPTrainer

OBSERVATIONS, SAMPLES, HORIZON, SIGMA = 64, 32, 12, 0.5
WORLD = catalog.environment("dmc:cartpole-swingup")
SCORE = catalog.objective("smooth-upright", WORLD)
MOST_EPISODES = 256


def ratio_of(gradients: list[torch.Tensor]) -> float:
    stacked = torch.stack(gradients)
    return float((stacked.mean(0) ** 2 / (stacked.var(0) + 1e-8)).mean())


def rolled(network: torch.nn.Module, start: torch.Tensor, actions: torch.Tensor) -> list[torch.Tensor]:
    """Rewards of one action sequence, step by step."""
    state, rewards = start, []
    for action in actions:
        state = state + network(torch.cat([state, action]))
        rewards.append((1 + state[1]) / 2)
    return rewards


def first_order_loops(network: torch.nn.Module, observations: torch.Tensor) -> float:
    """Algorithm 2: every observation, every sample, every step by itself."""
    ratios = []
    for start in observations:
        gradients = []
        for _ in range(SAMPLES):
            actions = (SIGMA * torch.randn(HORIZON, 1)).requires_grad_()
            total = torch.stack(rolled(network, start, actions)).sum()
            gradients.append(torch.autograd.grad(total, actions)[0].flatten())
        ratios.append(ratio_of(gradients))
    return float(np.mean(ratios))


def zeroth_order_loops(network: torch.nn.Module, observations: torch.Tensor) -> float:
    """Algorithm 1, its score by autograd as written there."""
    ratios, mean = [], torch.zeros(HORIZON, 1)
    for start in observations:
        gradients = []
        for _ in range(SAMPLES):
            samples = mean + SIGMA * torch.randn(HORIZON, 1)
            with torch.no_grad():
                rewards = rolled(network, start, samples)
            actions = samples.clone().requires_grad_()
            likelihood = torch.distributions.Normal(mean, SIGMA).log_prob(actions).sum()
            scores = torch.autograd.grad(likelihood, actions)[0]
            gradients.append((torch.stack(rewards)[:, None] * scores).flatten())
        ratios.append(ratio_of(gradients))
    return float(np.mean(ratios))


def bare_rollout(network: torch.nn.Module, observations: torch.Tensor, first_order: bool) -> Callable[[], object]:
    """All samples of all observations through the plain network at once, and backwards for first-order gradients."""
    start = observations.repeat_interleave(SAMPLES, dim=0)
    actions = SIGMA * torch.randn(HORIZON, len(start), 1)

    def roll() -> None:
        sampled = actions.clone().requires_grad_(first_order)
        with torch.set_grad_enabled(first_order):
            state, total = start, torch.zeros(len(start))
            for action in sampled:
                state = state + network(torch.cat([state, action], dim=1))
                total = total + (1 + state[:, 1]) / 2
        if first_order:
            torch.autograd.grad(total.sum(), sampled)

    return roll


def batched_over_bare(model, seen) -> bool:
    network = torch.nn.Sequential(
        torch.nn.Linear(6, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 5)
    ).requires_grad_(False)
    observations = torch.as_tensor(seen.percept.observation, dtype=torch.float32)
    how = {"objective": SCORE, "space": WORLD.spec.actions, "horizon": HORIZON, "samples": SAMPLES, "sigma": SIGMA}
    holds, times = True, 8
    for method, loops in (("fog", first_order_loops), ("zog", zeroth_order_loops)):

        def ours(method: str = method) -> None:
            for _ in range(times):
                found = esnr(model, seen, method, **how)
            assert found.esnr.is_defined

        bare = repeated(bare_rollout(network, observations, method == "fog"), times)
        with limit_threads(1):
            esnr(model, seen, method, **how)
            looped = compare(lambda loops=loops: loops(network, observations), ours, rounds=3)
            over_bare = compare(ours, bare, rounds=7)
        print(f"{method}: nested loops {looped.first:.2f} s, batched {1e3 * looped.second / times:.1f} ms of CPU")
        name = f"{method}, {OBSERVATIONS} observations x {SAMPLES} samples x {HORIZON} steps, MLP 64-64"
        holds &= verdict(f"nested loops over one batch: {name}", looped.ratio * times, at_least=150)
        holds &= verdict(f"ESNR over its bare batched rollout: {name}", over_bare.ratio, at_most=2)
    return holds


def against_the_closed_loop(model, seen) -> None:
    """Both until the half-width of their interval is the same share of them: seconds and model steps."""
    how = {"objective": SCORE, "space": WORLD.spec.actions, "horizon": HORIZON, "samples": SAMPLES}
    policy = catalog.policy(
        "cem", WORLD, model=model, plan_horizon=HORIZON, candidates=64, execute=1, objective="smooth-upright"
    )
    returns, steps, seconds = [], 0, 0.0
    for method in ("fog", "zog", "cem"):
        found = esnr(model, seen, method, **how)
        assert found.esnr.value and found.esnr.low is not None and found.esnr.high is not None
        width = (found.esnr.high - found.esnr.low) / 2 / found.esnr.value
        while len(returns) < MIN_VALUES or (_width(returns) > width and len(returns) < MOST_EPISODES):
            begin = time.perf_counter()
            table = BenchmarkRunner(WORLD, policy, 4, 200, seed=len(returns), timed_decisions=0).run().table
            seconds += time.perf_counter() - begin
            returns += list(table["return"])
            steps += int(table["model_steps"].sum())
        print(f"{method}: {width:.0%} of the ESNR in {found.seconds:.2f} s and {found.model_steps:,} model steps")
        cost = f"{seconds:.1f} s and {steps:,} model steps of {len(returns)} episodes"
        print(f"    planning with it: {_width(returns):.0%} of the return in {cost}")


def _width(returns: list[float]) -> float:
    found = mean(np.array(returns))
    assert found.value is not None and found.high is not None
    return (found.high - found.value) / found.value


def main() -> int:
    keep_freed_memory()
    policy = catalog.policy("random", WORLD)
    trainer = MLPTrainer(target="delta", epochs=50).resolve(WORLD)
    model = trainer.learn(WORLD, collect(WORLD, policy, 4000)).model
    seen = fresh_observations(WORLD, policy, OBSERVATIONS, episode_steps=200)
    holds = batched_over_bare(model, seen)
    against_the_closed_loop(model, seen)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
