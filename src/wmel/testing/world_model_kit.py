"""What every world model promises."""

from typing import Any

import numpy as np

from wmel.arrays import to_numpy
from wmel.contract.environment import Environment
from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModel
from wmel.models.imagined_cost import model_input
from wmel.models.rollout import decoded, rollout, step_by_step
from wmel.planners.uniform import uniform_actions
from wmel.randomness import Streams
from wmel.testing.findings import Finding, compared, findings

ROWS, STEPS = 5, 6


def check_world_model(model: WorldModel, environment: Environment) -> list[Finding]:
    """Shapes, independence of rows, rollouts, and no look at the true state that is not declared."""
    kit = _Kit(model, environment)
    return findings(kit, [_shapes, _honest, _independent, _rollout, _deterministic, _pure])


class _Kit:
    """A model with something to imagine."""

    def __init__(self, model: WorldModel, environment: Environment):
        self.model, self.environment = model, environment
        seeds, space = np.arange(ROWS), environment.spec.actions
        states = environment.reset(seeds)
        self.percept = Percept(
            environment.observe(states),
            environment.goals(states),
            states,
            np.zeros((ROWS, space.width), space.dtype),
            np.full(ROWS, STEPS),
        )
        drawn = uniform_actions(space, Streams(seeds, seeds * 0).uniforms("act", (STEPS, space.width))[0])
        self.actions = model_input(model, space, drawn, space.as_values(drawn))

    def trajectory(self, rows: np.ndarray) -> Any:
        """Latents [B,STEPS+1,Z] imagined by the model's own rollout or by its steps."""
        return rollout(self.model, self.model.encode(self.percept.rows(rows), None), self.actions[rows])

    def imagined(self, rows: np.ndarray) -> np.ndarray:
        """Decoded observations [B,STEPS+1,O]."""
        return to_numpy(decoded(self.model, self.trajectory(rows)))


def _shapes(kit: _Kit) -> str:
    """Shapes are as declared"""
    latents = kit.model.encode(kit.percept, None)
    if len(latents.shape) != 2 or latents.shape[0] != ROWS:
        return f"encode must return latents [{ROWS},Z], got shape {tuple(latents.shape)}: one row per episode"
    after = kit.model.step(latents, kit.actions[:, 0])
    if after.shape != latents.shape:
        return f"step must keep the shape {tuple(latents.shape)} of its latents, got {tuple(after.shape)}"
    width = len(kit.environment.spec.observation)
    if tuple(kit.model.decode(latents).shape) != (ROWS, width):
        return f"decode must return observations [{ROWS},{width}], got {tuple(kit.model.decode(latents).shape)}"
    again = kit.model.encode(kit.percept, latents)
    return "" if again.shape == latents.shape else f"encode changed its latents to {tuple(again.shape)} at a later step"


def _honest(kit: _Kit) -> str:
    """The true state is read only if the spec says reads = 'state'"""
    kit.model.encode(kit.percept.visible_to(kit.model.spec.reads), None)  # raises if it needs what it may not see
    return ""


def _independent(kit: _Kit) -> Finding:
    """A row does not depend on its companions"""
    alone = np.concatenate([kit.imagined(np.array([row])) for row in range(ROWS)])
    return compared("", kit.imagined(np.arange(ROWS)), alone, "a row is imagined differently alone than in a batch")


def _rollout(kit: _Kit) -> Finding:
    """A rollout equals its steps on decoded observations"""
    latents = kit.model.encode(kit.percept, None)
    stepped = to_numpy(decoded(kit.model, step_by_step(kit.model.step, latents, kit.actions)))
    return compared(
        "", kit.imagined(np.arange(ROWS)), stepped, "rollout and repeated step disagree; use the same step in both"
    )


def _deterministic(kit: _Kit) -> str:
    """The same percept and actions are imagined alike"""
    rows = np.arange(ROWS)
    if np.array_equal(kit.imagined(rows), kit.imagined(rows)):
        return ""
    return "two imaginations differ; use the mode of what is stochastic, or put the noise into the latents"


def _pure(kit: _Kit) -> str:
    """Stepping changes neither the latents nor the actions it is given"""
    latents, actions = kit.model.encode(kit.percept, None), kit.actions[:, 0]
    before = to_numpy(latents).copy(), to_numpy(actions).copy()
    kit.model.step(latents, actions)
    if np.array_equal(before[0], to_numpy(latents)) and np.array_equal(before[1], to_numpy(actions)):
        return ""
    return "step wrote into its arguments; copy before changing"
