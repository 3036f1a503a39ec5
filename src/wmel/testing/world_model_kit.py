"""What every world model promises."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from wmel.arrays import Array, as_like, to_numpy
from wmel.contract.environment import Environment
from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModel
from wmel.models.imagine import decode_trajectory, model_input, rollout, rollout_by_steps
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams
from wmel.testing.environment_kit import walked_states
from wmel.testing.findings import Finding, compared, findings

STEPS = 6


def check_world_model(model: WorldModel, environment: Environment) -> list[Finding]:
    """Shapes, independence of rows, rollouts, and no look at the true state that is not declared."""
    return findings(
        _WorldModelKit(model, environment), [_shapes, _honest, _independent, _rollout, _deterministic, _pure]
    )


class _WorldModelKit:
    """A model with something to imagine: states that differ from row to row."""

    def __init__(self, model: WorldModel, environment: Environment):
        self.model, self.environment, space = model, environment, environment.spec.actions
        states = walked_states(environment)
        self.rows = np.arange(len(states))
        self.percept = Percept(
            environment.observe(states),
            environment.goals(states),
            states,
            np.zeros((len(states), space.width), space.dtype),
            np.full(len(states), STEPS),
        )

    @cached_property
    def actions(self) -> Array:
        """Uniform actions [B,STEPS,A] as the model takes them, in the library of its latents."""
        space = self.environment.spec.actions
        drawn = uniform_actions(space, Streams(self.rows, self.rows * 0).uniforms("act", (STEPS, space.width))[0])
        drawn = as_like(drawn, self.model.encode(self.percept, None))
        return model_input(self.model, space, drawn, space.as_values(drawn))

    def imagined(self, rows: np.ndarray) -> np.ndarray:
        """Decoded observations [B,STEPS+1,O] from the second of two percepts on."""
        percept = self.percept.rows(rows)
        latents = self.model.encode(percept, self.model.encode(percept, None))
        return to_numpy(decode_trajectory(self.model, rollout(self.model, latents, self.actions[rows])))


def _shapes(kit: _WorldModelKit) -> str:
    """Shapes are as declared"""
    latents, count = kit.model.encode(kit.percept, None), len(kit.rows)
    if len(latents.shape) != 2 or latents.shape[0] != count:
        return f"encode must return latents [{count},Z], got shape {tuple(latents.shape)}: one row per episode"
    after = kit.model.step(latents, kit.actions[:, 0])
    if after.shape != latents.shape:
        return f"step must keep the shape {tuple(latents.shape)} of its latents, got {tuple(after.shape)}"
    width = len(kit.environment.spec.observation)
    if tuple(kit.model.decode(latents).shape) != (count, width):
        return f"decode must return observations [{count},{width}], got {tuple(kit.model.decode(latents).shape)}"
    again = kit.model.encode(kit.percept, latents)
    return "" if again.shape == latents.shape else f"encode changed its latents to {tuple(again.shape)} at a later step"


def _honest(kit: _WorldModelKit) -> Finding:
    """The true state is read only if the spec says reads = 'state'"""
    if kit.model.spec.reads == "state":
        return Finding("", note="it declares that it does")
    blind = kit.model.encode(kit.percept.visible_to("observation"), None)  # raises if it needs what it may not see
    problem = "the latents change with the true state; declare reads = 'state', or do without it"
    return compared("", to_numpy(kit.model.encode(kit.percept, None)), to_numpy(blind), problem)


def _independent(kit: _WorldModelKit) -> Finding:
    """A row does not depend on its companions"""
    alone = np.concatenate([kit.imagined(kit.rows[row : row + 1]) for row in kit.rows])
    return compared("", kit.imagined(kit.rows), alone, "a row is imagined differently alone than in a batch")


def _rollout(kit: _WorldModelKit) -> Finding:
    """A rollout equals its steps on decoded observations"""
    latents = kit.model.encode(kit.percept, None)
    stepped = to_numpy(decode_trajectory(kit.model, rollout_by_steps(kit.model.step, latents, kit.actions)))
    rolled = to_numpy(decode_trajectory(kit.model, rollout(kit.model, latents, kit.actions)))
    return compared("", rolled, stepped, "rollout and repeated step disagree; use the same step in both")


def _deterministic(kit: _WorldModelKit) -> str:
    """The same percept and actions are imagined alike"""
    if np.array_equal(kit.imagined(kit.rows), kit.imagined(kit.rows)):
        return ""
    return "two imaginations differ; use the mode of what is stochastic, or put the noise into the latents"


def _pure(kit: _WorldModelKit) -> str:
    """Nothing it is given is changed"""
    fields = ("observation", "goal", "state", "last_action")
    given = replace(kit.percept, **{name: getattr(kit.percept, name).copy() for name in fields})
    latents, actions = kit.model.encode(given, None), kit.actions[:, 0]
    before = to_numpy(latents).copy(), to_numpy(actions).copy()
    kit.model.decode(kit.model.step(latents, actions))
    kit.model.decode(latents)
    kept = [np.array_equal(getattr(given, name), getattr(kit.percept, name)) for name in fields]
    if all(kept) and np.array_equal(before[0], to_numpy(latents)) and np.array_equal(before[1], to_numpy(actions)):
        return ""
    return "a method wrote into its arguments; copy before changing"
