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
