"""The attributes that are required of a part are those of its Protocol, and its kind is recognised by them."""

import typing
from importlib import import_module

import numpy as np
import pytest

import wmel
from wmel import catalog
from wmel.errors import BadInput
from wmel.kinds import METHODS, kind_of
from wmel.parts import Part
from wmel.testing.kits import check_part

OPTIONAL = {("objective", "costs")}  # contract.ModelReward has none
BY_CLASS = ("executor", "metric", "diagnostic")  # kinds without a Protocol in wmel.contract


@pytest.mark.parametrize("kind", [kind for kind in METHODS if kind not in BY_CLASS])
def test_every_attribute_of_a_protocol_is_required_of_a_part(kind):
    protocol = getattr(import_module(f"wmel.contract.{kind}"), kind.capitalize())
    declared = {*vars(protocol), *typing.get_type_hints(protocol)}
    public = {(kind, name) for name in declared if not name.startswith("_")}
    assert {(kind, name) for name in METHODS[kind]} == public - OPTIONAL


@pytest.mark.parametrize("kind", BY_CLASS)
def test_built_in_parts_of_the_other_kinds_have_what_is_required(kind):
    registry = catalog.REGISTRIES[kind]
    for name in registry.built_in:
        part = registry.load(name)
        assert [one for one in METHODS[kind] if not hasattr(part, one)] == []


class Drift:
    """Dynamics with a setting."""

    def __init__(self, drift: float = 0.0):
        self.drift = drift

    def __call__(self, state, action):
        return np.asarray(state) + self.drift


class Backwards:
    """An executor."""

    def __init__(self):
        self.workers = 1

    def __call__(self, work, jobs):
        for job in reversed(list(jobs)):
            yield job, work(job)


class Longest:
    """A metric."""

    def __call__(self, table, above: int = 5):
        return wmel.Estimate(1.0)


class Unsure:
    """No part."""

    def __call__(self, one):
        return one


def make_drift(drift: float = 0.0):
    return Drift(drift)


class NoWeights:
    def __init__(self):
        raise OSError("no weights")


@pytest.mark.parametrize(
    ("definition", "kind"), [(Drift, "model"), (Backwards, "executor"), (Longest, "metric"), (Unsure, None)]
)
def test_the_kind_of_a_callable_follows_from_its_parameters(definition, kind):
    assert kind_of(definition) == kind_of(definition()) == kind


@pytest.mark.parametrize("name", ["Drift", "make_drift"])
def test_a_callable_model_is_listed_and_checked_as_the_model_that_it_is(name, maze):
    entry = wmel.list_parts(f"{__name__}:{name}").entries[f"{__name__}:{name}"]
    assert (entry["kind"], list(entry["settings"])) == ("model", ["drift"])
    assert check_part(f"{__name__}:{name}", maze)[0] == "model"
    run = wmel.run("maze_toy", "cem", model=f"{__name__}:{name}", settings={"model.drift": 0.5}, episodes=1, quiet=True)
    assert run.exit_code == 0


@pytest.mark.parametrize("verb", [wmel.list_parts, wmel.check])
def test_a_class_that_cannot_be_built_is_refused_with_its_error_and_place(verb):
    with pytest.raises(BadInput, match=r"OSError: no weights .*test_kinds\.py"):
        verb(f"{__name__}:NoWeights")


class Still:
    """A policy without a name, settings and declared compute."""

    reads = "observation"

    def observe(self, percept, memory):
        return memory

    def act(self, percept, memory, streams):
        raise AssertionError("no episode begins")


def still(environment):
    return Still()


def test_a_policy_without_what_a_record_needs_is_refused_before_anything_runs(monkeypatch):
    offered = {"still": Part(f"{__name__}:still", "", "a plugin")}
    monkeypatch.setattr("wmel.parts._plugins", lambda group: offered if group == "wmel.policies" else {})
    for policy in ("still", f"{__name__}:still", Still()):
        with pytest.raises(BadInput, match=r"name.*compute_per_plan_call.*settings"):
            wmel.run("maze_toy", policy, episodes=1, quiet=True)
