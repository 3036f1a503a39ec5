import pytest

from wmel.errors import BadInput, describe_error, require, suggest_name


def test_require_names_the_value():
    with pytest.raises(BadInput, match="candidates must be positive, got -3"):
        require(False, "candidates must be positive", -3)


def test_an_error_is_described_on_one_line():
    assert describe_error(ValueError("first\n  second")) == "ValueError: first second"
    assert describe_error(KeyError()) == "KeyError"


def test_of_many_known_names_some_are_listed():
    found = suggest_name("nme12", [f"name{number}" for number in range(1000)])
    assert "did you mean 'name12'" in found and "name0, name1," in found and "950 more" in found and len(found) < 600
