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


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("no_such_package.module:thing", "cannot import 'no_such_package.module:thing': ModuleNotFoundError"),
        ("fractions:Fractoin", "module 'fractions' has no 'Fractoin'"),
        ("fractions:", "module 'fractions' has no ''"),
    ],
)
def test_an_object_that_does_not_exist_is_named(target, words):
    with pytest.raises(BadInput, match=words):
        COLOURS.load(target)


def test_foreign_code_that_breaks_at_import_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("raise RuntimeError('half\\nwritten')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="cannot import 'broken_module:x': RuntimeError: half written"):
        COLOURS.load("broken_module:x")


def test_an_object_is_found_by_its_path():
    assert COLOURS.load("fractions:Fraction").__name__ == "Fraction"


def test_the_parts_cannot_be_replaced():
    with pytest.raises(TypeError):
        COLOURS.parts["red"] = Part("a:b", "c")
