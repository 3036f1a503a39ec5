import pytest

from wmel.errors import BadInput, UnknownPart
from wmel.registry import Part, Registry

COLOURS = Registry(
    "colour", {"fraction": Part("fractions:Fraction", "a real class"), "red": Part("no.such:thing", "r")}
)


def test_listing_imports_nothing():
    assert list(COLOURS.parts) == ["fraction", "red"]


def test_an_unknown_name_gets_the_nearest_suggestion():
    with pytest.raises(
        UnknownPart, match="no colour named 'fractoin'; did you mean 'fraction'\\? known: fraction, red"
    ):
        COLOURS.load("fractoin")


def test_a_name_unlike_any_other_gets_no_suggestion():
    with pytest.raises(UnknownPart, match="no colour named 'zzz'; known"):
        COLOURS.load("zzz")


def test_an_unknown_setting_is_named():
    with pytest.raises(BadInput, match="colour 'fraction' has no setting 'shade'; it takes numerator, denominator"):
        COLOURS.build("fraction", shade=3)


def test_settings_fill_in_defaults():
    assert COLOURS.settings("fraction", numerator=3)["denominator"] is None


def test_the_parts_cannot_be_replaced():
    with pytest.raises(TypeError):
        COLOURS.parts["red"] = Part("a:b", "c")
