"""Code of the user that changed is noticed wherever it stands, and what cannot be checked is named."""

import importlib
import json
import sys

import pytest

import wmel
from tests.experiments.studies import written
from wmel.errors import BadInput
from wmel.experiments.identity import identity_of
from wmel.experiments.own_code import own_code

FILES = {
    "ownpart/__init__.py": "",
    "ownpart/model.py": "from ownpart.helper import Helper\nmodel = Helper(gain=1.0)\n",
    "ownpart/helper.py": """
from . import numbers

class Helper:
    def __init__(self, gain: float = 2.0): self.gain = gain
    def __call__(self, state, action):
        from ownpart.lazy import shift
        return shift(state) * self.gain * numbers.ONE
""",
    "ownpart/numbers.py": "ONE = 1.0\n",
    "ownpart/lazy.py": "def shift(state): return state + 0.0\n",
    "ownpart/computed.py": """
import importlib
def model(state, action): return getattr(importlib.import_module("own" + "part.numbers"), "ONE") * state
""",
    "ownpart/stated.py": """
import importlib
numbers = importlib.import_module("ownpart.numbers")
def model(state, action): return state * numbers.ONE
""",
    "ownpart/unused.py": "",
}
STUDY = """
name = "own"
episodes = 2
horizon = 4
floor = false
oracle = false
[[environments]]
name = "maze_toy"
[[models]]
name = "mine"
object = "ownpart.model:model"
[[planners]]
name = "random-shooting"
candidates = 4
plan_horizon = 2
"""
CHANGES = {
    "the class of the object": ("helper", "state) *", "state) * 1.0 *"),
    "a module beside it": ("numbers", "1.0", "1.5"),
    "an import inside a function": ("lazy", "+ 0.0", "+ 0.5"),
    "the settings of the object": ("model", "gain=1.0", "gain=1.5"),
}


@pytest.fixture
def ownpart(tmp_path, monkeypatch):
    """Writes a package of the user, and forgets the imported one when a file changes."""
    (tmp_path / "ownpart").mkdir()
    monkeypatch.syspath_prepend(tmp_path)

    def forget():
        for name in [one for one in sys.modules if one.partition(".")[0] == "ownpart"]:
            del sys.modules[name]
        importlib.invalidate_caches()

    def change(module, before="", after=""):
        path = tmp_path / "ownpart" / f"{module}.py"
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after) if before else text + after)
        forget()

    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    yield change
    forget()


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_own_code_is_noticed(ownpart, tmp_path, what):
    study, how = written(tmp_path, STUDY), {"output": tmp_path / "store", "quiet": True}
    wmel.study(study, **how)
    ownpart("unused", "", "ONE = 2\n")
    wmel.study(study, **how)
    ownpart(*CHANGES[what])
    with pytest.raises(BadInput, match="code of model") as refused:
        wmel.study(study, **how)
    assert CHANGES[what][0] in str(refused.value) or what == "the class of the object"  # the file of the part itself
    kept = wmel.study(study, keep=True, **how)
    assert kept.exit_code == 0 and kept.episodes.height == 2


@pytest.mark.parametrize("what", list(CHANGES)[:3])
def test_a_live_object_of_changed_code_is_another(ownpart, what):
    def identity():
        helper = importlib.import_module("ownpart.helper")
        return identity_of(helper.Helper(1.0))

    first = identity()
    ownpart("unused", "", "ONE = 2\n")
    assert first is not None and identity() == first
    ownpart(*CHANGES[what])
    assert identity() != first


def test_what_cannot_be_checked_is_a_line(ownpart, tmp_path, capsys):
    study = written(tmp_path, STUDY.replace("ownpart.model:", "ownpart.computed:"))
    wmel.study(study, output=tmp_path / "store")
    noted = [line for line in capsys.readouterr().err.splitlines() if "may not be noticed" in line]
    assert len(noted) == 1 and "ownpart.computed:model" in noted[0] and "computed.py, line 3" in noted[0]
    (block,) = (tmp_path / "store").glob("cells/*/0*.json")
    assert "line 3" in json.loads(block.read_text())["provenance"]["code"]["model unchecked"]


def test_an_import_by_a_stated_name_is_followed(ownpart):
    found = own_code(["ownpart.stated"])
    assert set(found.modules) == {"ownpart", "ownpart.stated", "ownpart.numbers"} and not found.unchecked


def test_a_session_has_no_file_and_libraries_are_left_out():
    found = own_code(["__main__", "numpy", "json", "wmel.schema", "nowhere.at.all", ""])
    assert set(found.modules) <= {"__main__"}
