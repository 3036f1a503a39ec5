"""wmel: may we plan with this world model?

The public names are imported when they are first used, so that `import wmel` is fast.
"""

import importlib
from typing import Any

_MODULES = {
    "BenchmarkRunner": "wmel.closed_loop.run",
    "Box": "wmel.contract.environment",
    "CEM": "wmel.planners.cem",
    "CompositePerturbation": "wmel.perturbations",
    "CPGResult": "wmel.analysis.gap",
    "Criterion": "wmel.contract.criterion",
    "Disturbance": "wmel.contract.perturbation",
    "DropNextActions": "wmel.perturbations",
    "EnvPerturbation": "wmel.perturbations",
    "EnvironmentSpec": "wmel.contract.environment",
    "EpisodeTable": "wmel.schema",
    "Estimate": "wmel.stats.estimate",
    "Finite": "wmel.contract.environment",
    "GoalDistance": "wmel.objectives",
    "HorizonSweep": "wmel.analysis.horizon",
    "MPPI": "wmel.planners.mppi",
    "ModelPredictive": "wmel.policies.model_predictive",
    "Oracle": "wmel.models.oracle",
    "Processes": "wmel.experiments.executors",
    "Result": "wmel.results",
    "Serial": "wmel.experiments.executors",
    "RandomShooting": "wmel.planners.random_shooting",
    "Scorecard": "wmel.analysis.scorecard",
    "Stop": "wmel.contract.criterion",
    "WmelError": "wmel.errors",
    "WorldModelSpec": "wmel.contract.world_model",
    "effective_horizon": "wmel.analysis.horizon",
    "environment": "wmel.catalog",
    "PairModel": "wmel.models.callable_model",
    "compute_esnr": "wmel.diagnostics.esnr.measure",
    "esnr_difference": "wmel.diagnostics.esnr.result",
    "fresh_observations": "wmel.diagnostics.states",
    "counterfactual_planning_gap": "wmel.analysis.gap",
    "cpg_verdict": "wmel.analysis.verdict",
    "episode_seeds": "wmel.closed_loop.run",
    "horizon_sweep": "wmel.closed_loop.run",
    "objective": "wmel.catalog",
    "perturbation": "wmel.catalog",
    "planner": "wmel.catalog",
    "policy": "wmel.catalog",
    "pooled_gap": "wmel.analysis.pooling",
    "read_record": "wmel.reports.records",
    "run_episodes": "wmel.closed_loop.run",
    "run_record": "wmel.reports.records",
    "scorecard": "wmel.analysis.scorecard",
    "suite_gap": "wmel.analysis.gap",
    "sweep_record": "wmel.reports.records",
    "to_markdown_horizon_sweep": "wmel.reports.markdown",
    "to_markdown_scorecard": "wmel.reports.markdown",
    "write_record": "wmel.reports.records",
}

VERBS = {  # the verbs of the command line, with the same names
    "run": "wmel.api.run",
    "sweep": "wmel.api.sweep",
    "cpg": "wmel.api.cpg",
    "diagnose": "wmel.api.diagnose",
    "esnr": "wmel.api.esnr",
    "esnr_over_training": "wmel.api.over_training",
    "esnr_toy": "wmel.api.toy",
    "train": "wmel.api.train",
    "convert": "wmel.api.train",
    "study": "wmel.api.study",
    "report": "wmel.api.load",
    "load": "wmel.api.load",
    "show": "wmel.api.load",
    "compare": "wmel.api.compare",
    "power": "wmel.api.power",
    "check": "wmel.api.check",
    "explain": "wmel.api.explain",
    "list_parts": "wmel.api.explain",
    "doctor": "wmel.api.check",
}
_MODULES |= VERBS
_OTHER_NAMES = {"esnr_of": ("wmel.diagnostics.esnr.measure", "esnr")}  # public name -> module, name there

__all__ = ["__version__", *_MODULES, *_OTHER_NAMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("wmel.machine").wmel_version()
    if name in _OTHER_NAMES:
        module, attribute = _OTHER_NAMES[name]
        return getattr(importlib.import_module(module), attribute)
    if name not in _MODULES:
        raise AttributeError(f"module 'wmel' has no attribute '{name}'")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
