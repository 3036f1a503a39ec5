import pytest

from tests.environments.selection import GRIDS, OTHERS, QUICK
from wmel import catalog
from wmel.catalog import CATALOGUE


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
