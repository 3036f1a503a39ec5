import pytest

from wmel.errors import BadInput, described, require


def test_require_names_the_value():
    with pytest.raises(BadInput, match="candidates must be positive, got -3"):
        require(False, "candidates must be positive", -3)


def test_an_error_is_described_on_one_line():
    assert described(ValueError("first\n  second")) == "ValueError: first second"
    assert described(KeyError()) == "KeyError"
