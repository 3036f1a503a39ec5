"""What every environment promises."""

from typing import Any

import numpy as np

from wmel.contract.environment import Environment, HasStateRollout, Perturbable
from wmel.kinds import implements
from wmel.models.imagine import rollout_by_steps
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams
from wmel.testing.findings import Finding, compared, findings

ROWS, STEPS = 6, 8
SEEDS = np.arange(ROWS)


def check_environment(environment: Environment) -> list[Finding]:
    """Shapes, determinism, purity, starts, independence of rows, branching, and the criterion."""
    promises = [
        _shapes,
        _finite,
        _deterministic,
        _pure,
        _starts,
        _independent,
        _branching,
        _sequences,
        _pushes,
        _criterion,
    ]
    return findings(environment, promises)


def walked_states(environment: Environment) -> np.ndarray:
    """States [ROWS,S] that differ even where every episode starts alike: row k after k+1 steps of random play."""
    states = _states(environment)
    return states[SEEDS, SEEDS + 1]


def _values(environment: Environment) -> np.ndarray:
    """Action values [ROWS,STEPS,A] drawn uniformly."""
    space = environment.spec.actions
    drawn = uniform_actions(space, Streams(SEEDS, SEEDS * 0).uniforms("act", (STEPS, space.width))[0])
    return space.as_values(drawn)


def _states(environment: Environment, rows: np.ndarray = SEEDS) -> np.ndarray:
    """States [B,STEPS+1,S] of some episodes, one call per step for all of them."""
    return rollout_by_steps(environment.step, environment.reset(rows), _values(environment)[rows])


def _seen(environment: Environment, states: np.ndarray, values: np.ndarray) -> np.ndarray:
    """All that an environment says of some rows [B,...]: next states, observations, goals and quantities."""
    after = environment.step(states, values)
    named = environment.quantities(states, values, after)
    columns = [after, environment.observe(states), environment.goals(states), *(named[name][:, None] for name in named)]
    return np.concatenate([np.asarray(column, float) for column in columns], axis=1)


def _shapes(environment: Any) -> str:
    """Shapes are as declared"""
    states, values = environment.reset(SEEDS), _values(environment)[:, 0]
    if np.ndim(states) != 2 or len(states) != ROWS:
        return f"reset must return states [{ROWS},S], got shape {np.shape(states)}: one row per seed"
    after = environment.step(states, values)
    if np.shape(after) != states.shape:
        return f"step must keep the shape {states.shape} of its states, got {np.shape(after)}"
    wanted, found = (ROWS, len(environment.spec.observation)), np.shape(environment.observe(states))
    if found != wanted:
        return f"observe must return {wanted}, a column for each name in spec.observation, got {found}"
    if np.ndim(environment.goals(states)) != 2 or len(environment.goals(states)) != ROWS:
        return f"goals must return [{ROWS},G], got shape {np.shape(environment.goals(states))}"
    for name, numbers in environment.quantities(states, values, after).items():
        if np.shape(numbers) != (ROWS,):
            return f"quantity '{name}' must be [{ROWS}], got shape {np.shape(numbers)}: one number per row"
    return ""


def _finite(environment: Any) -> str:
    """States and observations stay finite under random play"""
    states = _states(environment)
    seen = environment.observe(states.reshape(-1, states.shape[-1]))
    if np.isfinite(seen).all():
        return ""
    return "an observation became NaN or infinite; clip or end what diverges"


def _deterministic(environment: Any) -> str:
    """The same seeds and actions give the same states, observations and quantities"""
    states, values = walked_states(environment), _values(environment)[:, 0]
    same = np.array_equal(_states(environment), _states(environment))
    if same and np.array_equal(_seen(environment, states, values), _seen(environment, states, values), equal_nan=True):
        return ""
    return "two runs differ; take randomness from the seed or the state, never from a global generator or a clock"


def _pure(environment: Any) -> str:
    """Nothing it is given is changed"""
    states, values = walked_states(environment), _values(environment)[:, 0]
    before = states.copy(), values.copy()
    _seen(environment, states, values)
    if np.array_equal(before[0], states) and np.array_equal(before[1], values):
        return ""
    return "a method wrote into its arguments; copy before changing"


def _starts(environment: Any) -> str:
    """Start states vary with the seed, unless the spec says single_start"""
    states = environment.reset(np.arange(20))
    varies = bool((states != states[0]).any())
    if varies == (not environment.spec.single_start):
        return ""
    if varies:
        return "spec.single_start is set, yet starts differ; clear it"
    return "20 seeds start alike; use the seed, or set spec.single_start"


def _independent(environment: Any) -> Finding:
    """A row does not depend on its companions"""
    states, values = walked_states(environment), _values(environment)[:, 0]
    alone = [_seen(environment, states[row : row + 1], values[row : row + 1]) for row in SEEDS]
    problem = "a row is stepped, observed or measured differently alone than in a batch; find what they share"
    return compared("", _seen(environment, states, values), np.concatenate(alone), problem)


def _branching(environment: Any) -> Finding:
    """A stored state can be stepped again"""
    if not environment.spec.branchable:
        return Finding("", note="not claimed: spec.branchable is False")
    states, values = _states(environment), _values(environment)
    again = environment.step(states[:, 2].copy(), values[:, 2])
    return compared(
        "", states[:, 3], again, "the step after a stored state differs; put what is missing into the state"
    )


def _sequences(environment: Any) -> Finding:
    """Whole sequences show what their steps show"""
    states, values, start = _states(environment), _values(environment), environment.reset(SEEDS)
    if not implements(environment, HasStateRollout):
        return Finding("", note="not claimed: no rollout")
    rolled = environment.rollout(start, values)
    if np.shape(rolled) != states.shape:
        return Finding(f"rollout must return states {states.shape}, the start included, got {np.shape(rolled)}")
    stepped, imagined = (_shown(environment, trajectory, values) for trajectory in (states, rolled))
    return compared("", stepped, imagined, "rollout and step disagree; they must be one physics")


def _shown(environment: Any, trajectory: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Observations and quantities along trajectories [B,STEPS+1,S]: [B*STEPS, ...]"""
    before, after = (part.reshape(-1, trajectory.shape[-1]) for part in (trajectory[:, :-1], trajectory[:, 1:]))
    named = environment.quantities(before, values.reshape(len(after), -1), after)
    return np.concatenate([environment.observe(after), *(named[name][:, None] for name in named)], axis=1)


def _pushes(environment: Any) -> Finding:
    """Its own perturbation is a function of state and streams, row by row"""
    states, streams = walked_states(environment), Streams(SEEDS, SEEDS)
    if not implements(environment, Perturbable):
        return Finding("", note="not claimed: no perturb")
    alone = [environment.perturb(states[row : row + 1], streams.rows(SEEDS[row : row + 1])) for row in SEEDS]
    problem = "perturb differs alone, in a batch or a second time; draw from the streams it is handed"
    return compared("", environment.perturb(states, streams), np.concatenate(alone), problem)


def _criterion(environment: Any) -> str:
    """The default criterion judges a quantity that exists"""
    criterion, states = environment.default_criterion, environment.reset(SEEDS)
    if criterion is None:
        return ""
    known = environment.quantities(states, _values(environment)[:, 0], states)
    if criterion.quantity in known:
        return ""
    return f"there is no quantity '{criterion.quantity}'; known: {', '.join(known)}"
