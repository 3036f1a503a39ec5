"""What parts say when they break, and the names they have: a row or a line each, printable and short."""

import sys

import pytest

import wmel
from wmel.errors import LONGEST_MESSAGE, BadInput, describe_error, printable

CODE = r"""
import math
import wmel
from wmel.stats.estimate import Estimate

class Mute(Exception):
    def __str__(self): raise RuntimeError("no words")

ERRORS = {
    "surrogate": RuntimeError("file \udcff is missing"),
    "control": RuntimeError("\x1b[2J\x07\x00\u202e"),
    "long": RuntimeError("x" * 5_000_000),
    "mute": Mute(),
}

class Late:
    def __init__(self, error: str = "long"): self.left, self.error = 100, ERRORS[error]

    def __call__(self, state, action):
        self.left -= 1
        if self.left < 0: raise self.error
        return state

def nan(table): return Estimate(math.nan, 0.0, 1.0, 3, "mine")

def text(table): return Estimate("one", 0.0, 1.0, 3, "mine")

def crowd(table): return Estimate(0.5, 0.0, 1.0, 10**30, "mine")

def wide(table): return Estimate(0.5, -math.inf, 1.0, 3, "mine")

def wordy(table): return Estimate(0.5, 0.0, 1.0, 3, "\ud800\x1b[31m" + "y" * 10_000)
"""


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    (tmp_path / "hostile.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("hostile", None)


@pytest.mark.parametrize("error", ["surrogate", "control", "long", "mute"])
def test_what_a_model_says_costs_its_rows_alone(hostile, wmel_command, error):
    line = f"run --env maze_toy --policy cem --candidates 4 --iterations 1 --plan-horizon 3 --set model.error={error}"
    more = "--model hostile:Late --episodes 4 --horizon 9 --output out"
    done = wmel_command(*line.split(), *more.split(), cwd=hostile)
    assert done.returncode in (0, 1) and (done.stdout + done.stderr).replace("\n", "").isprintable(), done.stderr
    errors = set(wmel.load(hostile / "out").episodes["error"]) - {None, ""}
    assert errors and all(len(one) <= LONGEST_MESSAGE and one.isprintable() for one in errors)


@pytest.mark.parametrize("metric", ["nan", "text", "crowd", "wide"])
def test_a_metric_that_no_record_can_hold_is_undefined(hostile, wmel_command, metric):
    line = f"run --env maze_toy --policy random --metric hostile:{metric} --episodes 2 --horizon 3 --output out.json"
    done = wmel_command(*line.split(), cwd=hostile)
    assert done.returncode == 0, done.stderr
    found = wmel.load(hostile / "out.json").record.scorecard.estimates[f"hostile:{metric}"]
    assert found.value is None and "returned" in found.reason


def test_the_words_of_a_metric_are_short_and_printable(hostile, wmel_command):
    line = "run --env maze_toy --policy random --metric hostile:wordy --episodes 2 --horizon 3 --output out.json"
    assert wmel_command(*line.split(), cwd=hostile).returncode == 0
    method = wmel.load(hostile / "out.json").record.scorecard.estimates["hostile:wordy"].method
    assert method.isprintable() and len(method) == LONGEST_MESSAGE


def test_a_printable_text_stays_as_it_is():
    for text in ("é 日本 …", "a" * LONGEST_MESSAGE, printable("\ud800" * 1000), printable("\n a \n")):
        assert printable(text) == text


def test_an_error_without_words_has_its_type():
    class Mute(Exception):
        def __str__(self):
            raise SystemExit(3)

    assert describe_error(Mute()).startswith("Mute: ") and describe_error(KeyError()) == "KeyError"


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb", "a\x00", "\udcff", "a\u2028b"])
def test_a_name_that_a_terminal_or_a_file_cannot_hold_is_refused(name, tmp_path):
    def still(state, action):
        return state

    for models in ({name: still}, {name: "hostile:Late"}):
        with pytest.raises(BadInput) as refused:
            wmel.cpg("maze_toy", models=models, episodes=2, output=tmp_path / "out")
        assert ascii(name[1:2] or name) in str(refused.value) or ascii(name) in str(refused.value)
    with pytest.raises(BadInput):
        wmel.study({"name": name, "planners": ["cem"], "environments": ["maze_toy"]}, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()
