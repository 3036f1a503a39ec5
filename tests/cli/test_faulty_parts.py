"""Parts of your own that cannot work: one line with their file and line, exit code 2, and nothing is run."""

import sys

import polars as pl
import pytest

import wmel
from tests.conftest import says
from wmel.errors import BadInput, with_article

CODE = """
import shutil
import sys
from pathlib import Path
import numpy
import wmel
from wmel.perturbations import NoEffect
from wmel.stats.estimate import Estimate

MAZE = wmel.environment("maze_toy")

class Draw:
    def plan(self, problem, previous): return None

class Corridor:
    def reset(self, seeds): return seeds

class NoCluster:
    workers = 1
    def __call__(self, work, jobs): raise RuntimeError("no cluster")

class Lazy:
    workers = 1
    def __call__(self, work, jobs): yield from ()

class NoPairs:
    workers = 1
    def __call__(self, work, jobs): return [work(job) for job in jobs]

def unknown_column(table): return table["nothing"]

def plain_number(table): return table["success"].mean()

def ends(table): raise SystemExit(3)

def writes(table):
    table["success"][:] = True  # of writes
    return Estimate(1.0)

def empty_only(table):
    if len(table) > 2: raise RuntimeError("too many")
    return Estimate.undefined("too few")

class World:
    def __getattr__(self, name): return getattr(MAZE, name)

class NoStep(World):
    def step(self, states, actions): raise RuntimeError("stuck")

class NoStates(World):
    def step(self, states, actions): return None

class Blind(World):
    def observe(self, states): raise RuntimeError("blind")

class Uncounted(World):
    def quantities(self, states, actions, after): raise RuntimeError("uncounted")

class Ended(World):
    def step(self, states, actions): sys.exit(4)

class Vandal(World):
    def reset(self, seeds):
        if 4 in seeds and Path("armed").exists():
            Path("armed").unlink()
            shutil.rmtree("out")
        return MAZE.reset(seeds)

class Unsigned(type):
    @property
    def __signature__(cls): sys.exit(6)

class Silent(metaclass=Unsigned): pass

class Calm(NoEffect):
    name, window = "calm", 1

class NoStrike(Calm):
    def strike(self, environment, moment, streams): raise RuntimeError("missed")

class NoMoment(Calm):
    def strike(self, environment, moment, streams): return None

class NoSense(Calm):
    def sense(self, observations, since, streams): raise RuntimeError("numb")

class Planner:
    plan_horizon, evaluations, warm_start = 3, 3, None

class NoPlan(Planner):
    def plan(self, problem, previous): return None

class Quits(Planner):
    def plan(self, problem, previous): raise SystemExit

class Model:
    spec = wmel.WorldModelSpec("model", action_input="index")
    def encode(self, percept, previous): return percept.observation
    def step(self, latents, actions): return latents
    def decode(self, latents): return latents

class NoDecode(Model):
    def decode(self, latents): return None  # of NoDecode

class NoEncode(Model):
    def encode(self, percept, previous): return None  # of NoEncode

class Wide(Model):
    def decode(self, latents): return latents[:, [0, 1, 0]]  # of Wide

class Complex(Model):
    def step(self, latents, actions): return latents * 1j  # of Complex

class Masked(Model):
    def decode(self, latents): return numpy.ma.masked_array(latents)  # of Masked

class Leaves(Model):
    def step(self, latents, actions): sys.exit(0)

class NeverMade(Model):
    def __init__(self): sys.exit(5)

def still(state, action): return None

class Late:
    def __init__(self, after: int = 800): self.left = after

    def __call__(self, state, action):
        self.left -= 1
        if self.left < 0: raise RuntimeError("late")
        return state

class Exits(Late):
    def __call__(self, state, action):
        self.left -= 1
        if self.left < 0: sys.exit(0)
        return state

def exits(state, action): sys.exit(0)

class Passing(Late):
    def __call__(self, state, action):
        self.left -= 1
        if self.left < 0 and Path("gone").exists(): raise OSError("the file is gone")
        return state

def exits_on_many(table):
    if len(table) > 2: sys.exit(0)
    return Estimate.undefined("too few")

class Halt(BaseException): pass

class NoCarry(Calm):
    def carry(self, environment, count):
        if count > 1: raise Halt("enough")
        return super().carry(environment, count)
"""


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    (tmp_path / "faulty.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("faulty", None)


@pytest.fixture
def refused(faulty, wmel_command):
    """The one line that a command is refused with; `line` is a piece of the code above, which it must name."""

    def refuse(line: str, *words: str) -> str:
        number = CODE[: CODE.index(line)].count("\n") + 1
        done = wmel_command(*words, "--episodes", "2", "--output", str(faulty / "out"), cwd=faulty)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
        assert f"faulty.py, line {number}" in done.stderr, done.stderr
        assert not (faulty / "out").exists()
        return done.stderr

    return refuse


CPG = ("cpg", "--env", "maze_toy", "--model", "tests.experiments.still:dynamics")
RUN = ("run", "--env", "maze_toy", "--policy", "random-shooting")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("run", "--env", "faulty:Draw"), "environment"),
        ((*RUN, "--perturbation", "faulty:Draw"), "perturbation"),
        ((*RUN, "--executor", "faulty:Draw"), "executor"),
        ((*RUN, "--objective", "faulty:Draw"), "objective"),
        ((*CPG, "--planner", "faulty:Corridor"), "planner"),
        (("run", "--env", "maze_toy", "--policy", "faulty:Corridor"), "policy"),
    ],
)
def test_a_part_of_another_kind_is_refused(refused, words, kind):
    line = refused("class Corridor" if "faulty:Corridor" in words else "class Draw", *words)
    assert f"is not {with_article(kind)}: " in line


@pytest.mark.parametrize(("make", "name"), [(wmel.planner, "faulty:Corridor"), (wmel.environment, "faulty:Draw")])
def test_python_refuses_it_too(faulty, make, name):
    with pytest.raises(BadInput, match=rf"'{name}' is not {with_article(make.__name__)}: .*faulty.py, line \d+"):
        make(name)


def test_an_executor_that_breaks_is_refused(refused):
    assert "no cluster" in refused('raise RuntimeError("no cluster")', *RUN, "--executor", "faulty:NoCluster")


@pytest.mark.parametrize("name", ["Lazy", "NoPairs"])
def test_an_executor_that_does_not_do_its_jobs_is_one_line_too(faulty, wmel_command, name):
    done = wmel_command(*RUN, "--executor", f"faulty:{name}", "--episodes", "2", cwd=faulty)
    assert done.returncode == 2 and "faulty.py, line " in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("unknown_column", "def unknown_column"),
        ("plain_number", "def plain_number"),
        ("ends", "def ends"),
        ("writes", "# of writes"),
        ("Draw", "class Draw"),
    ],
)
def test_a_metric_that_breaks_is_refused_before_the_run(refused, name, line):
    assert f"faulty:{name}" in refused(line, *RUN, "--metric", f"faulty:{name}")


def test_a_metric_that_breaks_on_real_rows_is_undefined_with_its_reason(faulty, wmel_command):
    done = wmel_command(*RUN, "--metric", "faulty:empty_only", "--episodes", "3", cwd=faulty)
    assert done.returncode == 0 and "too many" in done.stdout


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("NoStep", '"stuck"', "breaks in step: RuntimeError: stuck"),
        ("NoStates", "def step(self, states, actions): return None", "breaks in step"),
        ("Blind", '"blind"', "breaks in observe"),
        ("Uncounted", '"uncounted"', "breaks in quantities"),
        ("Ended", "sys.exit(4)", "SystemExit: 4"),
    ],
)
def test_an_environment_that_breaks_is_refused_before_the_run(refused, name, line, reason):
    assert reason in refused(line, "run", "--env", f"faulty:{name}", "--policy", "random")


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("NoStrike", '"missed"', "breaks in strike: RuntimeError: missed"),
        ("NoMoment", "def strike(self, environment, moment, streams): return None", "breaks in strike"),
        ("NoSense", '"numb"', "breaks in sense"),
    ],
)
def test_a_perturbation_that_breaks_is_refused_before_the_run(refused, name, line, reason):
    assert reason in refused(line, *RUN, "--perturbation", f"faulty:{name}")


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("NoPlan", "def plan(self, problem, previous): return None\n\nclass Quits", "must return a Plan"),
        ("Quits", "raise SystemExit\n", "SystemExit"),
    ],
)
def test_a_planner_without_a_plan_is_refused_with_its_own_place(refused, name, line, reason):
    found = refused(line, *CPG, "--planner", f"faulty:{name}")
    assert reason in found and found.count(" line ") == 1


@pytest.mark.parametrize(
    ("name", "line", "method"),
    [
        ("NoDecode", "# of NoDecode", "decode"),
        ("NoEncode", "# of NoEncode", "encode"),
        ("Wide", "# of Wide", "decode"),
        ("Complex", "# of Complex", "step"),
        ("Masked", "# of Masked", "decode"),
        ("Leaves", "sys.exit(0)", "step"),
        ("NeverMade", "sys.exit(5)", "__init__"),
        ("still", "def still", "still"),
    ],
)
def test_the_method_of_a_model_is_named_that_is_to_blame(refused, name, line, method):
    assert f", in {method})" in refused(line, "cpg", "--env", "maze_toy", "--model", f"faulty:{name}")


def test_sound_parts_pass(faulty, wmel_command):
    words = ("run", "--env", "faulty:World", "--policy", "random-shooting", "--perturbation", "faulty:Calm")
    done = wmel_command(*words, "--episodes", "2", cwd=faulty)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        (*RUN, "--model", "faulty:Late"),
        (*RUN, "--model", "faulty:Late", "--set", "model.after=4000"),
        (*RUN, "--model", "faulty:Late", "--executor", "processes", "--workers", "1"),
        ("cpg", "--env", "maze_toy", "--model", "faulty:Late"),
        ("sweep", "--env", "maze_toy", "--model", "faulty:Late", "--plan-horizons", "3"),
        ("diagnose", "prediction-error", "--env", "maze_toy", "--model", "faulty:Late", "--set", "model.after=9"),
    ],
    ids=["at once", "after a decision", "in a process", "a gap", "a sweep", "a reading"],
)
def test_a_model_that_breaks_late_is_named_with_its_line_and_its_rows_hold_the_error_alone(faulty, wmel_command, words):
    episodes = () if words[0] == "diagnose" else ("--episodes", "2")
    done = wmel_command(*words, *episodes, "--output", str(faulty / "out"), cwd=faulty)
    line = CODE[: CODE.index('RuntimeError("late")')].count("\n") + 1
    assert done.returncode and says(done.stderr, f"RuntimeError: late ... {faulty}/faulty.py, line {line}")
    if episodes:
        errors = wmel.load(faulty / "out").episodes.filter(pl.col("arm") == "Late")["error"]
        assert set(errors) == {"RuntimeError: late"}


def test_a_part_that_ends_python_is_a_row_error_or_a_named_failure_and_never_a_success(faulty, wmel_command):
    """`sys.exit(0)` in a model, a metric and a kit, and what is no Exception in a perturbation."""
    late = wmel_command(*RUN, "--model", "faulty:Exits", "--episodes", "2", "--output", "out.json", cwd=faulty)
    assert late.returncode == 1 and says(late.stderr, "SystemExit: 0 ... faulty.py")
    assert set(wmel.load(faulty / "out.json").episodes["error"]) == {"SystemExit: 0"}
    metric = wmel_command(*RUN, "--metric", "faulty:exits_on_many", "--episodes", "3", cwd=faulty)
    assert metric.returncode == 0 and says(metric.stdout, "success_rate") and says(metric.stdout, "SystemExit: 0")
    kit = wmel_command("check", "faulty:exits", cwd=faulty)
    assert kit.returncode == 1 and says(kit.stdout, "SystemExit: 0 ... faulty.py")
    before = wmel_command("train", "faulty:Silent", "--output", "net", cwd=faulty)
    assert before.returncode == 2 and says(before.stderr, "SystemExit: 6 ... faulty.py")
    halted = wmel_command(*RUN, "--perturbation", "faulty:NoCarry", "--perturb-prob", "1", cwd=faulty)
    assert halted.returncode == 2 and says(halted.stderr, "Halt: enough ... faulty.py")


def test_episodes_that_all_broke_are_tried_again_by_the_next_run(faulty, wmel_command):
    words = (*RUN, "--model", "faulty:Passing", "--episodes", "2", "--output", "out")
    (faulty / "gone").touch()
    for _ in range(2):
        broken = wmel_command(*words, cwd=faulty)
        assert broken.returncode == 1 and says(broken.stderr, "OSError: the file is gone"), broken.stderr
        assert set(wmel.load(faulty / "out").episodes["error"]) == {"OSError: the file is gone"}
    (faulty / "gone").unlink()
    healed = wmel_command(*words, cwd=faulty)
    assert healed.returncode == 0, healed.stderr
    assert set(wmel.load(faulty / "out").episodes["error"]) == {""}
    again = wmel_command(*words, cwd=faulty)
    assert again.returncode == 0 and "episodes" not in again.stderr  # what is whole is not run again


STUDY = """
name = "vandal"
episodes = 6
block = 2
floor = false
environments = ["faulty:Vandal"]
policies = ["random"]
"""


@pytest.mark.parametrize("options", [(), ("--executor", "processes", "--workers", "1")], ids=["serial", "a process"])
def test_a_study_whose_store_is_removed_names_the_cell_and_the_next_run_completes_it(faulty, wmel_command, options):
    (faulty / "study.toml").write_text(STUDY)
    (faulty / "armed").touch()
    words = ("study", "study.toml", "--output", "out", *options)
    removed = wmel_command(*words, cwd=faulty)
    assert removed.returncode == 1 and says(removed.stderr, "Vandal/random/seed-0: ... removed"), removed.stderr
    assert wmel_command(*words, cwd=faulty).returncode == 0
    assert len(wmel.load(faulty / "out").episodes) == 6
