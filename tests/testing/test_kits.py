"""Every kit accepts every part of the catalogue and rejects the part that was broken for it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.environments.selection import GRIDS, OTHERS, QUICK
from tests.testing import broken_parts
from tests.testing.wrapped import Wrapped
from wmel import catalog, testing
from wmel.analysis.scorecard import metric
from wmel.models.callable_model import CallableModel
from wmel.models.oracle import Oracle
from wmel.testing.kits import check_part

IDLE = {"hold-idle-2": "hold-idle-0", "action-delay-2": "action-delay-0", "action-delay-1@3": "action-delay-0@3"}
PERTURBATIONS = {
    "env-default": None,
    "drop-next-2": "drop-next-0",
    "hold-last-3": "hold-last-0",
    "observation-noise-0.5": "observation-noise-0",
    "observation-noise-2@4": "observation-noise-0@4",
    "composite:drop-next-1+env-default": None,
}


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_every_environment_of_the_catalogue_conforms(name):
    assert testing.failures(testing.check_environment(catalog.environment(name))) == []


@pytest.mark.parametrize("environment", QUICK)
def test_every_model_of_the_catalogue_conforms(environment):
    world = catalog.environment(environment)
    for model in (Oracle(world), CallableModel(lambda state, action: state + 1)):
        assert testing.failures(testing.check_world_model(model, world)) == []


@pytest.mark.parametrize("name", catalog.PLANNERS.parts)
@pytest.mark.parametrize("settings", [{}, {"plan_horizon": 3, "warm_start": True}])
def test_every_planner_of_the_catalogue_conforms(name, settings):
    assert testing.failures(testing.check_planner(catalog.PLANNERS.build(name, **settings))) == []


@pytest.mark.parametrize("name", PERTURBATIONS)
@pytest.mark.parametrize("environment", GRIDS)
def test_every_perturbation_of_the_catalogue_conforms(name, environment):
    zero = PERTURBATIONS[name]
    found = testing.check_perturbation(
        catalog.perturbation(name), catalog.environment(environment), catalog.perturbation(zero) if zero else None
    )
    assert testing.failures(found) == []


@pytest.mark.parametrize("name", IDLE)
def test_every_perturbation_that_needs_an_idle_action_conforms_where_there_is_one(name, maze):
    class Idling(Wrapped):
        @property
        def spec(self):
            return replace(self.world.spec, idle=np.array([0], np.int32))

    world = Idling(maze)
    found = testing.check_perturbation(catalog.perturbation(name), world, catalog.perturbation(IDLE[name]))
    assert testing.failures(found) == []


def test_every_perturbation_of_the_catalogue_is_among_these():
    tried = [*PERTURBATIONS, *IDLE]
    assert all(any(name.startswith(part) for name in tried) for part in catalog.PERTURBATIONS.built_in)


@pytest.mark.parametrize("name", catalog.METRICS.parts)
def test_every_metric_of_the_catalogue_conforms(name):
    assert testing.failures(testing.check_metric(metric(f"{name}20" if name.endswith("@") else name))) == []


def broken_promises(found):
    return {finding.promise for finding in found if not finding.kept}


def test_the_broken_environment_is_rejected():
    assert broken_promises(testing.check_environment(broken_parts.LeakyEnvironment())) == {
        "Start states vary with the seed, unless the spec says single_start",
        "A row does not depend on the other rows of its batch",
    }


def test_the_broken_model_is_rejected(maze):
    assert broken_promises(testing.check_world_model(broken_parts.PeekingModel(), maze)) == {
        "The true state is read only if the spec says reads = 'state'",
        "A rollout equals its steps on decoded observations",
    }


def test_the_broken_planner_is_rejected():
    assert broken_promises(testing.check_planner(broken_parts.OptimisticPlanner())) == {
        "A candidate of NaN or infinite cost is never chosen",
        "A row without a finite candidate has cost inf and does not change the others",
        "It evaluates as many candidates as it declares",
    }


def test_the_broken_perturbation_is_rejected(maze):
    assert broken_promises(testing.check_perturbation(broken_parts.RestlessPerturbation(), maze)) >= {
        "Every arm has the same perturbation: the effect is a function of the pending step and the streams",
        "The same seeds have the same perturbations",
        "The block size changes no row",
    }


def test_the_broken_metric_is_rejected():
    assert broken_promises(testing.check_metric(broken_parts.first_row_metric)) == {
        "The order of rows is irrelevant",
        "An empty table is undefined, with a reason",
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("maze_toy", "environment"),
        ("oracle", "model"),
        ("cem", "planner"),
        ("drop-next-2", "perturbation"),
        ("composite:env-default+drop-next-1", "perturbation"),
        ("success@20", "metric"),
        ("tests.testing.broken_parts:LeakyEnvironment", "environment"),
        ("tests.testing.broken_parts:PeekingModel", "model"),
        ("tests.testing.broken_parts:OptimisticPlanner", "planner"),
        ("tests.experiments.plain_planner:Plain", "planner"),
        ("tests.testing.broken_parts:RestlessPerturbation", "perturbation"),
        ("tests.testing.broken_parts:first_row_metric", "metric"),
    ],
)
def test_a_part_is_known_by_its_name_or_by_what_it_implements(name, kind, maze):
    assert check_part(name, maze)[0] == kind


def test_a_problem_says_how_to_put_it_right():
    for sentence in testing.failures(testing.check_planner(broken_parts.OptimisticPlanner())):
        assert ";" in sentence or ":" in sentence
        assert len(sentence.split()) > 8


def test_a_problem_names_the_line_that_raised_an_error():
    class Unfinished:
        plan_horizon, evaluations, warm_start = 3, 4, False

        def plan(self, problem, previous):
            raise KeyError("unfinished")

    line = Unfinished.plan.__code__.co_firstlineno + 1
    for sentence in testing.failures(testing.check_planner(Unfinished())):
        assert f"({__file__}, line {line}, in plan)" in sentence
