"""Conformance kits, which check that a part fulfils its contract.

Each kit returns one finding for each promise of the contract. A failed promise has a problem and a way to correct it.
"""

from wmel.testing.environment_kit import check_environment
from wmel.testing.findings import Finding, failures
from wmel.testing.metric_kit import check_metric
from wmel.testing.perturbation_kit import check_perturbation
from wmel.testing.planner_kit import check_planner
from wmel.testing.world_model_kit import check_four_methods, check_world_model

__all__ = [
    "Finding",
    "check_environment",
    "check_four_methods",
    "check_metric",
    "check_perturbation",
    "check_planner",
    "check_world_model",
    "failures",
]
