import functools
import re
import sys
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from tests.conftest import says
from wmel import catalog
from wmel.errors import BadInput, MissingExtra, UnknownPart
from wmel.parts import (
    Meaning,
    Part,
    PartSpec,
    Registry,
    accept_old_names,
    check_settings,
    import_object,
    refuse_unknown_settings,
    setting,
    settings_of,
)

COLOURS = Registry(
    "colour", {"fraction": Part("fractions:Fraction", "a real class"), "red": Part("no.such:thing", "r")}
)


def test_listing_imports_nothing():
    assert list(COLOURS.parts) == ["fraction", "red"]


def test_an_unknown_name_gets_the_nearest_suggestion():
    with pytest.raises(UnknownPart, match=r"'fractoin'; did you.*'fraction'\?"):
        COLOURS.load("fractoin")


def test_a_name_unlike_any_other_gets_no_suggestion():
    with pytest.raises(UnknownPart, match="no colour named 'zzz'; known"):
        COLOURS.load("zzz")


def test_an_unknown_setting_is_named():
    with pytest.raises(BadInput, match=r"'fraction' has no.*'shade';"):
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
    with pytest.raises(BadInput, match="'broken_module:x': RuntimeError: half written"):
        COLOURS.load("broken_module:x")


@pytest.mark.parametrize(("package", "extra"), [("torch", "learned"), ("dm_control", "control"), ("plotly", "report")])
def test_a_missing_package_of_an_extra_names_the_extra(tmp_path, monkeypatch, package, extra):
    (tmp_path / f"needs_{package}.py").write_text(f"import {package}.anything")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"needs {package}.* 'wmel\[{extra}\]'"):
        COLOURS.load(f"needs_{package}:x")


def test_an_object_is_found_by_its_path():
    assert COLOURS.load("fractions:Fraction").__name__ == "Fraction"


def test_the_parts_cannot_be_replaced():
    with pytest.raises(TypeError):
        COLOURS.parts["red"] = Part("a:b", "c")


@dataclass(frozen=True)
class Paint:
    """A dataclass of settings."""

    shades: int = setting(3, "how many shades", at_least=1, at_most=9)
    gloss: float = setting(0.5, "how much it shines", above=0, below=1)
    finish: Literal["matt", "silk"] = setting("matt", "what it looks like when dry")
    coats: tuple[int, ...] = setting((1, 2), "thickness of each coat", at_least=1)
    primer: str | None = setting(None, "what is below; none: nothing")
    dries: bool | None = setting(None, "whether it dries; none: it depends")
    thinned: Annotated[float, Meaning("share of water", at_least=0)] = 0.0

    def __post_init__(self):
        check_settings(self)


def mixed(environment, colour: Annotated[str, Meaning("its name")] = "red", *, parts: int, model=None) -> Any:
    """A function that makes a part for an environment."""
    return environment, colour, parts, model


class Crayon:
    """A class that is no dataclass."""

    def __init__(self, length: int, hardness: Annotated[float, Meaning("of its lead", at_least=0)] = 2.0, tip=None):
        self.length, self.hardness, self.tip = length, hardness, tip


HERE = __name__
PAINTS = Registry(
    "paint",
    {
        "paint": Part(f"{HERE}:Paint", "a dataclass"),
        "mixed": Part(f"{HERE}:mixed", "a function"),
        "crayon": Part(f"{HERE}:Crayon", "a class"),
        "blue": Part(f"{HERE}:mixed", "a function that is told which", subjects=("sky", "blue")),
    },
)


def test_the_settings_of_a_dataclass_are_its_fields_with_what_they_mean():
    known = settings_of(Paint)
    assert list(known) == ["shades", "gloss", "finish", "coats", "primer", "dries", "thinned"]
    assert (known["shades"].kind, known["shades"].default, known["shades"].meaning.text) == (int, 3, "how many shades")
    assert (known["shades"].meaning.at_least, known["shades"].meaning.at_most) == (1, 9)
    assert known["thinned"].kind is float and known["thinned"].meaning == Meaning("share of water", at_least=0)
    assert not any(one.is_required for one in known.values())


def test_the_settings_of_a_function_are_what_has_a_default_or_is_a_keyword():
    """What the part is built for is no setting: environment and model."""
    known = settings_of(mixed)
    assert list(known) == ["colour", "parts"]
    assert known["colour"].meaning.text == "its name" and known["parts"].is_required


def test_the_settings_of_a_class_are_its_parameters():
    known = settings_of(Crayon)
    assert list(known) == ["length", "hardness", "tip"]
    assert known["length"].is_required and known["hardness"].meaning.text == "of its lead"
    assert known["tip"].kind is None and known["tip"].default is None


def test_what_a_maker_was_told_already_is_no_setting():
    assert list(settings_of(functools.partial(Crayon, 9))) == ["hardness", "tip"]
    assert PAINTS.build("blue", parts=2) == ("sky", "blue", 2, None)


def test_a_class_without_parameters_has_no_settings():
    assert settings_of(object) == {} and settings_of(type("Nothing", (), {})) == {}


@pytest.mark.parametrize(
    ("refused_value", "words"),
    [
        ({"shadse": 4}, "'paint' has ... 'shadse'; ... 'shades'?"),
        ({"zzz": 4}, "'paint' has no ... 'zzz';"),
        ({"shades": 4.0}, "'paint': ... 1 ... 9, got 4.0"),
        ({"shades": True}, "shades must ... 1 ... 9,"),
        ({"shades": 0}, "shades ... 1 ... 9, ... 0"),
        ({"shades": 10}, "got 10"),
        ({"gloss": 0}, "gloss ... 0 ... 1, ... 0"),
        ({"gloss": float("nan")}, "got nan"),
        ({"gloss": "much"}, "got 'much'"),
        ({"finish": "oily"}, "finish ... 'matt' ... 'silk', ... 'oily'"),
        ({"coats": 3}, "coats must ... 1, ... 3"),
        ({"coats": [1, 0]}, "coats ... 1, ... [1, 0]"),
        ({"coats": [1, "x"]}, "got [1, 'x']"),
        ({"primer": 3}, "primer must be ... 3"),
        ({"dries": 1}, "dries must be ... 1"),
        ({"shades": None}, "got None"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_name_and_value(refused_value, words):
    with pytest.raises(BadInput) as refused:
        PAINTS.spec("paint", refused_value)
    assert says(str(refused.value), words)


def test_a_part_made_directly_refuses_what_the_catalogue_refuses():
    with pytest.raises(BadInput, match=r"shades must be.*0"):
        Paint(shades=0)
    with pytest.raises(BadInput, match=r"shades must be.*0"):
        replace(Paint(), shades=0)


def test_values_are_stored_as_the_part_takes_them():
    made = Paint(shades=np.int64(4), gloss=np.float32(0.5), coats=[3, 4], thinned=1)
    assert made == Paint(4, 0.5, coats=(3, 4), thinned=1.0)
    assert [type(one) for one in (made.shades, made.gloss, made.coats, made.thinned)] == [int, float, tuple, float]


def test_a_setting_without_a_default_must_be_given():
    with pytest.raises(BadInput, match=r"'crayon' requires the.*'length'"):
        PAINTS.build("crayon", hardness=1.0)
    with pytest.raises(BadInput, match=r"'mixed' requires the.*'parts'"):
        PAINTS.build("mixed", "somewhere")
    assert PAINTS.build("mixed", "somewhere", parts=2) == ("somewhere", "red", 2, None)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("shades", "4", 4),
        ("shades", " 4 ", 4),
        ("gloss", "0.25", 0.25),
        ("gloss", "1e-3", 0.001),
        ("thinned", "2", 2.0),
        ("finish", "silk", "silk"),
        ("coats", "3,4, 5", (3, 4, 5)),
        ("coats", "3", (3,)),
        ("primer", "chalk", "chalk"),
        ("primer", "none", None),
        ("primer", "None", None),
        ("primer", "4", "4"),
        ("dries", "true", True),
        ("dries", "No", False),
        ("dries", "1", True),
        ("dries", "none", None),
    ],
)
def test_what_is_typed_is_read_by_type(name, text, value):
    read = PAINTS.parse("paint", {name: text})[name]
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(
    ("name", "text"),
    [("shades", "4.0"), ("shades", "x"), ("shades", "none"), ("shades", "10"), ("gloss", "much"), ("finish", "Matt"),
     ("coats", "3;4"), ("coats", "3,none"), ("coats", "0"), ("dries", "perhaps")],
)  # fmt: skip
def test_what_is_typed_and_cannot_be_is_refused_with_its_name(name, text):
    with pytest.raises(BadInput, match=f"'paint': {name} must be .* got"):
        PAINTS.parse("paint", {name: text})


@pytest.mark.parametrize(
    ("text", "value"), [("4", 4), ("0.5", 0.5), ("true", True), ("none", None), ("round", "round")]
)
def test_what_is_typed_for_a_setting_without_a_type_is_guessed(text, value):
    assert PAINTS.parse("crayon", {"tip": text}) == {"tip": value}


def test_a_typed_setting_that_there_is_not_is_left_for_the_part_to_refuse():
    assert PAINTS.parse("paint", {"zzz": "4"}) == {"zzz": "4"}


def test_the_key_of_a_part_leaves_out_defaults_and_what_is_resolved_has_all():
    spec = PAINTS.spec("paint", {"shades": 3, "gloss": 0.25, "coats": [1, 2]})
    assert spec.key_data == {"name": "paint", "gloss": 0.25}
    assert spec.data == {"name": "paint", "shades": 3, "gloss": 0.25, "coats": [1, 2]}
    assert spec.resolved == {
        "name": "paint", "shades": 3, "gloss": 0.25, "finish": "matt", "coats": [1, 2], "primer": None, "dries": None,
        "thinned": 0.0,
    }  # fmt: skip
    assert spec.build() == Paint(gloss=0.25)


def test_a_default_that_is_said_makes_no_other_part():
    explicit, implicit = PAINTS.spec("paint", {"shades": 3, "thinned": 0}), PAINTS.spec("paint")
    assert explicit.key_data == implicit.key_data == {"name": "paint"} and explicit.resolved == implicit.resolved


def test_a_part_that_exists_is_described_as_it_would_be_resolved():
    assert PAINTS.describe(Paint(gloss=0.25)) == PAINTS.spec("paint", {"gloss": 0.25}).resolved
    assert PAINTS.describe(Crayon(7)) == {"name": "crayon", "length": 7, "hardness": 2.0, "tip": None}


def test_a_part_that_is_not_of_the_catalogue_is_described_by_the_name_of_its_class():
    class Chalk(Crayon):
        pass

    assert PAINTS.describe(Chalk(7))["name"] == "Chalk"
    assert PAINTS.name_of(Chalk(7)) is None and PAINTS.name_of(Crayon) == PAINTS.name_of(Crayon(7)) == "crayon"


def test_a_part_with_settings_comes_from_where_it_came_from():
    assert PAINTS.spec("paint").origin == "wmel"
    by_path = PAINTS.spec(f"{HERE}:Paint", {"shades": 4})
    assert by_path.origin == "yours" and by_path.build() == Paint(4)


def test_an_object_that_is_no_maker_is_itself():
    here = PartSpec("paint", "here", {}, 5)
    assert here.build() == 5 and here.resolved == here.key_data == {"name": "here"}


def test_an_old_name_is_accepted_with_a_warning_and_can_be_read():
    @accept_old_names(colours="shades")
    @dataclass(frozen=True)
    class Old:
        shades: int = setting(3, "how many shades", at_least=1)

        def __post_init__(self):
            check_settings(self)

    with pytest.warns(DeprecationWarning, match="Old: 'colours' is now 'shades'"):
        made = Old(colours=5)
    assert made == Old(shades=5) == Old(5) and made.colours == 5
    assert list(settings_of(Old)) == ["shades"]
    with pytest.warns(DeprecationWarning), pytest.raises(BadInput, match=r"shades must be .* got 0"):
        Old(colours=0)


@pytest.mark.parametrize("kind", ["planners", "trainers", "perturbations", "diagnostics", "environments", "executors"])
def test_every_default_of_the_catalogue_is_a_value_that_its_setting_takes(kind):
    registry = catalog.CATALOGUE[kind]
    for name in registry.built_in:
        for one in registry.settings_of(name).values():
            if not one.is_required:
                assert one.check(one.default) == one.default, (name, one.name)


@pytest.mark.parametrize("kind", ["planners", "trainers", "diagnostics"])
def test_every_setting_of_the_catalogue_says_what_it_means(kind):
    registry = catalog.CATALOGUE[kind]
    for name in registry.built_in:
        for one in registry.settings_of(name).values():
            assert one.meaning.text and one.kind is not None, (name, one.name)


@pytest.mark.parametrize("name", ["shades", "coats", "primer", "dries", "finish"])
def test_nothing_is_no_value_of_any_setting(name):
    with pytest.raises(BadInput, match=name):
        PAINTS.parse("paint", {name: " "})


def test_none_is_written_as_text_where_none_is_a_value_and_text_is_not():
    assert PAINTS.spec("paint", {"dries": "none"}).settings == {"dries": None}
    assert PAINTS.spec("paint", {"primer": "none"}).settings == {"primer": "none"}
    with pytest.raises(BadInput, match="got 'none'"):
        PAINTS.spec("paint", {"shades": "none"})


class Chalk:
    def __init__(self, sticks=3, dust=0.5, loud=False, brand="any"):
        if sticks == 0:
            raise ZeroDivisionError("no sticks")
        self.sticks = sticks


@pytest.mark.parametrize(
    ("name", "value"), [("sticks", 2.5), ("sticks", "three"), ("dust", "x"), ("loud", 1), ("brand", 3)]
)
def test_a_default_without_annotation_implies_its_type(name, value):
    with pytest.raises(BadInput) as refused:
        PAINTS.spec(f"{HERE}:Chalk", {name: value})
    assert name in str(refused.value) and repr(value) in str(refused.value)
    assert PAINTS.spec(f"{HERE}:Chalk", {"dust": 1}).settings == {"dust": 1.0}


def test_a_constructor_that_raises_is_one_sentence_with_the_part_its_settings_and_the_place():
    with pytest.raises(BadInput) as refused:
        PAINTS.build(f"{HERE}:Chalk", sticks=0)
    for words in (f"{HERE}:Chalk", "sticks = 0", "ZeroDivisionError: no sticks", __file__, "in __init__"):
        assert words in str(refused.value)


def test_a_function_that_cannot_be_called_so_is_named_with_the_place_of_its_definition():
    with pytest.raises(BadInput) as refused:
        PAINTS.build(f"{HERE}:needy")
    assert "TypeError" in str(refused.value) and __file__ in str(refused.value)


def needy(first, second):
    return first, second


class Unhashable:
    __hash__ = None

    def __call__(self, size=3):
        return size


unhashable = Unhashable()


def test_a_maker_that_cannot_be_hashed_has_settings_too():
    assert list(settings_of(unhashable)) == ["size"] and PAINTS.build(f"{HERE}:unhashable", size=4) == 4


@refuse_unknown_settings
@dataclass(frozen=True)
class Ink:
    shades: int = 3


@pytest.mark.parametrize(
    ("values", "settings", "offending"),
    [((), {"shadse": 4}, "did you mean 'shades'?"), ((1, 2), {}, "Ink"), ((1,), {"shades": 2}, "shades")],
)
def test_an_argument_that_a_part_does_not_take_is_bad_input(values, settings, offending):
    with pytest.raises(BadInput) as refused:
        Ink(*values, **settings)
    assert offending in str(refused.value)


@pytest.mark.parametrize("kind", ["planners", "trainers", "diagnostics", "executors"])
def test_every_class_of_the_catalogue_refuses_unknown_settings_by_itself(kind):
    for name, part in catalog.CATALOGUE[kind].built_in.items():
        if isinstance(part.load(), type):
            with pytest.raises(BadInput, match="no_such_setting"):
                part.load()(no_such_setting=1)
            assert name


@pytest.mark.parametrize("name", [3, None, ["cem"]])
def test_a_part_is_chosen_by_its_name(name):
    with pytest.raises(BadInput) as refused:
        PAINTS.build(name)
    assert repr(name) in str(refused.value)


def test_the_old_and_the_new_name_of_a_setting_are_given_once():
    with pytest.raises(BadInput, match="8 and 9"):
        catalog.PLANNERS.load("cem")(horizon=8, plan_horizon=9)


@dataclass(frozen=True)
class Plain:
    grains: int = 3


def test_a_plugin_is_described_by_its_docstring_and_never_by_its_signature():
    """Python writes the signature of a dataclass in place of a missing docstring."""
    assert Part(f"{HERE}:Paint", "").description == "A dataclass of settings."
    assert Plain.__doc__ == "Plain(grains: int = 3)" and Part(f"{HERE}:Plain", "").description == ""


@pytest.mark.parametrize("name", ["cartpole", "dmc:cartpole-swing", "walker", "zzz"])
def test_an_unknown_environment_is_refused_with_the_nearest_names_and_the_command_that_lists_all(name):
    with pytest.raises(UnknownPart) as refused:
        catalog.ENVIRONMENTS.load(name)
    words = str(refused.value)
    assert f"'{name}'" in words and "wmel list environments" in words
    named = [one for one in catalog.ENVIRONMENTS.parts if re.search(rf"(?<![\w:-]){re.escape(one)}(?![\w-])", words)]
    assert (len(named) == 0) if name == "zzz" else 1 <= len(named) <= 5


def test_ctrl_c_during_an_import_is_no_faulty_part(tmp_path, monkeypatch):
    """Python makes a RuntimeError of it where a class is being made (`__set_name__`)."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "interrupted.py").write_text("raise RuntimeError('__set_name__') from KeyboardInterrupt()\n")
    with pytest.raises(KeyboardInterrupt):
        import_object("interrupted:part")
