"""One part per promise that breaks it: a kit that no longer checks a promise fails here."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.policies.own_models import Batched, Four
from tests.testing.wrapped import Wrapped
from wmel import CEM, Criterion, Estimate, catalog, testing
from wmel.perturbations import NoEffect
from wmel.planners.random_shooting import RandomShooting
from wmel.stats.estimate import wilson

MAZE = catalog.environment("maze_toy")
RNG = np.random.default_rng(0)


def broken(base, **methods):
    """A subclass with some methods replaced."""
    return type("Broken", (base,), methods)


ENVIRONMENTS = [
    ("Shapes", {"goals": lambda self, s: np.zeros(len(s))}),
    ("Shapes", {"quantities": lambda self, s, a, n: {"distance": np.zeros((len(s), 1))}}),
    ("finite", {"observe": lambda self, s: self.world.observe(s) / (s - s)}),
    ("same seeds and actions", {"observe": lambda self, s: self.world.observe(s) + RNG.random()}),
    ("same seeds and actions", {"quantities": lambda self, s, a, n: {"distance": RNG.random(len(s))}}),
    (
        "not modified",
        {"quantities": lambda self, s, a, n: s.__setitem__(slice(None), 0) or {"distance": s[:, 0]}},
    ),
    ("other rows", {"observe": lambda self, s: self.world.observe(s) - self.world.observe(s).mean()}),
    ("other rows", {"goals": lambda self, s: np.full((len(s), 2), float(len(s)))}),
    ("rollout equals", {"rollout": lambda self, s, a: self.world.rollout(s, a[:, ::-1])}),
    ("rollout equals", {"rollout": lambda self, s, a: self.world.rollout(s, a)[:, 1:]}),
    ("own perturbation", {"perturb": lambda self, s, streams: s + RNG.integers(0, 3, s.shape)}),
    ("default criterion", {"default_criterion": Criterion("height", at_least=1)}),
]


@pytest.mark.parametrize(("promise", "methods"), ENVIRONMENTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_environments(promise, methods):
    assert_broken(promise, testing.check_environment(broken(Wrapped, **methods)(MAZE)))


class Ageing(Wrapped):
    """Counts its steps in the state; something is not finite at one step of every episode, late in it."""

    late = MAZE.spec.max_steps

    def __init__(self, broken: str):
        super().__init__(MAZE)
        self.broken = broken

    def reset(self, seeds):
        return np.column_stack([MAZE.reset(seeds), np.zeros(len(seeds))])

    def step(self, states, actions):
        after = np.column_stack([MAZE.step(np.nan_to_num(states[:, :-1]).astype(int), actions), states[:, -1] + 1])
        after[self.is_late(after) & (self.broken == "state"), 0] = np.nan
        return after

    def observe(self, states):
        return MAZE.observe(np.nan_to_num(states[:, :-1]).astype(int))

    def quantities(self, states, actions, next_states):
        age = next_states[:, -1]
        return {"distance": age, "reward": np.where(self.is_late(next_states) & (self.broken == "reward"), np.inf, age)}

    def is_late(self, states):
        return states[:, -1] == self.late


@pytest.mark.parametrize(("part", "words"), [("reward", ("quantity 'reward'", "inf")), ("state", ("the state", "nan"))])
def test_what_is_not_finite_at_the_last_step_of_an_episode_is_found_with_seed_and_step(part, words):
    (finite,) = [one for one in testing.check_environment(Ageing(part)) if "finite" in one.promise]
    found = [*words, "seed 0", f"at step {Ageing.late}"]
    assert not finite.kept and [word for word in found if word not in finite.problem] == []


def test_a_state_of_nan_is_not_taken_for_randomness():
    """NaN differs from itself, and the advice would be to remove randomness that is not there."""
    environment = broken(Ageing, late=2)("state")
    found = {one.promise: one.kept for one in testing.check_environment(environment)}
    assert [kept for promise, kept in found.items() if "finite" in promise] == [False]
    assert [kept for promise, kept in found.items() if "same seeds and actions" in promise] == [True]


def test_an_environment_that_cannot_be_stepped_again():
    class Clock(Wrapped):
        """Stands still at the ninth step it is asked for after a reset, wherever that begins."""

        calls = 0

        def reset(self, seeds):
            Clock.calls = 0
            return super().reset(seeds)

        def step(self, states, actions):
            Clock.calls += 1
            return self.world.step(states, actions) if Clock.calls % 9 else states

    assert_broken("stored state", testing.check_environment(Clock(MAZE)))


MODELS = [
    ("Shapes", {"decode": lambda self, z: z[:, :1]}),
    ("Shapes", {"encode": lambda self, p, z: p.observation if z is None else p.observation[:, :1]}),
    ("true state", {"encode": lambda self, p, z: p.observation + (0 if p.state is None else 0.1 * p.state[:, :1])}),
    ("true state", {"encode": lambda self, p, z: p.observation + 0 * p.state}),
    ("other rows", {"encode": lambda self, p, z: p.observation - p.observation.mean(axis=0)}),
    ("other rows", {"encode": lambda self, p, z: p.observation if z is None else p.observation + 0.1 * z.mean()}),
    ("rollout equals", {"rollout": lambda self, z, a: np.repeat(z[:, None], a.shape[1] + 1, axis=1)}),
    ("same imagined", {"step": lambda self, z, a: z + RNG.random(z.shape).astype(np.float32)}),
    ("not modified", {"encode": lambda self, p, z: np.multiply(p.observation, 2, out=p.observation) / 2}),
    ("not modified", {"step": lambda self, z, a: np.add(z, 0.25, out=z)}),
]


@pytest.mark.parametrize(("promise", "methods"), MODELS)
def test_models(promise, methods):
    assert_broken(promise, testing.check_world_model(broken(Batched, **methods)(), MAZE))


def replanned(change):
    """Random shooting whose plan is changed before it is returned."""
    return lambda self, problem, previous: change(RandomShooting.plan(self, problem, previous))


PLANNERS = [
    ("within the bounds", {"plan": replanned(lambda p: replace(p, actions=p.actions * 2))}),
    ("cheapest candidate", {"plan": replanned(lambda p: replace(p, costs=p.costs + 1))}),
    ("belong together", {"plan": replanned(lambda p: replace(p, lengths=p.lengths * 0 + 99))}),
    ("belong together", {"plan": replanned(lambda p: replace(p, actions=p.actions[::-1]))}),
    ("cost inf", {"plan": replanned(lambda p: replace(p, costs=np.nan_to_num(p.costs, posinf=0.0)))}),
    ("as it declares", {"evaluations": 7}),
    (
        "remainder",
        {"plan": lambda self, problem, previous: None if previous else CEM().plan(problem, None)},
    ),
]


@pytest.mark.parametrize(("promise", "methods"), PLANNERS)
def test_planners(promise, methods):
    assert_broken(promise, testing.check_planner(broken(RandomShooting, **methods)(horizon=5, candidates=40)))


def test_a_planner_that_ranks_nan_first():
    class Fooled(RandomShooting):
        def plan(self, problem, previous):
            def cost(candidates):
                outcome = problem.cost(candidates)
                return replace(outcome, costs=np.nan_to_num(outcome.costs, nan=-9e9, neginf=-9e9))

            return super().plan(replace(problem, cost=cost), previous)

    assert_broken("NaN or infinite", testing.check_planner(Fooled(horizon=5, candidates=40)))


def test_a_planner_that_draws_by_batch():
    class Global(RandomShooting):
        def plan(self, problem, previous):
            seeds = problem.streams.episode_seeds + len(problem.streams)
            return super().plan(replace(problem, streams=replace(problem.streams, episode_seeds=seeds)), previous)

    assert_broken("other rows", testing.check_planner(Global(horizon=5, candidates=40)))


@dataclass(frozen=True)
class Nudge(NoEffect):
    """Moves what is seen a little; the parts below break it."""

    strength: float = 1.0
    name: str = "nudge"
    window: int | None = None

    def sense(self, observations, since, streams):
        return observations + np.float32(self.strength)


PERTURBATIONS = [
    ("Every arm", {"sense": lambda self, o, since, streams: o + RNG.random()}),
    ("other rows", {"sense": lambda self, o, since, streams: o - o.mean()}),
    ("other rows", {"strike": lambda self, e, m, s: replace(m, lengths=m.lengths * (m.lengths == m.lengths.max()))}),
    ("Strength 0", {"sense": lambda self, o, since, streams: o + np.float32(1.5)}),
    ("Strength 0", {"strike": lambda self, e, m, s: replace(m, lengths=m.lengths - 1)}),
    ("Strength 0", {"deliver": lambda self, e, d: replace(d, actions=d.actions * 0 + 1)}),
]


@pytest.mark.parametrize(("promise", "methods"), PERTURBATIONS)
def test_perturbations(promise, methods):
    kind = broken(Nudge, **methods)
    assert_broken(promise, testing.check_perturbation(kind(), MAZE, kind(0.0)))


def test_a_perturbation_that_conforms_is_accepted():
    assert testing.failures(testing.check_perturbation(Nudge(), MAZE, Nudge(0.0))) == []


def unless_empty(metric):
    return lambda table: metric(table) if len(table) else Estimate.undefined("no episodes")


METRICS = [
    ("returns an Estimate", lambda table: 0.5),
    ("order of rows", unless_empty(lambda table: wilson(int(table["success"][:20].sum()), 40))),
    ("order of rows", unless_empty(lambda table: Estimate(1.0, 0.0, 2.0, n=int(table["steps"][0])))),
    ("empty table", lambda table: Estimate(0.0)),
    ("empty table", lambda table: Estimate(None) if not len(table) else Estimate(1.0)),
    ("inside its own interval", unless_empty(lambda table: Estimate(5.0, 0.0, 1.0))),
]


@pytest.mark.parametrize(("promise", "metric"), METRICS)
def test_metrics(promise, metric):
    assert_broken(promise, testing.check_metric(metric))


OBJECTS = [
    ("H + 1 latents", {"rollout": lambda self, z, a: [z]}),
    ("finite number", {"score": lambda self, z, goal: float("nan")}),
    ("same scores", {"score": lambda self, z, goal: RNG.random()}),
    ("modifies neither", {"rollout": lambda self, z, a: [z] * (len(a) + 1 + 0 * len(np.add(a, 1, out=a)))}),
]


@pytest.mark.parametrize(("promise", "methods"), OBJECTS)
def test_objects_with_the_four_methods(promise, methods):
    assert testing.failures(testing.check_four_methods(Four(), MAZE)) == []
    assert_broken(promise, testing.check_four_methods(broken(Four, **methods)(), MAZE))


def assert_broken(promise, found):
    """The promise is among those that are broken, and its sentence says what to do."""
    kept = [finding.promise for finding in found if finding.kept]
    problems = [finding for finding in found if promise in finding.promise and not finding.kept]
    assert problems, f"{promise!r} was not found broken; kept: {kept}"
    assert all(len(finding.problem.split()) >= 5 for finding in problems)
