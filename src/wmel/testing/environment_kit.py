"""The promises of every environment."""

from typing import Any

import numpy as np

from wmel.contract.environment import Environment, HasStateRollout, Perturbable
from wmel.models.imagine import rollout_by_steps
from wmel.parts import implements
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams
from wmel.testing.findings import Finding, check_promises, compare, find_changed

ROWS, STEPS = 6, 8
LONGEST, LONG_ROWS = 1000, 2  # numbers must stay finite to the end of episodes, of so many steps and rows at most
SEEDS = np.arange(ROWS)


def check_environment(environment: Environment) -> list[Finding]:
    """Checks shapes, determinism, purity, start states, independence of rows, branching and the criterion."""
    promises = [
        _shapes,
        _finite,
        _deterministic,
        _pure,
        _lasting,
        _starts,
        _independent,
        _branching,
        _rollout,
        _perturbation,
        _criterion,
    ]
    return check_promises(environment, promises)


def sample_states(environment: Environment) -> np.ndarray:
    """States [ROWS,S], row k after k+1 random steps. They differ even if all start states are equal."""
    states = _run_episodes(environment)
    return states[SEEDS, SEEDS + 1]


def _random_values(environment: Environment, steps: int = STEPS) -> np.ndarray:
    """Uniformly sampled action values [ROWS,steps,A]."""
    space = environment.spec.actions
    actions = uniform_actions(space, Streams(SEEDS, SEEDS * 0).uniforms("act", (steps, space.width))[0])
    return space.as_values(actions)


def _run_episodes(environment: Environment) -> np.ndarray:
    """States [ROWS,STEPS+1,S] of episodes with random actions."""
    return rollout_by_steps(environment.step, environment.reset(SEEDS), _random_values(environment))


def _outputs(environment: Environment, states: np.ndarray, values: np.ndarray) -> np.ndarray:
    """All outputs for states [B,S] and values [B,A]: next states, observations, goals and quantities [B,...]."""
    after = environment.step(states, values)
    named = environment.quantities(states, values, after)
    columns = [after, environment.observe(states), environment.goals(states), *(named[name][:, None] for name in named)]
    return np.concatenate([np.asarray(column, float) for column in columns], axis=1)


def _shapes(environment: Any) -> str:
    """Shapes are as declared"""
    states, values = environment.reset(SEEDS), _random_values(environment)[:, 0]
    if np.ndim(states) != 2 or len(states) != ROWS:
        return f"reset must return states [{ROWS},S], got shape {np.shape(states)}: one row per seed"
    after = environment.step(states, values)
    if np.shape(after) != states.shape:
        return f"step must keep the shape {states.shape} of its states, got {np.shape(after)}"
    expected, found = (ROWS, len(environment.spec.observation)), np.shape(environment.observe(states))
    if found != expected:
        return f"observe must return {expected}, a column for each name in spec.observation, got {found}"
    if np.ndim(environment.goals(states)) != 2 or len(environment.goals(states)) != ROWS:
        return f"goals must return [{ROWS},G], got shape {np.shape(environment.goals(states))}"
    for name, numbers in environment.quantities(states, values, after).items():
        if np.shape(numbers) != (ROWS,):
            return f"quantity '{name}' must be [{ROWS}], got shape {np.shape(numbers)}: one number per row"
    return ""


def _finite(environment: Any) -> str:
    """States, observations and quantities stay finite under random actions, to the end of an episode"""
    after, steps = environment.reset(SEEDS), min(environment.spec.max_steps, LONGEST)
    values = _random_values(environment, steps)
    for step in range(steps):
        before = after if step < STEPS else after[:LONG_ROWS]
        actions = values[: len(before), step]
        after = environment.step(before, actions)
        quantities = environment.quantities(before, actions, after)
        parts = {"the state": after, "an observation": environment.observe(after)}
        parts |= {f"quantity '{name}'": numbers[:, None] for name, numbers in quantities.items()}
        for name, numbers in parts.items():
            for row in np.flatnonzero(~np.isfinite(numbers).all(axis=1)):
                value, where = numbers[row][~np.isfinite(numbers[row])][0], f"seed {SEEDS[row]} at step {step + 1}"
                return f"{name} is {value} for {where}; such a step ends its episode with an error"
    return ""


def _deterministic(environment: Any) -> str:
    """The same seeds and actions give the same states, observations and quantities"""
    states, values = sample_states(environment), _random_values(environment)[:, 0]
    same = np.array_equal(_run_episodes(environment), _run_episodes(environment), equal_nan=True)
    if same and np.array_equal(
        _outputs(environment, states, values), _outputs(environment, states, values), equal_nan=True
    ):
        return ""
    return "two runs differ; take randomness from the seed or the state, never from a global generator or a clock"


def _pure(environment: Any) -> str:
    """Arguments are not modified"""
    states, values = sample_states(environment), _random_values(environment)[:, 0]
    before = states.copy(), values.copy()
    _outputs(environment, states, values)
    if np.array_equal(before[0], states) and np.array_equal(before[1], values):
        return ""
    return "a method modified its arguments; copy them first"


def _lasting(environment: Any) -> str:
    """Results do not change at later calls"""
    states, values = environment.reset(SEEDS), _random_values(environment)
    after = environment.step(states, values[:, 0])
    named = environment.quantities(states, values[:, 0], after)
    results = {"reset": states, "step": after, "observe": environment.observe(after), "goals": environment.goals(after)}

    def call_again() -> None:
        other = environment.reset(SEEDS + ROWS)
        for begin in (after, other):
            end = environment.step(begin, values[:, 1])
            environment.observe(end)
            environment.goals(end)
            environment.quantities(begin, values[:, 1], end)

    return find_changed({**results, **{f"quantities ('{name}')": named[name] for name in named}}, call_again)


def _starts(environment: Any) -> str:
    """Start states vary with the seed, unless the spec says single_start"""
    states = environment.reset(np.arange(20))
    varies = bool((states != states[0]).any())
    if varies == (not environment.spec.single_start):
        return ""
    if varies:
        return "spec.single_start is set, but start states differ; set it to False"
    return "20 seeds give the same start state; use the seed, or set spec.single_start"


def _independent(environment: Any) -> Finding:
    """A row does not depend on the other rows of its batch"""
    states, values = sample_states(environment), _random_values(environment)[:, 0]
    alone = [_outputs(environment, states[row : row + 1], values[row : row + 1]) for row in SEEDS]
    problem = "a row gives other results alone than in a batch; find the values that the rows share"
    return compare("", _outputs(environment, states, values), np.concatenate(alone), problem)


def _branching(environment: Any) -> Finding:
    """A stored state can be stepped again"""
    if not environment.spec.branchable:
        return Finding("", note="not claimed: spec.branchable is False")
    states, values = _run_episodes(environment), _random_values(environment)
    again = environment.step(states[:, 2].copy(), values[:, 2])
    return compare(
        "", states[:, 3], again, "the step after a stored state differs; add the missing variables to the state"
    )


def _rollout(environment: Any) -> Finding:
    """A rollout equals its steps"""
    states, values, start = _run_episodes(environment), _random_values(environment), environment.reset(SEEDS)
    if not implements(environment, HasStateRollout):
        return Finding("", note="not claimed: no rollout")
    rolled = environment.rollout(start, values)
    if np.shape(rolled) != states.shape:
        return Finding("", f"rollout must return states {states.shape}, the start included, got {np.shape(rolled)}")
    stepped, imagined = (_measure(environment, trajectory, values) for trajectory in (states, rolled))
    return compare("", stepped, imagined, "rollout and step differ; use the same dynamics in both")


def _measure(environment: Any, trajectory: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Observations and quantities along trajectories [B,STEPS+1,S]: [B*STEPS, ...]"""
    before, after = (part.reshape(-1, trajectory.shape[-1]) for part in (trajectory[:, :-1], trajectory[:, 1:]))
    named = environment.quantities(before, values.reshape(len(after), -1), after)
    return np.concatenate([environment.observe(after), *(named[name][:, None] for name in named)], axis=1)


def _perturbation(environment: Any) -> Finding:
    """Its own perturbation is a function of the state and the streams of each row"""
    states, streams = sample_states(environment), Streams(SEEDS, SEEDS)
    if not implements(environment, Perturbable):
        return Finding("", note="not claimed: no perturb")
    alone = [environment.perturb(states[row : row + 1], streams.rows(SEEDS[row : row + 1])) for row in SEEDS]
    problem = "perturb differs alone, in a batch or in a second call; sample from the given streams"
    return compare("", environment.perturb(states, streams), np.concatenate(alone), problem)


def _criterion(environment: Any) -> str:
    """The default criterion uses an existing quantity"""
    criterion, states = environment.default_criterion, environment.reset(SEEDS)
    if criterion is None:
        return ""
    known = environment.quantities(states, _random_values(environment)[:, 0], states)
    if criterion.quantity in known:
        return ""
    return f"there is no quantity '{criterion.quantity}'; known: {', '.join(known)}"
