"""A virtual environment with nothing but the core installed runs the toy worlds."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, timeout=120)
    pip = [folder / "venv" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)]
    subprocess.run(pip, check=True, timeout=600)
    return folder


def call(core, *arguments):
    command = [core / "venv" / "bin" / arguments[0], *arguments[1:]]
    return subprocess.run(command, cwd=core, capture_output=True, text=True, timeout=120)


def test_no_extra_is_there(core):
    extras = ("torch", "mujoco", "plotly", "ray", "gymnasium")
    code = f"import importlib.util as u; print([name for name in {extras} if u.find_spec(name)])"
    assert call(core, "python", "-c", code).stdout.strip() == "[]"


@pytest.mark.parametrize(
    "line",
    [
        "wmel run --env maze_toy --policy tabular-world-model --episodes 30 --output run.json",
        "wmel sweep --env maze_toy --plan-horizons 5,10,15,20,30 --output sweep.json",
        "wmel show sweep.json",
        "wmel list",
        "wmel doctor",
    ],
)
def test_the_command_line_works(core, line):
    done = call(core, *line.split())
    assert done.returncode == 0, done.stderr


def test_a_control_task_says_what_to_install(core):
    done = call(core, "wmel", "run", "--env", "dmc_acrobot")
    assert done.returncode == 2
    assert (
        done.stderr.endswith("mujoco is not installed: pip install 'wmel[control]'\n") and done.stderr.count("\n") == 1
    )


def test_a_mujoco_that_loads_no_task_is_named_as_the_cause(core):
    """The real release 4, installed by hand beside the core; runs last, as it stays."""
    pip = [core / "venv" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "mujoco==4.*", "dm-control==1.0.49"], check=True, timeout=600)
    done = call(core, "wmel", "run", "--env", "dmc:walker-walk", "--policy", "mppi")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "mujoco 4." in done.stderr and "wmel needs 3.16" in done.stderr
    doctor = call(core, "wmel", "doctor").stdout
    assert "(wrong)" in doctor and "extra 'control' is not complete: pip install 'wmel[control]'" in doctor
