import subprocess
import sys

import pytest

import wmel

HEAVY = ("torch", "mujoco", "scipy.stats", "polars")


@pytest.mark.parametrize("name", wmel.__all__)
def test_every_public_name_exists(name):
    assert getattr(wmel, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        wmel.no_such_name  # noqa: B018


def test_the_names_are_listed():
    assert set(dir(wmel)) == set(wmel.__all__)


@pytest.mark.parametrize(
    "code", ["import wmel", "import sys; sys.argv = ['wmel', '--help']; import wmel.cli.main as m; m.main()"]
)
def test_neither_the_package_nor_its_help_imports_anything_heavy(code):
    check = f"""
import atexit, sys
heavy = {HEAVY!r}
atexit.register(lambda: print('LOADED', [name for name in heavy if name in sys.modules]))
{code}
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "LOADED []" in done.stdout


def test_a_verdict_imports_no_heavy_statistics():
    code = """
import sys, wmel
print(wmel.cpg_verdict(wmel.counterfactual_planning_gap((40, 150), (0, 150))))
print('LOADED', [name for name in ('scipy.stats', 'statsmodels', 'sklearn', 'torch') if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "MODEL BOTTLENECK" in done.stdout and "LOADED []" in done.stdout, done.stderr
