import pytest

from wmel.errors import BadInput, describe_error, require


def test_require_names_the_value():
    with pytest.raises(BadInput, match="candidates must be positive, got -3"):
        require(False, "candidates must be positive", -3)


def test_an_error_is_described_on_one_line():
    assert describe_error(ValueError("first\n  second")) == "ValueError: first second"
    assert describe_error(KeyError()) == "KeyError"
