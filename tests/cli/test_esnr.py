"""`wmel esnr` as a user calls it."""

import json
import shutil

import pytest

from tests.conftest import says
from wmel.reports.records import read_record

QUICK = ["--env", "dmc:cartpole-swingup", "--states", "6", "--samples", "5", "--plan-horizon", "3"]
QUICK += ["--population", "6", "--elites", "2"]


@pytest.fixture(scope="module")
def model(swingup_mlp, tmp_path_factory):
    return shutil.copytree(swingup_mlp, tmp_path_factory.mktemp("models") / "small")


def test_a_checkpoint_is_read_by_all_three_estimators_beside_the_oracle(wmel_command, model, tmp_path):
    options = ["--model", str(model), "--methods", "fog,zog,cem", "--objective", "smooth-upright"]
    done = wmel_command("esnr", *options, *QUICK, "--output", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    rows = [tuple(line.split()[:2]) for line in done.stdout.splitlines()]
    for row in [("small", "fog"), ("small", "zog"), ("small", "cem"), ("oracle", "fog(fd)")]:
        assert rows.count(row) == 1
    assert "Not comparable" in done.stdout and "alignment does" in done.stdout
    assert "6 states of 6" in done.stdout
    record = read_record(tmp_path / "out" / "esnr.json")
    assert [(one.model, one.method) for one in record.readings] == [
        *(("small", name) for name in ("fog", "zog", "cem")),
        *(("oracle", name) for name in ("fog(fd)", "zog", "cem")),
    ]
    assert all(len(one.per_state) == 6 for one in record.readings)
    assert record.readings[0].weights and 0.9 < record.readings[3].alignment.cosine.value < 1
    assert (tmp_path / "out" / "esnr.md").read_text().startswith("# ESNR in dmc:cartpole-swingup")
    shown = wmel_command("show", str(tmp_path / "out" / "esnr.json"), "--markdown", str(tmp_path / "again.md"))
    assert shown.returncode == 0 and shown.stdout.startswith(done.stdout[: done.stdout.index("\nreport")])
    assert (tmp_path / "again.md").read_text() == (tmp_path / "out" / "esnr.md").read_text()


@pytest.mark.slow
def test_two_models_are_compared_in_pairs_and_the_same_command_gives_the_same_numbers(wmel_command, model, tmp_path):
    other = tmp_path / "other"
    trained = f"train mlp --env dmc:cartpole-swingup --transitions 300 --epochs 2 --seed 1 --output {other} --quiet"
    assert wmel_command(*trained.split()).returncode == 0
    options = ["--model", str(model), "--model", str(other), "--methods", "zog", "--no-oracle", *QUICK]
    first = wmel_command("esnr", *options, "--quiet", "--output", str(tmp_path / "a"))
    again = wmel_command("esnr", *options, "--quiet", "--output", str(tmp_path / "b"))
    assert first.returncode == again.returncode == 0, first.stderr
    assert first.stdout == ""
    read = [json.loads((tmp_path / name / "esnr.json").read_text()) for name in "ab"]
    for record in read:
        record.pop("generated_at")
        for row in record["readings"]:
            row.pop("seconds")
    assert read[0] == read[1]
    assert [(one["model"], one["other"]) for one in read[0]["differences"]] == [("small", "other")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--env"),
        (["--env", "maze_toy"], "at least one model"),
        (
            ["--env", "dmc_acrobot", "--model", "oracle", "--methods", "fog"],
            "or train on dmc:acrobot-swingup",
        ),
        (["--env", "maze_toy", "--model", "oracle", "--methods", "fog"], "actions are 4 levels:"),
        (["--env", "dmc:cartpole-swingup", "--model", "oracle", "--methods", "gof"], "no estimator is called 'gof'"),
        (["--env", "dmc:cartpole-swingup", "--model", "oracle", "--methods", ","], "methods must name at"),
        (["--env", "dmc:cartpole-swingup", "--model", "oracle", "--samples", "3"], "at least 4 gradients"),
        (["--env", "dmc:cartpole-swingup", "--model", "oracle", "--no-oracle"], "contradict"),
        (
            ["--env", "dmc:cartpole-swingup", "--model", "oracle", "--states", "0"],
            "states must ... 1, ... 0",
        ),
        (
            ["--env", "dmc:cartpole-swingup", "--model", "oracle", "--credit", "all"],
            "credit ... 'reward_to_go' ... 'full_return' ... 'paper', ... 'all'",
        ),
        (["--env", "dmc:cartpole-swingup", "--model", "no/such"], "not a checkpoint"),
        (["--env", "dmc:cartpole-swingup", "--model", "oracle", "--from", "nobody"], "nobody"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_2(wmel_command, options, words):
    done = wmel_command("esnr", *options)
    assert done.returncode == 2
    assert says(done.stderr, words) and done.stderr.count("\n") == 1 and done.stdout == ""
