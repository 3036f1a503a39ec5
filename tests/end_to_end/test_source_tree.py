"""wmel runs from a source tree that is on the path but not installed."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import wmel

RUN = """
import sys
sys.path[:0] = {folders!r}
import wmel
wmel.run("maze_toy", episodes=2, output={output!r})
"""


def test_a_source_tree_that_is_not_installed_runs_and_records_source_as_its_version(tmp_path: Path):
    packages = tmp_path / "packages"
    packages.mkdir()
    for one in Path(sysconfig.get_path("purelib")).iterdir():
        if "wmel" not in one.name:
            (packages / one.name).symlink_to(one)
    source = str(Path(wmel.__file__).parents[1])
    program = RUN.format(folders=[source, str(packages)], output=str(tmp_path / "run.json"))
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, cwd=tmp_path, env={})

    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["wmel_version"] == record["metadata"]["versions"]["wmel"] == "source"


EXTRAS = ("torch", "safetensors", "numba", "mujoco", "dm_control", "plotly", "pandas")
WITHOUT_EXTRAS = """
import sys
sys.modules.update(dict.fromkeys({extras!r}))
sys.argv = ["wmel", "run", "--env", "maze_toy", "--policy", "cem", "--episodes", "2"]
from wmel.cli.main import main
main()
"""


def test_a_toy_world_runs_where_no_extra_can_be_imported(tmp_path: Path):
    program = WITHOUT_EXTRAS.format(extras=EXTRAS)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
