"""What an object with the four methods promises."""

import copy
from typing import Any

import numpy as np

from wmel.contract.environment import Environment
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams
from wmel.testing.environment_kit import walked_states
from wmel.testing.findings import Finding, findings

STEPS = 6


def check_four_methods(model: Any, environment: Environment) -> list[Finding]:
    """Lengths, scores, determinism and purity of encode, rollout and score; what `plan` does is its own affair."""
    return findings(_FourMethodsKit(model, environment), [_rollout, _score, _deterministic, _pure])


class _FourMethodsKit:
    """The object with something to imagine."""

    def __init__(self, model: Any, environment: Environment):
        self.model, states, space = model, walked_states(environment), environment.spec.actions
        self.observation, self.goal = environment.observe(states)[-1], environment.goals(states)[-1]
        drawn = Streams(np.zeros(1, int), np.zeros(1, int)).uniforms("act", (STEPS, space.width))[0]
        self.actions = space.as_values(uniform_actions(space, drawn))[0]

    def scores(self) -> list[float]:
        latent = self.model.encode(self.observation.copy())
        return [
            float(self.model.score(one, self.goal.copy())) for one in self.model.rollout(latent, self.actions.copy())
        ]


def _rollout(kit: _FourMethodsKit) -> str:
    """A rollout of H actions is H + 1 latents, the start first"""
    found = len(kit.model.rollout(kit.model.encode(kit.observation.copy()), kit.actions.copy()))
    return "" if found == STEPS + 1 else f"{STEPS} actions gave {found} latents; begin with the latent you were given"


def _score(kit: _FourMethodsKit) -> str:
    """A score is one finite number, lower is better"""
    return "" if np.isfinite(kit.scores()).all() else "a score was NaN or infinite; such a candidate can never win"


def _deterministic(kit: _FourMethodsKit) -> str:
    """The same observation and actions are scored alike"""
    return "" if kit.scores() == kit.scores() else "two calls differ; keep no state and draw no random numbers in them"


def _pure(kit: _FourMethodsKit) -> str:
    """A rollout changes neither the latent nor the actions it is given"""
    latent, actions = kit.model.encode(kit.observation.copy()), kit.actions.copy()
    before = copy.deepcopy(latent)
    kit.model.rollout(latent, actions)
    if np.array_equal(actions, kit.actions) and np.array_equal(np.asarray(before), np.asarray(latent)):
        return ""
    return "rollout wrote into its arguments; copy before changing"
