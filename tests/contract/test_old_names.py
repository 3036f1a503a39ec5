import importlib

import pytest

from wmel.contract import NEW_NAMES

NAMES = [(module, old, new) for module, names in NEW_NAMES.items() for old, new in names.items()]


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_an_old_name_is_the_new_object_with_a_warning(module, old, new):
    home = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
        assert getattr(home, old) is getattr(home, new)


def test_any_other_name_is_unknown():
    home = importlib.import_module("wmel.contract.world_model")
    with pytest.raises(AttributeError, match="HasNothing"):
        home.HasNothing  # noqa: B018
