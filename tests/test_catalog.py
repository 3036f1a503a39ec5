import pytest

from tests.environments.selection import GRIDS, OTHERS, QUICK
from wmel import catalog
from wmel.catalog import CATALOGUE
from wmel.parts import Part


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in CATALOGUE for name in CATALOGUE[kind].parts])
def test_every_entry_loads_and_says_what_it_is(kind, name):
    assert callable(CATALOGUE[kind].load(name))
    assert CATALOGUE[kind].parts[name].summary


@pytest.mark.parametrize("environment", GRIDS)
@pytest.mark.parametrize("policy", ["random", "greedy", "tabular-world-model", *catalog.PLANNERS.parts])
def test_every_policy_is_built_for_every_environment(environment, policy):
    assert catalog.policy(policy, catalog.environment(environment)).name == policy


@pytest.mark.parametrize("environment", QUICK)
@pytest.mark.parametrize("policy", ["random", "tabular-world-model", *catalog.PLANNERS.parts])
def test_every_policy_that_needs_no_moves_is_built_for_every_kind_of_environment(environment, policy):
    assert catalog.policy(policy, catalog.environment(environment)).name == policy


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_every_environment_knows_its_name(name):
    assert catalog.environment(name).spec.name == name


@pytest.mark.parametrize(
    ("group", "name", "kept"),
    [
        ("wmel.policies", "cem", "planners"),
        ("wmel.planners", "random", "policies"),
        ("wmel.policies", "march", None),
        ("wmel.planners", "march", None),
    ],
)
def test_planners_and_policies_share_one_namespace_in_which_built_in_parts_win(monkeypatch, group, name, kept):
    offered = Part("tests.experiments.swept_parts:March", "", "a plugin")
    monkeypatch.setattr("wmel.parts._entry_points", lambda wanted: [(name, offered)] if wanted == group else [])
    monkeypatch.setattr("wmel.parts._plugins", lambda wanted: {name: offered} if wanted == group else {})
    registries = [CATALOGUE[one] for one in ("planners", "policies")]
    (own,) = [one for one in registries if one.group == group]
    assert [one.kind for one in registries if one.has(name)] == [own.kind if kept is None else CATALOGUE[kept].kind]
    assert own.refused == ([] if kept is None else [offered])
    assert catalog.is_planner(name) == catalog.PLANNERS.has(name)


def test_a_name_that_plugins_offer_as_a_planner_and_as_a_policy_is_the_planners(monkeypatch):
    offered = Part("tests.experiments.swept_parts:March", "", "a plugin")
    monkeypatch.setattr("wmel.parts._entry_points", lambda group: [("march", offered)])
    monkeypatch.setattr("wmel.parts._plugins", lambda group: {"march": offered})
    assert catalog.PLANNERS.refused == [] and catalog.POLICIES.refused == [offered]
    assert catalog.is_planner("march") and not catalog.POLICIES.has("march")
