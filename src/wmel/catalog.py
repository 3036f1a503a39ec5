"""The catalogue: every built-in part, one line each."""

from typing import Any

from wmel.registry import Part, Registry

ENVIRONMENTS = Registry(
    "environment",
    {
        "maze_toy": Part("wmel.environments.maze_toy:maze_toy", "7x7 maze, shortest path 14; a trap for the greedy"),
        "two_room_toy": Part("wmel.environments.two_room_toy:two_room_toy", "two rooms and a door, shortest path 11"),
    },
)
MODELS = Registry(
    "model",
    {"oracle": Part("wmel.models.oracle:Oracle", "the environment itself behind the model contract")},
)
OBJECTIVES = Registry(
    "objective",
    {"goal-distance": Part("wmel.objectives.goal_distance:GoalDistance", "Manhattan distance to the goal")},
)
PLANNERS = Registry(
    "planner",
    {
        "random-shooting": Part("wmel.planners.random_shooting:RandomShooting", "draw uniformly, keep the cheapest"),
        "cem": Part("wmel.planners.cem:CEM", "cross-entropy method: refit the draw to its cheapest part"),
    },
)
POLICIES = Registry(
    "policy",
    {
        "random": Part("wmel.policies.random:random_policy", "uniform actions; the floor of every comparison"),
        "greedy": Part("wmel.policies.greedy:greedy", "straight to the goal, by the waypoint if the world has one"),
        "tabular-world-model": Part(
            "wmel.policies.named:tabular_world_model", "random shooting on the environment's own dynamics"
        ),
        "cem": Part("wmel.policies.named:cem", "cross-entropy method on the environment's own dynamics"),
    },
)
METRICS = Registry(
    "metric",
    {
        "success_rate": Part("wmel.analysis.metrics.success_rate:success_rate", "share of episodes that succeed"),
        "average_steps_to_success": Part(
            "wmel.analysis.metrics.average_steps_to_success:average_steps_to_success", "steps of the successful ones"
        ),
        "average_planning_latency_ms": Part(
            "wmel.analysis.metrics.average_planning_latency_ms:average_planning_latency_ms",
            "time to one decision at batch 1",
        ),
        "planning_latency_p50_ms": Part("wmel.analysis.metrics.planning_latency_percentiles_ms:p50", "its median"),
        "planning_latency_p95_ms": Part("wmel.analysis.metrics.planning_latency_percentiles_ms:p95", "its slow 5%"),
        "planning_latency_p99_ms": Part("wmel.analysis.metrics.planning_latency_percentiles_ms:p99", "its slow 1%"),
        "average_compute_per_decision": Part(
            "wmel.analysis.metrics.average_compute_per_decision:average_compute_per_decision",
            "declared model steps per executed step",
        ),
        "pre_solved_rate": Part(
            "wmel.analysis.metrics.pre_solved_rate:pre_solved_rate", "share of starts that need no action"
        ),
        "error_rate": Part("wmel.analysis.metrics.error_rate:error_rate", "share of episodes that broke"),
    },
)
CATALOGUE: dict[str, Registry] = {
    "environments": ENVIRONMENTS,
    "policies": POLICIES,
    "planners": PLANNERS,
    "models": MODELS,
    "objectives": OBJECTIVES,
    "metrics": METRICS,
}


def environment(name: str, **settings: Any) -> Any:
    """An environment by its catalogue name."""
    return ENVIRONMENTS.build(name, **settings)


def policy(name: str, environment: Any, **settings: Any) -> Any:
    """A policy by its catalogue name, for an environment; `plan_horizon` and `candidates` where it plans."""
    return POLICIES.build(name, environment, **settings)
