"""The catalogue: every built-in part, one line each."""

from typing import Any

from wmel.control_suite import TASKS, summary_of
from wmel.errors import BadInput
from wmel.registry import Part, Registry

ENVIRONMENTS = Registry(
    "environment",
    {
        "maze_toy": Part("wmel.environments.maze_toy:maze_toy", "7x7 maze, shortest path 14; a trap for the greedy"),
        "two_room_toy": Part("wmel.environments.two_room_toy:two_room_toy", "two rooms and a door, shortest path 11"),
        "dmc_acrobot": Part("wmel.environments.dmc.tasks:dmc_acrobot", "the documents' acrobot: 5 torques, 500 steps"),
        "dmc_cartpole": Part(
            "wmel.environments.dmc.tasks:dmc_cartpole", "the documents' cartpole: 5 forces, 500 steps"
        ),
        "dmc_reacher": Part(
            "wmel.environments.dmc.tasks:dmc_reacher", "the documents' reacher: 9 pairs of torques, 500 steps"
        ),
        **{
            f"dmc:{task}": Part("wmel.environments.dmc.tasks:dmc_task", summary_of(task), subjects=(task,))
            for task in TASKS
        },
    },
    group="wmel.environments",
)
MODELS = Registry(
    "model",
    {"oracle": Part("wmel.models.oracle:Oracle", "the environment itself behind the model contract")},
    group="wmel.models",
)
OBJECTIVES = Registry(
    "objective",
    {
        "goal-distance": Part("wmel.objectives.goal_distance:goal_distance", "Manhattan distance to the goal"),
        "upright": Part("wmel.objectives.upright:upright", "highest point of poles and arms along the plan, cut there"),
        "smooth-upright": Part("wmel.objectives.upright:smooth_upright", "how upright along the whole plan"),
        "target-distance": Part(
            "wmel.objectives.target_distance:target_distance", "closest approach to the target in sight, cut there"
        ),
        "task-reward": Part(
            "wmel.objectives.task_reward:task_reward", "the task's reward, where observation and action tell it"
        ),
        "model-reward": Part("wmel.objectives.model_reward:model_reward", "the reward the model itself gives"),
    },
    group="wmel.objectives",
)
PLANNERS = Registry(
    "planner",
    {
        "random-shooting": Part("wmel.planners.random_shooting:RandomShooting", "draw uniformly, keep the cheapest"),
        "cem": Part("wmel.planners.cem:CEM", "cross-entropy method: refit the draw to its cheapest part"),
        "mppi": Part("wmel.planners.mppi:MPPI", "path integral: refit the draw to all of it, the cheap counting most"),
    },
    group="wmel.planners",
)
POLICIES = Registry(
    "policy",
    {
        "random": Part("wmel.policies.random:random_policy", "uniform actions; the floor of every comparison"),
        "greedy": Part("wmel.policies.greedy:greedy", "straight to the goal, by the waypoint if the world has one"),
        "tabular-world-model": Part(
            "wmel.policies.planning:tabular_world_model",
            "the documents' planner: random shooting, plans executed whole",
        ),
        "native": Part(
            "wmel.policies.native:native", "a model's own planner: the `plan` of an object, MPPI of a tdmpc2"
        ),
        "prior": Part("wmel.policies.prior:prior", "the policy a model has learned, without planning (tdmpc2)"),
    },
)
PERTURBATIONS = Registry(
    "perturbation",
    {
        "env-default": Part("wmel.perturbations.env_default:EnvPerturbation", "what the environment does by itself"),
        "drop-next": Part(
            "wmel.perturbations.drop_next_actions:DropNextActions",
            "-K: the next K planned actions are lost, no time passes",
        ),
        "hold-idle": Part("wmel.perturbations.hold_next_actions:hold_idle", "-K: the idle action runs for K steps"),
        "hold-last": Part("wmel.perturbations.hold_next_actions:hold_last", "-K: the last action runs on for K steps"),
        "observation-noise": Part(
            "wmel.perturbations.observation_noise:ObservationNoise", "-SIGMA[@STEPS]: Gaussian noise on what is seen"
        ),
        "action-delay": Part("wmel.perturbations.action_delay:ActionDelay", "-K[@STEPS]: actions arrive K steps late"),
        "composite": Part("wmel.perturbations.composite:CompositePerturbation", ":A+B: several at once, in order"),
    },
    group="wmel.perturbations",
)
METRICS = Registry(
    "metric",
    {
        "success_rate": Part("wmel.analysis.metrics.success_rate:success_rate", "share of episodes that succeed"),
        "success@": Part("wmel.analysis.metrics.success_at:success_at", "K: share that succeed within K steps"),
        "average_steps_to_success": Part(
            "wmel.analysis.metrics.average_steps_to_success:average_steps_to_success", "steps of the successful ones"
        ),
        "average_return": Part("wmel.analysis.metrics.average_return:average_return", "reward an episode brings"),
        "average_planning_latency_ms": Part(
            "wmel.analysis.metrics.average_planning_latency_ms:average_planning_latency_ms",
            "time to one decision at batch 1",
        ),
        "planning_latency_p50_ms": Part("wmel.analysis.metrics.planning_latency_percentiles_ms:p50", "its median"),
        "planning_latency_p95_ms": Part("wmel.analysis.metrics.planning_latency_percentiles_ms:p95", "its slow 5%"),
        "planning_latency_p99_ms": Part("wmel.analysis.metrics.planning_latency_percentiles_ms:p99", "its slow 1%"),
        "deadline@": Part("wmel.analysis.metrics.deadline_at:deadline_at", "MS: share of decisions made in time"),
        "average_compute_per_decision": Part(
            "wmel.analysis.metrics.average_compute_per_decision:average_compute_per_decision",
            "declared model steps per executed step",
        ),
        "perturbation_recovery_rate": Part(
            "wmel.analysis.metrics.perturbation_recovery_rate:perturbation_recovery_rate",
            "share of perturbed episodes that succeed",
        ),
        "perturbation_recovery_ratio": Part(
            "wmel.analysis.metrics.perturbation_recovery_ratio:perturbation_recovery_ratio",
            "the same over the rate of those seeds left alone",
        ),
        "pre_solved_rate": Part(
            "wmel.analysis.metrics.pre_solved_rate:pre_solved_rate", "share of starts that need no action"
        ),
        "error_rate": Part("wmel.analysis.metrics.error_rate:error_rate", "share of episodes that broke"),
    },
    group="wmel.metrics",
)
CATALOGUE: dict[str, Registry] = {
    "environments": ENVIRONMENTS,
    "policies": POLICIES,
    "planners": PLANNERS,
    "models": MODELS,
    "objectives": OBJECTIVES,
    "perturbations": PERTURBATIONS,
    "metrics": METRICS,
}


def environment(name: str, **settings: Any) -> Any:
    """An environment by its catalogue name."""
    return ENVIRONMENTS.build(name, **settings)


def policy(name: str, environment: Any, **settings: Any) -> Any:
    """A policy by its catalogue name, for an environment; any planner of the catalogue is one too."""
    if name not in POLICIES.parts and name in PLANNERS.parts:
        planning = Registry("policy", {name: Part("wmel.policies.planning:planning", "")})
        return planning.build(name, environment, name, **settings)
    if name not in POLICIES.parts:
        known = {**POLICIES.parts, **PLANNERS.parts}
        return Registry("policy", known).load(name)
    return POLICIES.build(name, environment, **settings)


def objective(name: str, environment: Any) -> Any:
    """An objective by its catalogue name, for an environment that offers it."""
    offered = environment.spec.objectives
    if name in OBJECTIVES.built_in and name not in offered:
        raise BadInput(f"{environment.spec.name} has no objective '{name}'; it has {', '.join(offered)}")
    return OBJECTIVES.build(name, environment)


def metric(text: str) -> Any:
    """A metric as it is typed: success_rate, or one that takes a number: success@20, deadline@5."""
    name, at, number = text.partition("@")
    if not at:
        return METRICS.load(text)
    return METRICS.load(f"{name}@")(_number(number, text))


def perturbation(text: str) -> Any:
    """A perturbation as it is typed: env-default, drop-next-5, observation-noise-0.1@20, composite:A+B."""
    if text.startswith("composite:"):
        parts = [part.strip() for part in text.removeprefix("composite:").split("+")]
        return PERTURBATIONS.load("composite")(*(perturbation(part) for part in parts if part))
    if ":" in text:
        return PERTURBATIONS.build(text)
    by_length = sorted(PERTURBATIONS.built_in, key=len, reverse=True)
    known = (*by_length, *(name for name in PERTURBATIONS.parts if name not in PERTURBATIONS.built_in))
    for name in known:
        if text == name:
            return PERTURBATIONS.build(name)
        if text.startswith(f"{name}-"):
            return _strengthened(name, text)
    return PERTURBATIONS.load(text)


def _strengthened(name: str, text: str) -> Any:
    """A perturbation with the strength, and perhaps the window, that its text ends in."""
    strength, _, window = text.removeprefix(f"{name}-").partition("@")
    settings = PERTURBATIONS.settings_of(name)
    if not settings:
        raise BadInput(f"perturbation '{name}' takes no strength, got '{text}'")
    if window and "window" not in settings:
        raise BadInput(f"perturbation '{name}' happens at once and has no window, got '{text}'")
    lasting = {"window": _number(window, text)} if window else {}
    return PERTURBATIONS.load(name)(_number(strength, text), **lasting)


def _number(word: str, text: str) -> int | float:
    """A whole number where it is written as one."""
    try:
        return int(word) if word.lstrip("-").isdecimal() else float(word)
    except ValueError:
        raise BadInput(f"{word!r} in '{text}' is no number") from None
