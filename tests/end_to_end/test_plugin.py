"""A real third-party package, installed with pip, adds parts of every kind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[1] / "plugin"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    flags = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
    pip = [sys.executable, "-m", "pip", "install", *flags]
    subprocess.run([*pip, "--target", str(folder), str(PLUGIN)], check=True, timeout=300)
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_every_part_is_listed_with_its_origin(wmel_command, installed):
    done = wmel_command("list", env=installed)
    assert done.returncode == 0, done.stderr
    for part in ("corridor", "right-walker", "first-draw", "teleport", "median_steps"):
        line = next(line for line in done.stdout.splitlines() if line.startswith(part))
        assert "wmel-example-plugin" in line


def test_a_part_that_cannot_be_imported_is_named_and_skipped(wmel_command, installed):
    done = wmel_command("list", "models", env=installed)
    line = next(line for line in done.stdout.splitlines() if line.startswith("half-written"))
    assert "skipped" in line and "RuntimeError" in line


def test_a_plugin_cannot_replace_a_built_in(wmel_command, installed):
    assert "skipped: wmel-example-plugin offers" in wmel_command("list", "environments", env=installed).stdout
    done = wmel_command("run", "--env", "maze_toy", "--policy", "greedy", "--episodes", "2", env=installed)
    assert "no episode succeeded" in done.stdout  # the corridor would be walked at once


def test_the_parts_are_used_together(wmel_command, installed):
    line = "run --env corridor --policy first-draw --perturb-prob 1 --perturbation teleport --episodes 10"
    done = wmel_command(*line.split(), env=installed)
    assert done.returncode == 0, done.stderr
    assert (
        "model: oracle (reads the true state); planner: first-draw" in done.stdout
        and "teleport window=1 in 100%" in done.stdout
    )
    assert "median_steps" in done.stdout
    assert "RuntimeError: half written" in done.stdout  # the broken metric is n/a with its reason


def test_a_plugin_model_is_planned_with(wmel_command, installed):
    line = "run --env corridor --policy cem --model right-walker --episodes 3"
    done = wmel_command(*line.split(), env=installed)
    assert done.returncode == 0, done.stderr
    assert "model: right_walker; planner: cem" in done.stdout


@pytest.mark.parametrize("part", ["corridor", "right-walker", "first-draw", "teleport", "median_steps"])
def test_the_kits_accept_the_parts(wmel_command, installed, part):
    done = wmel_command("check", part, "--env", "corridor", env=installed)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_metric_of_a_plugin_that_breaks_costs_its_own_line_only(wmel_command, installed):
    done = wmel_command("run", "--env", "corridor", "--episodes", "3", env=installed)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("always_breaks"))
    assert "n/a" in line and "ZeroDivisionError" in done.stdout
    line = next(line for line in done.stdout.splitlines() if line.startswith("bare_number"))
    assert "n/a" in line and "not an Estimate" in done.stdout


def test_a_record_outlives_the_plugin_it_was_made_with(wmel_command, installed, tmp_path):
    done = wmel_command("run", "--episodes", "3", "--output", "r.json", cwd=tmp_path, env=installed)
    assert done.returncode == 0, done.stderr
    without = wmel_command("show", "r.json", cwd=tmp_path)
    assert without.returncode == 0, without.stderr
    assert "median_steps" in without.stdout


def test_a_plugin_cannot_take_over_a_built_in_perturbation_by_its_full_name(wmel_command, installed):
    line = "run --env corridor --policy random --perturb-prob 1 --perturbation drop-next-5 --episodes 3"
    assert "drop-next-5 in 100%" in wmel_command(*line.split(), env=installed).stdout


def test_a_metric_of_a_plugin_is_explained_by_its_own_words(wmel_command, installed):
    assert "Steps of the typical episode." in wmel_command("explain", "median_steps", env=installed).stdout


def test_a_policy_of_a_plugin_is_set_like_any_part(wmel_command, installed):
    line = "run --env corridor --policy marcher --episodes 2 --json"
    right = wmel_command(*line.split(), "--set", "policy.action=3", env=installed)
    assert right.returncode == 0, right.stderr
    assert json.loads(right.stdout)["scorecard"]["success_rate"] == 1
    wrong = wmel_command(
        *["run", "--env", "corridor", "--policy", "marcher", "--set", "policy.actoin=3"], env=installed
    )
    assert wrong.returncode == 2 and "did you mean 'action'" in wrong.stderr


def test_a_planner_that_is_no_dataclass_is_an_equal_citizen(wmel_command, installed, tmp_path):
    words = (
        "cpg --env corridor --model right-walker --planner last-draw --set planner.draws=5 --episodes 3 --output gap"
    )
    done = wmel_command(*words.split(), env=installed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "gap" / "cpg.json").read_text())
    assert record["setting"]["planner"] == {"name": "last-draw", "plan_horizon": 6, "draws": 5}
    listed = wmel_command("list", "last-draw", env=installed).stdout
    assert "draws" in listed and "plan_horizon" in listed


def test_an_executor_of_a_plugin_runs_a_study(wmel_command, installed, tmp_path):
    (tmp_path / "tiny.toml").write_text(
        'name = "tiny"\nepisodes = 2\n[[environments]]\nname = "corridor"\n[[planners]]\nname = "last-draw"\n'
        "draws = { sweep = [2, 3] }\n"
    )
    done = wmel_command("study", "tiny.toml", "--executor", "backwards", env=installed, cwd=tmp_path)
    assert done.returncode == 0 and "0 failures" in done.stdout, done.stderr
