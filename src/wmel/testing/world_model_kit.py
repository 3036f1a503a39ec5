"""The promises of every world model, and of an object with the four methods."""

import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from wmel.arrays import Array, as_like, to_numpy
from wmel.contract.environment import Environment
from wmel.contract.policy import Percept
from wmel.contract.world_model import HasRollout, WorldModel
from wmel.models.imagine import decode_trajectory, model_input, rollout, rollout_by_steps
from wmel.parts import implements
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams
from wmel.testing.environment_kit import sample_states
from wmel.testing.findings import Finding, check_promises, compare, find_changed

STEPS = 6


def check_world_model(model: WorldModel, environment: Environment) -> list[Finding]:
    """Checks shapes, independence of rows, rollouts, determinism, purity, and undeclared use of the true state."""
    promises = [_shapes, _reads_state, _independent, _rollout, _deterministic, _pure, _lasting]
    return check_promises(_WorldModelKit(model, environment), promises)


class _WorldModelKit:
    """A model, with percepts that differ from row to row."""

    def __init__(self, model: WorldModel, environment: Environment):
        self.model, self.environment, space = model, environment, environment.spec.actions
        states = sample_states(environment)
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
        """Uniform actions [B,STEPS,A] as inputs of the model, in the array library of its latents."""
        space = self.environment.spec.actions
        actions = uniform_actions(space, Streams(self.rows, self.rows * 0).uniforms("act", (STEPS, space.width))[0])
        actions = as_like(actions, self.model.encode(self.percept, None))
        return model_input(self.model, space, actions, space.as_values(actions))

    def imagine(self, rows: np.ndarray) -> np.ndarray:
        """Decoded observations [B,STEPS+1,O] after encoding a percept twice."""
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


def _reads_state(kit: _WorldModelKit) -> Finding:
    """The true state is read only if the spec says reads = 'state'"""
    if kit.model.spec.reads == "state":
        return Finding("", note="the spec declares it")
    without_state = kit.model.encode(kit.percept.visible_to("observation"), None)  # raises if it requires the state
    problem = "the latents depend on the true state; declare reads = 'state', or do not use it"
    return compare("", to_numpy(kit.model.encode(kit.percept, None)), to_numpy(without_state), problem)


def _independent(kit: _WorldModelKit) -> Finding:
    """A row does not depend on the other rows of its batch"""
    alone = np.concatenate([kit.imagine(kit.rows[row : row + 1]) for row in kit.rows])
    return compare("", kit.imagine(kit.rows), alone, "a row is imagined differently alone than in a batch")


def _rollout(kit: _WorldModelKit) -> Finding:
    """A rollout equals its steps on decoded observations"""
    latents = kit.model.encode(kit.percept, None)
    stepped = to_numpy(decode_trajectory(kit.model, rollout_by_steps(kit.model.step, latents, kit.actions)))
    rolled = to_numpy(decode_trajectory(kit.model, rollout(kit.model, latents, kit.actions)))
    return compare("", rolled, stepped, "rollout and repeated step differ; use the same step in both")


def _deterministic(kit: _WorldModelKit) -> str:
    """The same percept and actions give the same imagined observations"""
    if np.array_equal(kit.imagine(kit.rows), kit.imagine(kit.rows)):
        return ""
    return "two rollouts differ; use the mode of random variables, or make the noise a part of the latents"


def _pure(kit: _WorldModelKit) -> str:
    """Arguments are not modified"""
    fields = ("observation", "goal", "state", "last_action")
    percept = replace(kit.percept, **{name: getattr(kit.percept, name).copy() for name in fields})
    latents, actions = kit.model.encode(percept, None), kit.actions[:, 0]
    before = to_numpy(latents).copy(), to_numpy(actions).copy()
    kit.model.decode(kit.model.step(latents, actions))
    kit.model.decode(latents)
    unchanged = [np.array_equal(getattr(percept, name), getattr(kit.percept, name)) for name in fields]
    if all(unchanged) and np.array_equal(before[0], to_numpy(latents)) and np.array_equal(before[1], to_numpy(actions)):
        return ""
    return "a method modified its arguments; copy them first"


def _lasting(kit: _WorldModelKit) -> str:
    """Results do not change at later calls"""
    model, own, actions = kit.model, kit.model, kit.actions
    latents = model.encode(kit.percept, None)
    after = model.step(latents, actions[:, 0])
    results = {"encode": latents, "step": after, "decode": model.decode(after)}
    rolled = {"rollout": own.rollout(latents, actions)} if implements(own, HasRollout) else {}

    def call_again() -> None:
        for begin in (after, model.encode(kit.percept.rows(kit.rows[::-1]), None)):
            model.decode(model.step(begin, actions[:, 1]))
            rollout(model, begin, actions)

    return find_changed({**results, **rolled}, call_again)


def check_four_methods(model: Any, environment: Environment) -> list[Finding]:
    """Checks lengths, scores, determinism and purity of encode, rollout and score. `plan` is not checked."""
    return check_promises(
        _FourMethodsKit(model, environment),
        [_four_rollout, _four_scores, _four_deterministic, _four_pure, _four_beginning],
    )


class _FourMethodsKit:
    """The object, with an observation, a goal and actions."""

    def __init__(self, model: Any, environment: Environment):
        self.model, states, space = model, sample_states(environment), environment.spec.actions
        self.observation, self.goal = environment.observe(states)[-1], environment.goals(states)[-1]
        uniforms = Streams(np.zeros(1, int), np.zeros(1, int)).uniforms("act", (STEPS, space.width))[0]
        self.actions = space.as_values(uniform_actions(space, uniforms))[0]

    def scores(self, steps: int = STEPS) -> list[float]:
        latent = self.model.encode(self.observation.copy())
        trajectory = self.model.rollout(latent, self.actions[:steps].copy())
        return [float(self.model.score(one, self.goal.copy())) for one in trajectory]


def _four_rollout(kit: _FourMethodsKit) -> str:
    """A rollout of H actions has H + 1 latents, the start first"""
    found = len(kit.model.rollout(kit.model.encode(kit.observation.copy()), kit.actions.copy()))
    return "" if found == STEPS + 1 else f"{STEPS} actions gave {found} latents; begin with the given latent"


def _four_scores(kit: _FourMethodsKit) -> str:
    """A score is one finite number, lower is better"""
    return "" if np.isfinite(kit.scores()).all() else "a score was NaN or infinite; such a candidate is never chosen"


def _four_deterministic(kit: _FourMethodsKit) -> str:
    """The same observation and actions have the same scores"""
    return "" if kit.scores() == kit.scores() else "two calls differ; store no state and sample no random numbers"


def _four_pure(kit: _FourMethodsKit) -> str:
    """A rollout modifies neither the latent nor the actions"""
    latent, actions = kit.model.encode(kit.observation.copy()), kit.actions.copy()
    before = copy.deepcopy(latent)
    kit.model.rollout(latent, actions)
    if np.array_equal(actions, kit.actions) and np.array_equal(np.asarray(before), np.asarray(latent)):
        return ""
    return "rollout modified its arguments; copy them first"


def _four_beginning(kit: _FourMethodsKit) -> str:
    """A rollout of fewer actions is the beginning of a longer one"""
    whole = kit.scores()
    if all(kit.scores(steps) == whole[: steps + 1] for steps in range(1, STEPS)):
        return ""
    return "the scores of its steps differ; return a new latent for every step"
