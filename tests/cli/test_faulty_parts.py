"""Parts of your own that cannot work: one line with their file and line, exit code 2, and nothing is run."""

import sys

import pytest

import wmel
from wmel.errors import BadInput

CODE = """
from wmel.stats.estimate import Estimate

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

def empty_only(table):
    if len(table) > 2: raise RuntimeError("too many")
    return Estimate.undefined("too few")
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
    assert f"is no {kind}: " in line


@pytest.mark.parametrize(("make", "name"), [(wmel.planner, "faulty:Corridor"), (wmel.environment, "faulty:Draw")])
def test_python_refuses_it_too(faulty, make, name):
    with pytest.raises(BadInput, match=rf"'{name}' is no {make.__name__}: .*faulty.py, line \d+"):
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
        ("Draw", "class Draw"),
    ],
)
def test_a_metric_that_breaks_is_refused_before_the_run(refused, name, line):
    assert f"faulty:{name}" in refused(line, *RUN, "--metric", f"faulty:{name}")


def test_a_metric_that_breaks_on_real_rows_is_undefined_with_its_reason(faulty, wmel_command):
    done = wmel_command(*RUN, "--metric", "faulty:empty_only", "--episodes", "3", cwd=faulty)
    assert done.returncode == 0 and "too many" in done.stdout
