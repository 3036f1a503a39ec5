"""The settings a world model is trained with unless others are asked for."""

from dataclasses import dataclass

from wmel.contract.abilities import able
from wmel.contract.environment import Enumerable, Environment
from wmel.training.fit import FitSettings
from wmel.training.mlp import MLPSettings


@dataclass(frozen=True)
class Recipe:
    """How data are collected, what is fitted and how."""

    collect: str  # a policy or a mixture; `all` for every transition there is
    network: MLPSettings
    fit: FitSettings


def default_recipe(environment: Environment) -> Recipe:
    """The documents' where they have one: their control tasks and their mazes; else scaled changes."""
    if able(environment, Enumerable):
        fit = FitSettings(epochs=800, batch=1 << 20, learning_rate=1e-2, held_out=0.0)
        return Recipe("all", MLPSettings((32, 32), "delta", rounded=True), fit)
    target = "next" if environment.spec.name.startswith("dmc_") else "delta"
    return Recipe("random", MLPSettings((64, 64), target), FitSettings())
