import pytest

from wmel import catalog
from wmel.catalog import CATALOGUE


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in CATALOGUE for name in CATALOGUE[kind].parts])
def test_every_entry_loads_and_says_what_it_is(kind, name):
    assert callable(CATALOGUE[kind].load(name))
    assert CATALOGUE[kind].parts[name].summary


@pytest.mark.parametrize("environment", catalog.ENVIRONMENTS.parts)
@pytest.mark.parametrize("policy", ["random", "greedy", "tabular-world-model", *catalog.PLANNERS.parts])
def test_every_policy_is_built_for_every_environment(environment, policy):
    assert catalog.policy(policy, catalog.environment(environment)).name == policy


@pytest.mark.parametrize("name", catalog.ENVIRONMENTS.parts)
def test_every_environment_knows_its_name(name):
    assert catalog.environment(name).spec.name == name
