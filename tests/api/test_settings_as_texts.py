"""Settings that are keywords of a verb may be texts, as the command line takes them."""

import inspect
from typing import Annotated, Any

import pytest

import wmel
from wmel.api import options as o
from wmel.api.verbs import verb
from wmel.catalog import DIAGNOSTICS, TRAINERS
from wmel.errors import BadInput
from wmel.settings import Setting

EXAMPLES = {  # text -> value
    "zog": "zog",
    "zog,cem": ["zog", "cem"],
    "3": 3,
    "0.5": 0.5,
    "2,3": [2, 3],
    "true": True,
    "next": "next",
}
OF_VERBS = {**o.TrainingOptions.__annotations__, **o.ReadingOptions.__annotations__}


@verb
def train(trainer: o.Trainer, **options: Annotated[Any, o.TrainingOptions, o.SettingsOf("trainer")]) -> Any:
    """The options of a training, as a verb gets them."""
    return options


@verb
def diagnose(diagnostic: o.Diagnostic, **options: Annotated[Any, o.ReadingOptions, o.SettingsOf("diagnostic")]) -> Any:
    """The same of a diagnostic."""
    return options


def settings_of(*registries):
    """Every setting that is no option of all verbs."""
    return [
        pytest.param(registry.kind, part, one, id=f"{part}.{one.name}")
        for registry in registries
        for part in registry.built_in
        for one in registry.settings_of(part).values()
        if one.name not in OF_VERBS
    ]


def example_of(one: Setting) -> tuple[str, Any]:
    """A text and the value it stands for: the default, or the first that the setting allows."""
    default = one.default
    if default is not None and default is not inspect.Parameter.empty:
        return ",".join(map(str, default)) if isinstance(default, tuple | list) else str(default), default
    for text, value in EXAMPLES.items():
        try:
            return text, one.check(value)
        except BadInput:
            continue
    raise AssertionError(f"no example of {one}")


@pytest.mark.parametrize(("kind", "part", "one"), settings_of(DIAGNOSTICS, TRAINERS))
def test_the_text_of_a_setting_is_its_value(kind, part, one):
    text, value = example_of(one)
    call = {"trainer": train, "diagnostic": diagnose}[kind]
    assert one.check(call(part, **{one.name: text})[one.name]) == one.check(call(part, **{one.name: value})[one.name])
    assert one.check(call({"name": part}, **{one.name: text})[one.name]) == one.check(value)


def test_a_training_and_a_reading_take_texts(tmp_path):
    pytest.importorskip("torch")
    made = [
        wmel.train("mlp", "maze_toy", epochs=epochs, hidden=hidden, output=tmp_path / f"{place}", quiet=True).card
        for place, (epochs, hidden) in enumerate([("1", "4,4"), (1, [4, 4])])
    ]
    assert made[0]["trainer"] == made[1]["trainer"]
    read = [wmel.diagnose("prediction-error", "maze_toy", steps=one, states=2, quiet=True) for one in ("2", 2)]
    assert str(read[0]) == str(read[1])


def test_readings_of_esnr_take_texts():
    pytest.importorskip("dm_control")
    how = {"environment": "dmc:cartpole-swingup", "models": "oracle", "samples": 4, "plan_horizon": 2, "quiet": True}
    texts = wmel.esnr(methods="zog,cem", states="2", **how)
    assert texts.rows == wmel.esnr(methods=["zog", "cem"], states=2, **how).rows and len(texts.rows) == 2


def test_a_setting_with_an_option_of_its_own_is_parsed_too():
    assert wmel.run("maze_toy", "random", workers="1", episodes=1, horizon=2, quiet=True).exit_code == 0


@pytest.mark.parametrize(
    ("call", "offending"),
    [
        (lambda: wmel.train("mlp", "maze_toy", epochs="many", output="x"), "trainer 'mlp': epochs"),
        (lambda: wmel.train("mlp", "maze_toy", epcohs="1", output="x"), "did you mean 'epochs'"),
        (lambda: wmel.train("mpl", "maze_toy", epochs="1", output="x"), "did you mean 'mlp'"),
        (lambda: wmel.esnr("maze_toy", "oracle", states="many"), "'many'"),
        (lambda: wmel.diagnose("prediction-error", "maze_toy", steps="0"), "got 0"),
        (lambda: wmel.run("maze_toy", "random", workers="many"), "'many'"),
    ],
)
def test_a_text_that_is_no_value_is_refused(call, offending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as refused:
        call()
    assert offending in str(refused.value) and not list(tmp_path.iterdir())
