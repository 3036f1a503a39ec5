"""The catalogue: one line for every built-in part, the presets of published runs, and functions that build parts."""

import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from wmel.control_suite import TASKS, summary_of
from wmel.errors import BadInput, UnknownPart, refuse_definition, suggest_name, with_article
from wmel.kinds import kind_of
from wmel.parts import Part, Registry, import_object, name_and_settings
from wmel.settings import builds_part, has_parameter

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    # the CPG paper: one fixed start, plans of 15 steps, 50 random sequences or CEM with 3 x 24, its verdict rule added
    "paper": {
        "environment": {"init": "fixed"},
        "random-shooting": {"plan_horizon": 15, "candidates": 50},
        "cem": {"plan_horizon": 15, "iterations": 3, "candidates": 24, "elites": 6, "smoothing": 0.1},
        "verdict": {"rule": "paper"},
    },
    # random shooting on grids in the wmel 0.18 repository; there is also a planner of this name
    "tabular-world-model": {"random-shooting": {"plan_horizon": 20, "candidates": 200}},
}
MODELS = Registry(
    "model",
    {"oracle": Part("wmel.models.oracle:Oracle", "the true dynamics of the environment, as a model")},
    group="wmel.models",
)
OBJECTIVES = Registry(
    "objective",
    {
        "goal-distance": Part("wmel.objectives:goal_distance", "Manhattan distance to the goal"),
        "upright": Part("wmel.objectives:upright", "highest point of poles and arms; the plan is cut there"),
        "smooth-upright": Part("wmel.objectives:smooth_upright", "how upright poles and arms are at every step"),
        "target-distance": Part("wmel.objectives:target_distance", "smallest target distance; the plan is cut there"),
        "task-reward": Part("wmel.objectives:task_reward", "the task's reward, as a formula of the observation"),
        "model-reward": Part("wmel.objectives:model_reward", "the reward that the model predicts"),
    },
    group="wmel.objectives",
)
PLANNERS = Registry(
    "planner",
    {
        "random-shooting": Part("wmel.planners.random_shooting:RandomShooting", "sample uniformly, keep the cheapest"),
        "cem": Part("wmel.planners.cem:CEM", "cross-entropy method: refit the distribution to its cheapest samples"),
        "mppi": Part("wmel.planners.mppi:MPPI", "path integral: refit to all samples, weighted by their costs"),
        "tabular-world-model": Part(
            "wmel.planners.random_shooting:tabular_world_model",
            "preset: random shooting as in the wmel 0.18 repository, 200 candidates of 20 steps",
        ),
    },
    group="wmel.planners",
    taken=lambda: POLICIES.built_in,  # planners and policies share one namespace: a run names either
)
POLICIES = Registry(
    "policy",
    {
        "random": Part("wmel.policies.direct:random_policy", "uniform actions; the floor of every comparison"),
        "greedy": Part("wmel.policies.direct:greedy", "straight to the goal, past the waypoint if there is one"),
        "native": Part("wmel.policies.native:native", "a model's own planner: `plan` of an object, MPPI of TD-MPC2"),
        "prior": Part("wmel.policies.direct:prior", "the policy that a model has learned, without planning (TD-MPC2)"),
    },
    group="wmel.policies",
    taken=lambda: PLANNERS.parts,
)
PERTURBATIONS = Registry(
    "perturbation",
    {
        "env-default": Part("wmel.perturbations:EnvPerturbation", "the environment's own perturbation"),
        "drop-next": Part(
            "wmel.perturbations:DropNextActions",
            "-K: the next K planned actions are dropped, no time passes",
        ),
        "hold-idle": Part("wmel.perturbations:hold_idle", "-K: the idle action runs for K steps"),
        "hold-last": Part("wmel.perturbations:hold_last", "-K: the last action repeats for K steps"),
        "observation-noise": Part(
            "wmel.perturbations:ObservationNoise", "-SIGMA[@STEPS]: Gaussian noise on observations"
        ),
        "action-delay": Part("wmel.perturbations:ActionDelay", "-K[@STEPS]: actions arrive K steps late"),
        "composite": Part("wmel.perturbations:CompositePerturbation", ":A+B: several at once, in order"),
    },
    group="wmel.perturbations",
)
METRICS = Registry(
    "metric",
    {
        "success_rate": Part("wmel.analysis.metrics:success_rate", "share of episodes that succeed"),
        "success@": Part("wmel.analysis.metrics:success_at", "K: share of episodes that succeed within K steps"),
        "average_steps_to_success": Part(
            "wmel.analysis.metrics:average_steps_to_success", "mean steps of the successful episodes"
        ),
        "average_return": Part("wmel.analysis.metrics:average_return", "mean return of an episode"),
        "interquartile_mean_return": Part(
            "wmel.analysis.metrics:interquartile_mean_return", "mean return without the best and the worst quarter"
        ),
        "average_planning_latency_ms": Part(
            "wmel.analysis.metrics:average_planning_latency_ms", "mean time of one decision at batch 1"
        ),
        "planning_latency_p50_ms": Part("wmel.analysis.metrics:p50", "median time of one decision"),
        "planning_latency_p95_ms": Part("wmel.analysis.metrics:p95", "95th percentile of the time of one decision"),
        "planning_latency_p99_ms": Part("wmel.analysis.metrics:p99", "99th percentile of the time of one decision"),
        "deadline@": Part("wmel.analysis.metrics:deadline_at", "MS: share of decisions within MS milliseconds"),
        "average_compute_per_decision": Part(
            "wmel.analysis.metrics:average_compute_per_decision", "declared model steps per executed step"
        ),
        "perturbation_recovery_rate": Part(
            "wmel.analysis.metrics:perturbation_recovery_rate", "success rate of perturbed episodes"
        ),
        "perturbation_recovery_ratio": Part(
            "wmel.analysis.metrics:perturbation_recovery_ratio", "that rate over the rate of the same seeds unperturbed"
        ),
        "pre_solved_rate": Part("wmel.analysis.metrics:pre_solved_rate", "share of starts that need no action"),
        "error_rate": Part("wmel.analysis.metrics:error_rate", "share of episodes that ended with an error"),
    },
    group="wmel.metrics",
)
DIAGNOSTICS = Registry(
    "diagnostic",
    {
        "esnr": Part("wmel.diagnostics.esnr.diagnostic:EsnrDiagnostic", "signal-to-noise ratio of policy gradients"),
        "alignment": Part(
            "wmel.diagnostics.esnr.diagnostic:AlignmentDiagnostic", "cosine of policy gradients with the true ones"
        ),
        "prediction-error": Part(
            "wmel.diagnostics.prediction_error:PredictionErrorDiagnostic",
            "error of imagined observations, step by step",
        ),
    },
    group="wmel.diagnostics",
)
TRAINERS = Registry(
    "trainer",
    {
        "mlp": Part("wmel.training.mlp:MLPTrainer", "an MLP that predicts the next observation"),
        "latent-mlp": Part("wmel.training.mlp:LatentMLPTrainer", "MLPs with latent dynamics and a reward"),
        "tdmpc2": Part("wmel.training.tdmpc2.trainer:TDMPC2Trainer", "TD-MPC2, online or from stored episodes"),
    },
    group="wmel.trainers",
)
EXECUTORS = Registry(
    "executor",
    {
        "serial": Part("wmel.experiments.executors:Serial", "one job after the other, in this process"),
        "processes": Part("wmel.experiments.executors:Processes", "jobs in several processes"),
    },
    group="wmel.executors",
)


def preset_settings(name: str | None) -> Mapping[str, Mapping[str, Any]]:
    """The settings of a preset, by kind or name of part. Empty without a preset."""
    if name is None:
        return {}
    if not isinstance(name, str) or name not in PRESETS:
        raise UnknownPart(f"no preset named '{name}';{suggest_name(name, PRESETS)}")
    return PRESETS[name]


def settings_by_preset(preset: Mapping[str, Mapping[str, Any]], registry: Registry, name: str) -> dict[str, Any]:
    """The settings of a preset that apply to a part."""
    found = {**preset.get(registry.kind, {}), **preset.get(name, {})}
    return {key: value for key, value in found.items() if key in registry.settings_of(name)} if found else {}


ENVIRONMENTS = Registry(
    "environment",
    {
        "maze_toy": Part("wmel.environments.grids:maze_toy", "7x7 maze, shortest path 14; greedy gets stuck in it"),
        "two_room_toy": Part("wmel.environments.grids:two_room_toy", "two rooms and a door, shortest path 11"),
        "dmc_acrobot": Part(
            "wmel.environments.dmc.environment:dmc_acrobot", "acrobot swingup of the CPG paper: 5 torques"
        ),
        "dmc_cartpole": Part(
            "wmel.environments.dmc.environment:dmc_cartpole", "cartpole swingup of the CPG paper: 5 forces"
        ),
        "dmc_reacher": Part(
            "wmel.environments.dmc.environment:dmc_reacher",
            "reacher easy of the wmel 0.18 repository: 9 pairs of torques",
        ),
        **{
            f"dmc:{task}": Part("wmel.environments.dmc.environment:dmc_task", summary_of(task), subjects=(task,))
            for task in TASKS
        },
    },
    group="wmel.environments",
)


CATALOGUE: dict[str, Registry] = {
    "environments": ENVIRONMENTS,
    "policies": POLICIES,
    "planners": PLANNERS,
    "models": MODELS,
    "objectives": OBJECTIVES,
    "perturbations": PERTURBATIONS,
    "metrics": METRICS,
    "diagnostics": DIAGNOSTICS,
    "trainers": TRAINERS,
    "executors": EXECUTORS,
}
REGISTRIES = {registry.kind: registry for registry in CATALOGUE.values()}  # by kind, in the singular


def environment(name: str, **settings: Any) -> Any:
    """An environment by its catalogue name."""
    return ENVIRONMENTS.build(name, **settings)


def planner(name: str, **settings: Any) -> Any:
    """A planner by its catalogue name."""
    return PLANNERS.build(name, **settings)


def policy(name: Any, environment: Any, **settings: Any) -> Any:
    """A policy for an environment, by its catalogue name. A planner, by name or as an object, is a policy too."""
    planning = import_object("wmel.policies.model_predictive:planning")
    _require(environment, "environment", "spec")
    if not isinstance(name, str):
        _require(name, "planner", "plan")
        return planning(environment, name, **settings)
    if is_planner(name):
        return planning(environment, name, **settings)
    check_policy(name)
    model = {"model": settings.pop("model")} if "model" in settings else {}
    spec = POLICIES.spec(name, settings)
    if model and not has_parameter(spec.factory, "model"):
        raise BadInput(f"policy '{name}' uses no model: leave out the model, or choose a planner")
    return spec.build(environment, **model)


def check_policy(name: str) -> None:
    """Raises UnknownPart for a name that is neither a policy nor a planner."""
    if not POLICIES.has(name) and ":" not in name:
        known = [*POLICIES.parts, *PLANNERS.parts]
        raise UnknownPart(
            f"no policy named '{name}';{suggest_name(name, known, command='wmel list policies planners')}"
        )


def is_planner(name: str) -> bool:
    """Whether a name is that of a planner.

    An imported class is a planner if it has `plan` and no `act`, a function if it builds its part from settings alone:
    the function of a policy requires the environment.
    """
    if PLANNERS.has(name):
        return True
    if POLICIES.has(name) or ":" not in name:
        return False
    thing = PLANNERS.load(name)
    if inspect.isfunction(thing):
        return builds_part(thing) and kind_of(thing) != "policy"
    return hasattr(thing, "plan") and not hasattr(thing, "act")


def objective(name: Any, environment: Any, **settings: Any) -> Any:
    """An objective by its catalogue name, for an environment that supports it."""
    return build_objective({"name": name, **settings} if settings else name, environment)[0]


def build_objective(part: Any, environment: Any) -> tuple[Any, dict[str, Any]]:
    """An objective given by name, as {name, **settings} or as an object; and its description as data."""
    if not isinstance(part, str | Mapping):
        _require(part, "objective", "costs")
        return part, describe_objective(part)
    name, settings = name_and_settings(part, "objective")
    known = environment.spec.objectives
    if name in OBJECTIVES.built_in and name not in known:
        raise BadInput(f"{environment.spec.name} has no objective '{name}'; it has {', '.join(known)}")
    spec = OBJECTIVES.spec(name, settings)
    return spec.build(environment), spec.resolved


def _require(part: Any, kind: str, attribute: str) -> None:
    """Raises BadInput for an object without the attribute that every part of the kind has."""
    refuse_definition(kind, part)
    if not hasattr(part, attribute):
        raise BadInput(f"{part!r:.80} is not {with_article(kind)}: pass a name or an object with `{attribute}`")


def describe_objective(objective: Any) -> dict[str, Any]:
    """An objective as data: its name and settings."""
    rate, weight = getattr(objective.reduction, "rate", None), getattr(objective, "action_weight", None)
    return {
        "name": objective.name,
        **({} if rate is None else {"discount": rate}),
        **({} if weight is None else {"action_weight": weight}),
    }


def perturbation(part: str | Mapping[str, Any]) -> Any:
    """A perturbation as text (drop-next-5, observation-noise-0.1@20, composite:A+B) or as {name, **settings}."""
    from wmel.contract.perturbation import build_perturbation  # imported late: it imports numpy

    return build_perturbation(perturbation_data(part), PERTURBATIONS)


def perturbation_data(part: str | Mapping[str, Any]) -> dict[str, Any]:
    """A perturbation as {name, **settings}, from that or from text."""
    from wmel.contract.perturbation import perturbation_as_data  # imported late: it imports numpy

    return perturbation_as_data(part, PERTURBATIONS)


NOTED = ("environment", "planner", "policy")  # kinds of parts that the note of a preset names


@dataclass(eq=False)
class PresetUse:
    """What a preset changes. It applies to parts given by name; objects and tables keep the settings that they have."""

    preset: Mapping[str, Mapping[str, Any]]
    is_used: bool = False  # whether a part received a setting
    unchanged: list[str] = field(default_factory=list)  # parts that received none

    def record(self, kind: str, name: str, received: Collection[str]) -> None:
        """Records a part and the settings that it received."""
        part = f"{kind} '{name}'"
        if received:
            self.is_used = True
        elif kind in NOTED and part not in self.unchanged:
            self.unchanged.append(part)

    def fill_in(self, kind: str, table: Mapping[str, Any]) -> dict[str, Any]:
        """The table of a part with the settings of the preset that it does not set; a live part has its own."""
        is_live = bool(table.get("given"))
        received = {} if is_live else settings_by_preset(self.preset, REGISTRIES[kind], table["name"])
        self.record(kind, table["name"], received.keys() - table.keys())
        return {**received, **table}

    def notes(self, *, judges_gaps: bool) -> tuple[str, ...]:
        """A line about the parts that the preset does not change; none if it changes all.

        Raises BadInput if it changes nothing: its verdict rule is enough only for a request that judges gaps.
        """
        if not self.preset or (self.is_used and not self.unchanged):
            return ()
        unchanged = ", ".join(self.unchanged)
        if self.is_used:
            return (f"the preset leaves these as they are: {unchanged}",)
        if judges_gaps and "verdict" in self.preset:
            return (f"only the verdict rule of the preset applies; it leaves these as they are: {unchanged}",)
        raise BadInput(
            f"the preset does not apply to any part named here ({unchanged}): it has settings of "
            f"{', '.join(self.preset)}; settings that are given, and those of an object, stay"
        )
