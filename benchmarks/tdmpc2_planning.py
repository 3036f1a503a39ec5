"""Planning with a TD-MPC2 of size 1 against the wmel 0.18 repository: encode, step and decode one state at a time."""

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from side_by_side import verdict
from wmel import catalog
from wmel.arrays import keep_freed_memory
from wmel.contract.policy import Percept
from wmel.machine import limit_threads
from wmel.models.imagine import ImaginedCost
from wmel.models.tdmpc2.model import Rollout, TDMPC2Model, TDMPC2WithDecoder
from wmel.models.tdmpc2.network import NormedLinear
from wmel.randomness import Streams
from wmel.training.tdmpc2.train import blank_tdmpc2
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

HORIZON, CANDIDATES = 15, 50
ITERATIONS, SAMPLES, ELITES, SMOOTHING = 3, 24, 6, 0.1
PLANNERS = {"random-shooting": CANDIDATES, "cem": SAMPLES}
ROUNDS, MOST = 15, 1.1


class SimNorm(nn.Module):
    def forward(self, numbers: Tensor) -> Tensor:
        return numbers.view(*numbers.shape[:-1], -1, 8).softmax(-1).view(*numbers.shape)


@dataclass(frozen=True, eq=False)
class OneStateAtATime:
    """Adapter and planners of the wmel 0.18 repository, state by state in Python, with torch's own modules."""

    encoder: nn.Module
    dynamics: nn.Module
    decoder: nn.Module
    levels: list[float]
    cosines: tuple[int, ...]

    @classmethod
    def of(cls, networks: TDMPC2WithDecoder, world) -> "OneStateAtATime":
        levels, objective = world.spec.actions.values[:, 0].tolist(), catalog.objective("upright", world)
        agent = networks.agent
        return cls(plain(agent.encoder), plain(agent.dynamics), networks.decoder, levels, objective.cosines)

    def step(self, state: tuple[float, ...], action: int) -> tuple[float, ...]:
        with torch.no_grad():
            latent = self.encoder(torch.tensor([state], dtype=torch.float32))
            moved = self.dynamics(torch.cat([latent, torch.tensor([[self.levels[action]]])], -1))
            return tuple(self.decoder(moved)[0].tolist())

    def cost(self, state: tuple[float, ...], sequence: list[int]) -> float:
        """The lowest along the way."""
        lowest = float("inf")
        for action in sequence:
            state = self.step(state, action)
            lowest = min(lowest, -sum(state[cosine] for cosine in self.cosines))
        return lowest

    def random_shooting(self, start: tuple[float, ...], rng: random.Random) -> list[int]:
        samples = [rng.choices(range(len(self.levels)), k=HORIZON) for _ in range(CANDIDATES)]
        return min(samples, key=lambda sequence: self.cost(start, sequence))

    def cem(self, start: tuple[float, ...], rng: random.Random) -> list[int]:
        count = len(self.levels)
        chances, best = [[1 / count] * count for _ in range(HORIZON)], (float("inf"), [])
        for _ in range(ITERATIONS):
            samples = [[rng.choices(range(count), chance)[0] for chance in chances] for _ in range(SAMPLES)]
            rated = sorted(((self.cost(start, one), one) for one in samples), key=lambda pair: pair[0])
            best = rated[0] if rated[0][0] < best[0] else best
            for now in range(HORIZON):
                taken = [one[now] for _, one in rated[:ELITES]]
                chances[now] = [
                    (1 - SMOOTHING) * taken.count(action) / ELITES + SMOOTHING / count for action in range(count)
                ]
        return best[1]


def plain(layers: nn.Sequential) -> nn.Sequential:
    """The same weights in torch's own modules."""
    made: list[nn.Module] = []
    for layer in layers:
        assert isinstance(layer, NormedLinear)
        linear = nn.Linear(layer.in_features, layer.out_features)
        linear.weight, linear.bias = layer.weight, layer.bias
        made += [linear, layer.ln, nn.Mish() if layer.last == "mish" else SimNorm()]
    return nn.Sequential(*made)


def percept_of(world, episodes: int) -> Percept:
    states = world.reset(np.arange(episodes))
    last, left = np.zeros((episodes, 1), int), np.full(episodes, 500)
    return Percept(world.observe(states), world.goals(states), states, last, left)


def planned(world, model: TDMPC2Model, planner: str, episodes: int) -> Callable[[], object]:
    """One plan call for so many episodes."""
    policy = catalog.policy(planner, world, candidates=PLANNERS[planner], plan_horizon=HORIZON, model=model)
    percept = percept_of(world, episodes)
    streams = Streams(np.arange(episodes), np.zeros(episodes, np.int64))
    return lambda: policy.act(percept, policy.observe(percept, None), streams)


def products(networks: TDMPC2WithDecoder, planner: str) -> Callable[[], None]:
    """Nothing but the matrix products of a plan in latent space."""
    rows, rounds = PLANNERS[planner], ITERATIONS if planner == "cem" else 1
    moving = [layer for layer in networks.agent.dynamics if isinstance(layer, nn.Linear)]
    decoding = [layer for layer in networks.decoder if isinstance(layer, nn.Linear)]
    stepwise = [(torch.randn(rows, layer.in_features), layer) for layer in moving]
    at_once = [(torch.randn(rows * HORIZON, layer.in_features), layer) for layer in decoding]

    def multiply() -> None:
        with torch.inference_mode():
            for inputs, layer in (stepwise * HORIZON + at_once) * rounds:
                nn.functional.linear(inputs, layer.weight, layer.bias)

    return multiply


def check_costs(world, networks: TDMPC2WithDecoder, loop: OneStateAtATime) -> None:
    """The loop and our decoded way give the same candidates the same costs."""
    model, percept = TDMPC2Model(networks, "decoded"), percept_of(world, 1)
    candidates = np.random.default_rng(0).integers(0, len(loop.levels), (1, CANDIDATES, HORIZON, 1))
    objective, width = catalog.objective("upright", world), len(world.spec.observation)
    cost = ImaginedCost(model, objective, world.spec.actions, model.encode(percept, None), percept.goal, width)
    ours = cost(torch.as_tensor(candidates)).costs[0].numpy()
    start = tuple(percept.observation[0].tolist())
    theirs = np.array([loop.cost(start, sequence) for sequence in candidates[0, :, :, 0].tolist()])
    furthest, spread = np.abs(ours - theirs).max(), np.ptp(theirs)
    print(
        f"{world.spec.name}: costs of {CANDIDATES} candidates differ by {furthest:.1e}; they spread over {spread:.1e}"
    )
    assert furthest < 1e-5 and spread > 100 * furthest, "the loop and the decoded way do not compute the same"


def cpu_ms(work: Callable[[], object], times: int) -> float:
    begin = time.process_time()
    for _ in range(times):
        work()
    return 1e3 * (time.process_time() - begin) / times


def measure(world, networks: TDMPC2WithDecoder, loop: OneStateAtATime, planner: str, batches: tuple[int, ...]) -> float:
    """Print a table row for each way; how many times a plan in latent space costs its bare products, at one episode."""
    start, rng = tuple(percept_of(world, 1).observation[0].tolist()), random.Random(0)
    repository = loop.cem if planner == "cem" else loop.random_shooting
    ways: dict[tuple[Rollout, int], Callable[[], object]] = {
        (way, count): planned(world, TDMPC2Model(networks, way), planner, count)
        for way in ("latent", "decoded")
        for count in batches
    }
    bare, taken = products(networks, planner), []
    for work in (*ways.values(), bare):
        work()
    for _ in range(ROUNDS):
        theirs = cpu_ms(lambda: repository(start, rng), 1)
        ours = [cpu_ms(work, 1 + 20 // count) / count for (_, count), work in ways.items()]
        taken.append([theirs, *ours, cpu_ms(bare, 10)])
    numbers = np.array(taken)
    ratios, name = np.median(numbers[:, :1] / numbers, axis=0), f"| {world.spec.name} | {planner} "
    rows = ["one state at a time | 1", *(f"{way} | {count}" for way, count in ways), "bare products | 1"]
    for row, ms, ratio in zip(rows, np.median(numbers, axis=0), ratios, strict=True):
        print(f"{name}| {row} | {ms:.2f} | {ratio:.1f} |")
    return float(np.median(numbers[:, 1] / numbers[:, -1]))


def main() -> int:
    keep_freed_memory()
    reached, holds = {}, True
    with limit_threads(1):
        print(
            "| environment | planner | way | episodes | CPU ms per plan of an episode | x |\n|---|---|---|---|---|---|"
        )
        for name, batches in (("dmc_acrobot", (1, 16, 50)), ("dmc_cartpole", (1,))):
            torch.manual_seed(0)
            world = catalog.environment(name)
            networks = blank_tdmpc2(world, TDMPC2Trainer(size=1)).requires_grad_(False).eval()
            loop = OneStateAtATime.of(networks, world)
            check_costs(world, networks, loop)
            for planner in PLANNERS:
                reached[name, planner] = measure(world, networks, loop, planner, batches)
    for which, ratio in reached.items():
        name = f"a plan in latent space over its matrix products by torch, batch 1: {' '.join(which)}"
        holds &= verdict(name, ratio, at_most=MOST)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
