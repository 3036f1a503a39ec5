"""The planning policies of the catalogue: a planner on the environment's own dynamics."""

from wmel.contract.environment import Environment
from wmel.contract.planner import Planner
from wmel.models.oracle import Oracle
from wmel.objectives.goal_distance import GoalDistance
from wmel.planners.cem import CEM
from wmel.planners.random_shooting import RandomShooting
from wmel.policies.model_predictive import ModelPredictive


def tabular_world_model(environment: Environment, plan_horizon: int = 20, candidates: int = 200) -> ModelPredictive:
    """The documents' planner: random shooting, each plan executed whole."""
    return _on_oracle("tabular-world-model", environment, RandomShooting(plan_horizon, candidates))


def cem(environment: Environment, plan_horizon: int = 20, candidates: int = 24) -> ModelPredictive:
    """The documents' cross-entropy method: three iterations, a quarter of the candidates as elites."""
    planner = CEM(plan_horizon, candidates=candidates, elites=max(1, candidates // 4))
    return _on_oracle("cem", environment, planner)


def _on_oracle(name: str, environment: Environment, planner: Planner) -> ModelPredictive:
    return ModelPredictive(name, environment.spec, Oracle(environment), GoalDistance(), planner)
