"""`package.module:object` that is no part: one line and exit code 2, for every kind, typed or in a study."""

import sys

import pytest

CODE = """
value, nothing, text = 3, None, "words"

class Needs:
    def __init__(self, first, second): pass

class NoSignature:
    @property
    def __signature__(self): raise RuntimeError("no signature")
    def __call__(self, *values): return 1

class Wild:
    def __getattr__(self, name): raise RuntimeError(f"no {name}")

class Meta(type):
    def __getattr__(cls, name): raise RuntimeError(f"no {name}")

class OfMeta(metaclass=Meta): pass

class Mute:
    def __repr__(self): raise RuntimeError("no words")

class Leaves:
    def __getattr__(self, name): raise SystemExit(0)

silent, wild, mute = NoSignature(), Wild(), Mute()

def __getattr__(name): raise RuntimeError(f"this module has no {name}")
"""
TARGETS = [
    "builtins:dict", "builtins:object", "os:getcwd", "os:path", "math:sin", "numpy:ndarray", ":x", "..:x", "noparts:",
    "noparts:value", "noparts:value.x", "noparts:nothing", "noparts:text", "noparts:Needs", "noparts:silent",
    "noparts:wild", "noparts:Wild", "noparts:OfMeta", "noparts:mute", "noparts:Leaves", "noparts:absent",
]  # fmt: skip
FEW = ["os:getcwd", "noparts:wild", "noparts:OfMeta", "noparts:absent"]
RUN = "run --env maze_toy --episodes 1 --horizon 2 --quiet --policy"
COMMANDS = {
    "environment": "run --env {} --policy random --quiet",
    "model": f"{RUN} cem --candidates 4 --model {{}}",
    "planner": "cpg --env maze_toy --planner {} --model tests.experiments.still:dynamics --quiet",
    "policy": f"{RUN} {{}}",
    "metric": f"{RUN} random --metric {{}}",
    "objective": f"{RUN} cem --objective {{}}",
    "perturbation": f"{RUN} random --perturbation {{}}",
    "criterion": f"{RUN} random --criterion {{}}",
    "executor": f"{RUN} random --executor {{}}",
    "diagnostic": "diagnose {} --env maze_toy --model tests.experiments.still:dynamics --quiet",
    "trainer": "train {} --env maze_toy --output trained --quiet",
    "esnr": "esnr --env maze_toy --model {} --quiet",
}
STUDIES = {
    "environment": 'environments = ["{}"]\npolicies = ["random"]',
    "model": 'planners = ["random-shooting"]\nmodels = [{{name = "m", object = "{}"}}]',
    "trainer": 'planners = ["random-shooting"]\nmodels = [{{name = "m", trainer = "{}"}}]',
    "planner": 'planners = ["{}"]',
    "policy": 'policies = ["{}"]',
    "objective": 'planners = ["random-shooting"]\nobjectives = ["{}"]',
    "perturbation": 'policies = ["random"]\nperturbations = ["{}"]',
    "criterion": 'policies = ["random"]\ncriteria = ["{}"]',
    "diagnostic": 'models = [{{name = "m", object = "tests.experiments.still:dynamics"}}]\ndiagnostics = ["{}"]',
    "metric": 'policies = ["random"]\nmetrics = ["{}"]',
    "executor": 'policies = ["random"]\nexecutor = "{}"',
}


@pytest.fixture
def no_parts(tmp_path, monkeypatch):
    (tmp_path / "noparts.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("noparts", None)


def assert_refused(done, target: str) -> None:
    assert done.returncode == 2, (target, done)
    (line,) = done.stderr.splitlines()
    assert line.startswith("wmel: ") and len(line) < 600, (target, line)


@pytest.mark.parametrize("kind", COMMANDS)
def test_what_is_no_part_is_one_line(no_parts, wmel_command, kind):
    for target in TARGETS if kind in ("model", "metric") else FEW:
        assert_refused(wmel_command(*COMMANDS[kind].format(target).split(), cwd=no_parts), target)


@pytest.mark.parametrize("kind", STUDIES)
def test_it_is_one_line_in_a_study_too(no_parts, wmel_command, kind):
    worlds = "" if kind == "environment" else 'environments = ["maze_toy"]\n'
    for target in FEW:
        text = f'name = "s"\nepisodes = 1\nhorizon = 2\n{worlds}{STUDIES[kind].format(target)}'
        (no_parts / "study.toml").write_text(text)
        assert_refused(wmel_command("study", "study.toml", "--output", "out", "--quiet", cwd=no_parts), target)


@pytest.mark.parametrize("verb", ["check", "list"])
def test_nothing_ends_in_a_traceback_that_is_looked_at(no_parts, wmel_command, verb):
    for target in TARGETS:
        done = wmel_command(verb, target, cwd=no_parts)
        assert done.returncode in (0, 1, 2) and len(done.stderr.splitlines()) <= 1, (target, done)
