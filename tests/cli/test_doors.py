"""The same bad input through every door: the command line, a study file and Python. One line, and exit code 2."""

import json
import subprocess
import sys

import pytest

import wmel
from tests.conftest import says
from tests.experiments.studies import LEARNED, MAZE, written
from wmel.cli import main
from wmel.errors import BadInput, UnknownPart

NEEDY = """
from dataclasses import dataclass
from wmel.planners.cem import CEM

@dataclass(frozen=True)
class Needy:
    elites: int
    plan_horizon: int = 5
    warm_start = False
    evaluations = 36

    def plan(self, problem, previous):
        return CEM(plan_horizon=self.plan_horizon, candidates=12, elites=self.elites).plan(problem, previous)
"""
BAD = {  # setting -> values as typed and as data, and what must be said
    "unknown": ("elitse", "8", 8, "no setting 'elitse'; did you mean 'elites'?"),
    "wrong type": ("elites", "x", "x", "elites must be a whole number of at least 1, or none, got 'x'"),
    "a fraction": ("elites", "2.5", 2.5, "elites must be a whole number"),
    "out of range": ("candidates", "0", 0, "candidates must be a whole number of at least 1, got 0"),
    "not finite": ("smoothing", "nan", float("nan"), "smoothing must be"),
}


@pytest.mark.parametrize(("name", "typed", "value", "words"), BAD.values(), ids=list(BAD))
def test_a_bad_setting_is_refused_alike_everywhere(wmel_command, tmp_path, name, typed, value, words):
    done = wmel_command("run", "--policy", "cem", "--set", f"planner.{name}={typed}", cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout
    text = MAZE.replace('name = "random-shooting"\ncandidates = 20\n', 'name = "cem"\n')
    path = written(tmp_path, f"{text}{name} = {json.dumps(value).replace('NaN', 'nan')}\n")
    done = wmel_command("study", str(path), "--output", str(tmp_path / "out"))
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1
    assert f"{path}: planners[0]" in done.stderr and not (tmp_path / "out").exists()
    for call in (
        lambda: wmel.run(policy={"name": "cem", name: value}, quiet=True),
        lambda: wmel.run(policy="cem", settings={f"planner.{name}": value}, quiet=True),
        lambda: wmel.planner("cem", **{name: value}),
    ):
        with pytest.raises(BadInput) as refusal:
            call()
        assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--elites 4 --set planner.elites=8", "'cem': elites ... 8 ... 4"),
        ("--set planner.elites=4 --set planner.elites=8", "planner.elites is given twice: 4 and 8"),
        ("--execute 1 --set planner.execute=2", "planner.execute is given twice"),
        ("--set elites=4", "KIND.NAME"),
        ("--set planner.elites", "KIND.NAME=VALUE"),
        ("--set planer.elites=4", "did you mean 'planner'?"),
        ("--set model.rollout=latent", "a setting of checkpoints"),
        ("--set model.size=3", "model has no ... 'size'"),
        ("--preset papr", "'papr'; did you ... 'paper'?"),
        ("--elites 40 --candidates 8", "elites"),
    ],
)
def test_settings_that_contradict_or_lead_nowhere_are_refused(wmel_command, line, words):
    done = wmel_command("run", "--policy", "cem", *line.split())
    assert done.returncode == 2 and says(done.stderr, words) and done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--sweep planner.elitse=4,8", "elitse"),
        ("--sweep planner.elites=4,x", "elites must ... 1, ... 'x'"),
        ("--sweep planner.elites=4,4", "must differ"),
        ("--sweep planner.elites=", "at least one value"),
        ("--sweep planner.elites=4,8 --elites 4", "planner.elites is given and swept"),
        ("--plan-horizons 5 --sweep planner.plan_horizon=5,10", "given twice"),
        ("--sweep elites=4,8", "KIND.NAME"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(wmel_command, line, words):
    done = wmel_command("sweep", "--policy", "cem", *line.split())
    assert done.returncode == 2 and says(done.stderr, words) and done.stderr.count("\n") == 1 and not done.stdout


LARGE = 10**12
OUT_OF_RANGE = {  # what a command and a call have, and the offending value
    "more executed than planned": ("run --policy cem --execute 99", {"policy": "cem", "execute": 99}, "99"),
    "a strike after the end": (
        "run --perturbation drop-next-2 --perturb-step 60",
        {"perturbation": "drop-next-2", "perturb_step": 60},
        "60",
    ),
    "a share above 1": ("run --perturb-prob 1.5", {"perturb_prob": 1.5}, "1.5"),
    "no pairs": (
        "cpg --model tests.experiments.still:dynamics --anytime --max-episodes 0",
        {"models": "tests.experiments.still:dynamics", "anytime": True, "max_episodes": 0},
        "0",
    ),
    "candidates": (
        f"run --policy cem --candidates {LARGE}",
        {"policy": "cem", "settings": {"planner.candidates": LARGE}},
        LARGE,
    ),
    "a plan": (f"run --policy cem --plan-horizon {LARGE}", {"policy": "cem", "plan_horizon": LARGE}, LARGE),
    "iterations": (f"run --policy cem --iterations {LARGE}", {"policy": "cem", "iterations": LARGE}, LARGE),
    "episodes": (f"run --episodes {LARGE}", {"episodes": LARGE}, LARGE),
    "workers": (f"run --executor processes --workers {LARGE}", {"executor": "processes", "workers": LARGE}, LARGE),
    "a drop": (f"run --perturbation drop-next-{LARGE}", {"perturbation": f"drop-next-{LARGE}"}, LARGE),
    "64 bits": (f"run --metric success@{10**30}", {"metrics": [f"success@{10**30}"]}, 10**30),
}


@pytest.mark.parametrize(("line", "call", "value"), OUT_OF_RANGE.values(), ids=list(OUT_OF_RANGE))
def test_a_number_out_of_range_is_refused_alike(wmel_command, line, call, value):
    verb, *options = line.split()
    done = wmel_command(verb, "--env", "maze_toy", *options)
    assert done.returncode == 2 and str(value) in done.stderr and done.stderr.count("\n") == 1 and not done.stdout
    with pytest.raises(BadInput) as refusal:
        getattr(wmel, verb)(environment="maze_toy", quiet=True, **call)
    assert done.stderr == f"wmel: {refusal.value}\n"


@pytest.mark.parametrize("limit", ["-1", "0", "1.5", "x", -1, 0, 1.5])
def test_a_study_runs_at_least_one_cell(wmel_command, tmp_path, limit):
    path = written(tmp_path, MAZE)
    with pytest.raises(BadInput) as refusal:
        wmel.study(path, limit=limit, output=tmp_path / "out")
    assert str(limit) in str(refusal.value)
    done = wmel_command("study", str(path), "--limit", str(limit), "--output", str(tmp_path / "out"))
    assert done.returncode == 2 and str(limit) in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_python_refuses_what_is_given_twice_and_kinds_there_are_not():
    with pytest.raises(BadInput, match="elites is given twice"):
        wmel.run(policy={"name": "cem", "elites": 4}, settings={"planner.elites": 8}, quiet=True)
    with pytest.raises(BadInput, match=r"got 'planer\.elites'"):
        wmel.run(policy="cem", settings={"planer.elites": 8}, quiet=True)
    with pytest.raises(UnknownPart, match="did you mean 'cem'"):
        wmel.run(policy="ceem", quiet=True)
    with pytest.raises(BadInput, match="elites"):
        wmel.run(policy=wmel.CEM(elites=4, candidates=8), settings={"planner.elites": 8}, quiet=True)


def test_a_part_that_needs_a_setting_says_which(wmel_command, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(NEEDY)
    done = wmel_command("run", "--policy", "mine:Needy", cwd=tmp_path)
    assert done.returncode == 2 and "requires the setting 'elites'" in done.stderr and done.stderr.count("\n") == 1
    path = written(tmp_path, MAZE.replace('name = "random-shooting"\ncandidates = 20', 'name = "mine:Needy"'))
    done = wmel_command("study", str(path), "--output", "out", cwd=tmp_path)
    assert done.returncode == 2 and "requires the setting 'elites'" in done.stderr and done.stderr.count("\n") == 1
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="requires the setting 'elites'"):
        wmel.run(policy="mine:Needy", quiet=True)
    done = wmel_command("run", "--policy", "mine:Needy", "--set", "planner.elites=3", "--episodes", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("key", ["updates = 5", "decoder_steps = 5", "latent = 8"])
def test_a_recipe_with_the_keys_of_another_trainer_is_refused_everywhere(wmel_command, tmp_path, key):
    name, _, value = key.split()
    words = f"trainer 'mlp' has no setting '{name}'"
    path = written(tmp_path, LEARNED.replace("epochs = 20", f"epochs = 20\n{key}"))
    done = wmel_command("study", str(path), "--output", str(tmp_path / "out"))
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
    with pytest.raises(BadInput, match=words):
        wmel.train("mlp", "maze_toy", output=tmp_path / "x", quiet=True, **{name: int(value)})
    typed = ["train", "mlp", "--env", "maze_toy", f"--{name.replace('_', '-')}", value, "--output", str(tmp_path / "x")]
    done = wmel_command(*typed)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("first", ["wmel.experiments.run", "wmel.api.study", "wmel.cli.main", "wmel.experiments.spec"])
def test_verbs_are_functions_whatever_was_imported_before(first):
    """In a fresh process: a module of the same name must not take a verb's place."""
    verbs = [target.partition(":")[2] for name, (target, _) in main.VERBS.items() if " " not in name]
    code = f"import {first}, wmel, types; from wmel import run\n" + (
        f"print([name for name in {verbs} if not isinstance(getattr(wmel, name), types.FunctionType)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip() == "[]", done.stderr


def test_json_is_the_record_and_nothing_else(wmel_command, tmp_path):
    done = wmel_command("run", "--episodes", "2", "--json", cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr and json.loads(done.stdout)["kind"] == "run"


def test_debug_shows_the_traceback_and_the_same_last_line(wmel_command):
    plain, debug = (wmel_command("run", "--env", "maze_toi", *more) for more in ((), ("--debug",)))
    assert plain.returncode == debug.returncode == 2 and "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr and debug.stderr.splitlines()[-1] == plain.stderr.strip()


def test_the_version_is_said_by_the_command_and_by_the_module(wmel_process):
    from importlib.metadata import version

    assert wmel_process("--version").stdout == f"wmel {version('wmel')}\n"


@pytest.mark.parametrize("setting", ["policy.pace=1", "objective.discount=0.5", "perturbation.k=2"])
def test_a_setting_of_a_part_that_is_not_there_is_refused(wmel_command, setting):
    done = wmel_command("run", "--policy", "cem", "--set", setting, "--episodes", "1")
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1
