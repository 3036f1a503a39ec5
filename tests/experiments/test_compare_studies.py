"""`wmel compare` on two studies: arm by arm, on the seeds both have."""

import json

import pytest

from tests.conftest import says
from tests.experiments.studies import MAZE, written
from tests.experiments.test_run import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study, the same with other seeds, and one whose arm is worse and lacks a setting."""
    folder = tmp_path_factory.mktemp("compared")
    run(written(folder, MAZE, "a"), folder / "a")
    run(written(folder, MAZE.replace("[0, 1]", "[1, 2]"), "b"), folder / "b")
    run(written(folder, MAZE.replace("[5, 10]", "[5]"), "c"), folder / "c")
    return folder


def test_seeds_are_pooled_by_arm_and_paired_where_both_have_them(wmel_command, folder):
    done = wmel_command("compare", "a", "b", "--output", "delta.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    record = json.loads((folder / "delta.json").read_text())
    assert len(record["tasks"]) == 5 and {one["pairs"] for one in record["tasks"]} == {12}
    assert all(one["success_delta"]["value"] == 0 for one in record["tasks"])  # the same episodes
    assert all(one["unmatched_a"]["episodes"] == one["unmatched_b"]["episodes"] == 12 for one in record["tasks"])
    assert says(" ".join(done.stdout.split()), "12 ... 0, 1, 2, 3, 4,")


def test_a_gate_that_could_not_look_is_not_passed(wmel_command, folder):
    done = wmel_command("compare", "a", "c", "--fail-if-worse", "0.05", "--quiet", cwd=folder)
    assert (
        done.returncode == 1
        and "could not judge" in done.stderr
        and "random-shooting candidates=20 plan_horizon=10, oracle" in done.stderr
    )
    assert wmel_command("compare", "a", "a", "--fail-if-worse", "0.05", "--quiet", cwd=folder).returncode == 0
