"""Sweeps of the planning horizon: one policy at several horizons, on the same episode seeds."""

from collections.abc import Callable, Sequence

from wmel.closed_loop.run import EPISODES, BenchmarkRunner
from wmel.contract.criterion import Criterion, Stop
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Perturbation
from wmel.contract.policy import Policy
from wmel.errors import BadInput, require, require_whole
from wmel.schema import SweepPoint


def horizon_sweep(
    environment: Environment,
    policy_at: Callable[[int], Policy],
    plan_horizons: Sequence[int],
    *,
    episodes_per_point: int = EPISODES,
    episode_horizon: int | None = None,
    perturb_prob: float = 0.0,
    perturbation: Perturbation | None = None,
    seed: int = 0,
    criterion: Criterion | None = None,
    stop: Stop | str | None = None,
    timed_decisions: int = 100,
    progress: Callable[[float], None] = lambda finished: None,
) -> list[SweepPoint]:
    """Runs `policy_at(h)` for each planning horizon h, in increasing order.

    `episode_horizon` is the maximum number of steps of an episode; None: that of the environment.
    """
    if not plan_horizons:
        raise BadInput("a sweep requires at least one planning horizon, got none")
    for plan_horizon in plan_horizons:
        require_whole(plan_horizon, "a planning horizon")
    require(len(set(plan_horizons)) == len(plan_horizons), "planning horizons must differ", list(plan_horizons))
    policies = {horizon: policy_at(horizon) for horizon in sorted(plan_horizons)}
    points = []
    for horizon, policy in policies.items():
        runner = BenchmarkRunner(
            environment,
            policy,
            episodes_per_point,
            episode_horizon,
            perturb_prob=perturb_prob,
            perturbation=perturbation,
            seed=seed,
            criterion=criterion,
            stop=stop,
            timed_decisions=timed_decisions,
        )
        points.append(SweepPoint({"plan_horizon": horizon}, runner.run(progress)))
    return points
