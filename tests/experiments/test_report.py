"""What is said of a study follows from its rows, and pooling refuses what does not belong together."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import says
from tests.experiments.studies import LEARNED, MAZE, written
from tests.experiments.test_run import run
from wmel import load
from wmel.analysis.gap import counterfactual_planning_gap
from wmel.analysis.pooling import pooled_gap, study_comparisons
from wmel.errors import BadInput
from wmel.experiments.load import load_study
from wmel.schema import pool_runs


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    run(written(folder, LEARNED), folder / "store")
    return folder / "store"


def test_seeds_are_pooled_arm_by_arm(learned):
    (comparison,) = study_comparisons(load_study(learned).results).comparisons
    arms = comparison.arms
    assert len(arms.oracle.table) == len(arms.learned["mlp"].table) == 8 and arms.oracle.seeds == (0, 1)
    assert arms.learned["mlp"].policy_settings["weights"] == "retrained for each seed"
    expected = counterfactual_planning_gap(arms.oracle.table, arms.learned["mlp"].table)
    assert arms.gap("mlp").raw_gap == expected.raw_gap


def test_retrained_models_make_two_claims(learned):
    loaded = load_study(learned)
    (comparison,) = study_comparisons(loaded.results).comparisons
    runs = {(one.cell.arm.name, one.cell.seed): one.run for one in loaded.results}
    expected = pooled_gap([(runs["oracle", seed], runs["mlp", seed]) for seed in (0, 1)])
    assert comparison.claims("mlp") == expected
    assert expected.this_training_recipe.n == 2 and expected.these_checkpoints.n == 8


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"versions": {"numpy": "0.1"}}, "version of numpy"),
        ({"horizon": 7}, "horizon is 30 ... 7"),
        ({"perturbation": "drop-next-1"}, "perturbation is None"),
        ({"success": "distance<=1"}, "success is"),
    ],
)
def test_pooling_refuses_what_does_not_belong_together(learned, change, words):
    runs = [one.run for one in load_study(learned).results if one.cell.arm.name == "oracle"]
    assert len(pool_runs(runs).table) == 8
    with pytest.raises(BadInput, match="cannot be pooled") as refusal:
        pool_runs([runs[0], replace(runs[1], **change)])
    assert says(str(refusal.value), words)


def test_a_mismatch_in_the_store_is_reported_and_the_rest_goes_on(learned, tmp_path, wmel_command):
    shutil.copytree(learned, tmp_path / "store")
    for file in (tmp_path / "store").rglob("0*.json"):
        stored = json.loads(file.read_text())
        if stored["cell"]["arm"]["name"] == "mlp" and stored["cell"]["seed"] == 1:
            stored["run"]["versions"]["numpy"] = "0.1"
            file.write_text(json.dumps(stored))
    done = wmel_command("report", str(tmp_path / "store"))
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "store" / "results.json").read_text())
    assert "version of numpy" in record["refused"][0] and record["comparisons"][0]["gaps"] == {}


def test_an_unfinished_study_is_reported_as_far_as_it_is(tmp_path, wmel_command):
    path = written(tmp_path, MAZE)
    assert run(path, tmp_path / "store", limit=3).episodes == 36
    done = wmel_command("report", str(tmp_path / "store"))
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "store" / "results.json").read_text())
    assert record["episodes"] == 36 and len(record["missing"]) == 7
    assert {one["reason"] for one in record["missing"]} == {"not run yet"}


def test_a_damaged_store_is_said_in_one_line(learned, tmp_path, wmel_command):
    shutil.copytree(learned, tmp_path / "store")
    victim = next((tmp_path / "store").rglob("*.parquet"))
    victim.write_bytes(victim.read_bytes()[:50])
    done = wmel_command("report", str(tmp_path / "store"))
    assert done.returncode == 0 and "its checksum differs" in done.stderr and len(done.stderr.splitlines()) == 1
    (tmp_path / "store" / "study.json").write_text("{}")
    done = wmel_command("report", str(tmp_path / "store"))
    assert done.returncode == 2 and "study.json is damaged" in done.stderr
    done = wmel_command("report", str(tmp_path / "nowhere"))
    assert done.returncode == 2 and "cannot read" in done.stderr


def test_rows_are_polars_tables(learned):
    tables = load(learned)
    assert tables.episodes.height == 24 and tables.cells.height == 6
    assert set(tables.episodes["key"]) == set(tables.cells["key"])
    assert tables.episodes.filter(arm="oracle")["success"].dtype.is_(__import__("polars").Boolean)


def test_rows_are_pandas_tables_where_pandas_is(learned):
    pytest.importorskip("pandas")
    rows = load(str(learned)).to_pandas()
    assert len(rows) == 24 and set(rows["key"]) == set(load(Path(learned)).cells["key"])


REWARDED = """
name = "rewarded"
episodes = 6
block = 3
horizon = 25

[[environments]]
name = "dmc_cartpole"

[[criteria]]
success = "reward>=0.01"
stop = "horizon"

[[planners]]
name = "random-shooting"
candidates = 10
plan_horizon = 3
"""


def test_another_criterion_needs_no_run(tmp_path, wmel_command):
    run(written(tmp_path, REWARDED), tmp_path / "store")
    run(written(tmp_path, REWARDED.replace("0.01", "0.0005@sustained:3")), tmp_path / "other")
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.parquet")}
    line = [
        "report",
        str(tmp_path / "store"),
        "--success",
        "reward>=0.0005@sustained:3",
        "--output",
        str(tmp_path / "new"),
    ]
    done = wmel_command(*line)
    assert done.returncode == 0, done.stderr
    assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.parquet")}
    assert wmel_command("report", str(tmp_path / "other")).returncode == 0
    new, expected = (
        json.loads((tmp_path / name / "results.json").read_text())["comparisons"][0]["scorecards"]["oracle"]
        for name in ("new", "other")
    )
    assert new["success_rate"] == expected["success_rate"] and 0 <= new["success_rate"] <= 1
    assert new["average_steps_to_success"] == expected["average_steps_to_success"]
    refused = wmel_command("report", str(tmp_path / "store"), "--success", "distance<=1")
    assert refused.returncode == 2 and "reward" in refused.stderr


def test_a_table_survives_parquet(learned):
    from wmel.experiments.tables import to_frame, to_table
    from wmel.schema import COLUMNS

    table = load_study(learned).results[1].run.table
    rewards = np.full(len(table), None)
    rewards[0] = np.array([0.5, 1.5])
    table = table.with_column("rewards", rewards)
    again = to_table(to_frame(table))
    for name in COLUMNS:
        for one, other in zip(table[name], again[name], strict=True):
            np.testing.assert_array_equal(one, other)
