"""The promises of an object with the four methods."""

import copy
from typing import Any

import numpy as np

from wmel.contract.environment import Environment
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams
from wmel.testing.environment_kit import sample_states
from wmel.testing.findings import Finding, check_promises

STEPS = 6


def check_four_methods(model: Any, environment: Environment) -> list[Finding]:
    """Checks lengths, scores, determinism and purity of encode, rollout and score. `plan` is not checked."""
    return check_promises(_FourMethodsKit(model, environment), [_rollout, _score, _deterministic, _pure])


class _FourMethodsKit:
    """The object, with an observation, a goal and actions."""

    def __init__(self, model: Any, environment: Environment):
        self.model, states, space = model, sample_states(environment), environment.spec.actions
        self.observation, self.goal = environment.observe(states)[-1], environment.goals(states)[-1]
        uniforms = Streams(np.zeros(1, int), np.zeros(1, int)).uniforms("act", (STEPS, space.width))[0]
        self.actions = space.as_values(uniform_actions(space, uniforms))[0]

    def scores(self) -> list[float]:
        latent = self.model.encode(self.observation.copy())
        return [
            float(self.model.score(one, self.goal.copy())) for one in self.model.rollout(latent, self.actions.copy())
        ]


def _rollout(kit: _FourMethodsKit) -> str:
    """A rollout of H actions has H + 1 latents, the start first"""
    found = len(kit.model.rollout(kit.model.encode(kit.observation.copy()), kit.actions.copy()))
    return "" if found == STEPS + 1 else f"{STEPS} actions gave {found} latents; begin with the given latent"


def _score(kit: _FourMethodsKit) -> str:
    """A score is one finite number, lower is better"""
    return "" if np.isfinite(kit.scores()).all() else "a score was NaN or infinite; such a candidate is never chosen"


def _deterministic(kit: _FourMethodsKit) -> str:
    """The same observation and actions have the same scores"""
    return "" if kit.scores() == kit.scores() else "two calls differ; store no state and sample no random numbers"


def _pure(kit: _FourMethodsKit) -> str:
    """A rollout modifies neither the latent nor the actions"""
    latent, actions = kit.model.encode(kit.observation.copy()), kit.actions.copy()
    before = copy.deepcopy(latent)
    kit.model.rollout(latent, actions)
    if np.array_equal(actions, kit.actions) and np.array_equal(np.asarray(before), np.asarray(latent)):
        return ""
    return "rollout modified its arguments; copy them first"
