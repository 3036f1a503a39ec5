import json
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pytest

from wmel import BenchmarkRunner, catalog, horizon_sweep, read_record, run_record, sweep_record, write_record
from wmel.analysis.scorecard import scorecard
from wmel.errors import BadRecord, CannotWrite
from wmel.reports.record_entries import episode_entries, episode_table
from wmel.reports.records import recorded_sweep, run_scorecard, schema_text
from wmel.schema import COLUMNS

SCHEMA = Path(__file__).parents[2] / "docs" / "record.schema.json"


@pytest.fixture(scope="module")
def run():
    maze = catalog.environment("maze_toy")
    return BenchmarkRunner(maze, catalog.policy("cem", maze), episodes=4, horizon=60, seed=0).run()


@pytest.fixture
def record(run):
    return run_record(run, metrics=["success@20", "deadline@5"])


@pytest.fixture(scope="module")
def sweep():
    maze = catalog.environment("maze_toy")
    points = horizon_sweep(
        maze, lambda h: catalog.policy("cem", maze, plan_horizon=h), [5, 15], episodes_per_point=3, episode_horizon=40
    )
    return sweep_record(points, epsilon=0.01)


def test_a_record_reads_back_as_it_was_written(record, tmp_path):
    write_record(tmp_path / "run.json", record)
    assert read_record(tmp_path / "run.json") == record


def test_a_sweep_reads_back_as_it_was_written(sweep, tmp_path):
    write_record(tmp_path / "sweep.json", sweep)
    assert read_record(tmp_path / "sweep.json") == sweep


def test_entries_give_the_table_back(run):
    again = episode_table(episode_entries(run.table))
    for name in COLUMNS:
        assert np.array_equal(again[name], run.table[name], equal_nan=run.table[name].dtype.kind == "f"), name


def test_the_scorecard_is_computed_from_the_rows(run, record):
    assert run_scorecard(record) == scorecard("cem", run.table, ["success@20", "deadline@5"])


def test_the_published_names_of_fields_are_kept(record, sweep):
    stored = json.loads(record.model_dump_json(by_alias=True))
    assert {"schema_version", "wmel_version", "generated_at", "scorecard", "results", "metadata"} <= set(stored)
    assert stored["schema_version"] == "2.1"
    published = "policy_name episodes success_rate average_steps_to_success average_planning_latency_ms"
    assert {*published.split(), "average_compute_per_decision"} <= set(stored["scorecard"])
    assert {"success", "steps", "planning_latencies_ms"} <= set(stored["results"][0])
    assert {"env", "policy", "episodes", "horizon", "seed"} <= set(stored["metadata"])
    points = json.loads(sweep.model_dump_json(by_alias=True))["points"]
    assert {"plan_horizon", "scorecard", "success_ci", "latency_ci_ms"} <= set(points[0])


def test_the_point_intervals_are_those_of_its_scorecard(sweep):
    for point, card in zip(sweep.points, recorded_sweep(sweep).scorecards, strict=True):
        assert point.success_ci == (card["success_rate"].low, card["success_rate"].high)


def test_the_published_schema_is_the_one_in_force():
    assert SCHEMA.read_text() == schema_text(), "run `make schema`"


def edited(record, path, **changes):
    content = json.loads(record.model_dump_json(by_alias=True))
    for key, value in changes.items():
        *outer, last = key.split(".")
        reduce(getitem, outer, content)[last] = value
    path.write_text(json.dumps(content))
    return path


def test_another_schema_version_is_refused_by_name(record, tmp_path):
    path = edited(record, tmp_path / "old.json", schema_version="1.0")
    with pytest.raises(BadRecord, match=r"schema version '1[.]0', and this wmel reads 2[.]0 and 2[.]1"):
        read_record(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "tale"}, "kind|tag"),
        ({"extra": 1}, "extra"),
        ({"results": []}, "results: List should have at least 1"),
        ({"results": 5}, "results"),
        ({"metadata": {}}, "metadata"),
        ({"scorecard.estimates": {}}, "scorecard: .*average_"),
        ({"metadata.planner": {"name": 3}}, "metadata.planner"),
        ({"metadata.parts": {"policy": {"name": None}}}, "metadata.parts"),
        ({"metadata.parts": {"perturbation": {"name": "composite", "parts": [{}]}}}, "metadata.parts"),
    ],
)
def test_what_is_no_record_is_refused_with_the_place(record, tmp_path, changes, words):
    with pytest.raises(BadRecord, match=words):
        read_record(edited(record, tmp_path / "bad.json", **changes))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"steps": 10**30}, "steps"),
        ({"episode_seed": -1}, "episode_seed"),
        ({"success": True, "first_success_step": None}, "succeeds exactly if"),
        ({"success": True, "first_success_step": 9999}, "beyond the last step"),
        ({"error": "broke"}, "that broke did not succeed"),
        ({"declared_compute": -5.0}, "declared_compute"),
        ({"recovered": True}, "recovered means"),
        ({"episode_seed": 1}, "share a seed"),
        ({"steps": 61}, "longer than the 60 steps"),
    ],
)
def test_a_row_that_cannot_be_is_refused(record, tmp_path, row, words):
    results = json.loads(record.model_dump_json(by_alias=True))["results"]
    assert results[0]["success"] and not results[0]["perturbed"]
    with pytest.raises(BadRecord, match=words):
        read_record(edited(record, tmp_path / "bad.json", results=[results[0] | row, *results[1:]]))


@pytest.mark.parametrize(
    ("metadata", "words"),
    [({"episodes": 3000}, "3000 episodes, and there are 4"), ({"policy": "mppi"}, "another policy")],
)
def test_metadata_of_another_run_is_refused(record, tmp_path, metadata, words):
    stored = json.loads(record.model_dump_json(by_alias=True))["metadata"]
    with pytest.raises(BadRecord, match=words):
        read_record(edited(record, tmp_path / "bad.json", metadata=stored | metadata))


def test_a_time_that_is_none_is_refused(record, tmp_path):
    with pytest.raises(BadRecord, match="generated_at"):
        read_record(edited(record, tmp_path / "bad.json", generated_at="yesterday"))


def test_sweep_points_out_of_order_are_refused(sweep, tmp_path):
    points = json.loads(sweep.model_dump_json(by_alias=True))["points"]
    with pytest.raises(BadRecord, match="from short to long"):
        read_record(edited(sweep, tmp_path / "bad.json", points=points[::-1]))


def test_a_number_changed_in_its_ninth_digit_is_refused(record, tmp_path):
    card = json.loads(record.scorecard.model_dump_json())
    card["average_steps_to_success"] *= 1 + 1e-8
    with pytest.raises(BadRecord, match="does not follow from its rows"):
        read_record(edited(record, tmp_path / "close.json", scorecard=card))


def test_a_path_may_be_a_string(record, tmp_path):
    write_record(str(tmp_path / "run.json"), record)
    assert read_record(str(tmp_path / "run.json")) == record


def test_a_scorecard_that_was_improved_by_hand_is_refused(record, tmp_path):
    card = json.loads(record.scorecard.model_dump_json())
    card["success_rate"] = 0.123
    with pytest.raises(BadRecord, match="does not follow from its rows"):
        read_record(edited(record, tmp_path / "better.json", scorecard=card))


def test_an_effective_horizon_that_was_improved_by_hand_is_refused(sweep, tmp_path):
    better = json.loads(sweep.effective_horizon.model_dump_json()) | {"value": 5.0}
    with pytest.raises(BadRecord, match="does not follow from its rows"):
        read_record(edited(sweep, tmp_path / "better.json", effective_horizon=better))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"schema_version": NaN}',
        b'{"schema_version": [' + b"1, " * 5_000 + b"1]}",
        b'{"a": 1e999}',
    ],
)
def test_hostile_files_are_refused_in_one_sentence(tmp_path, text):
    (tmp_path / "hostile.json").write_bytes(text)
    with pytest.raises(BadRecord) as refused:
        read_record(tmp_path / "hostile.json")
    assert len(str(refused.value)) < 400


def test_a_truncated_record_is_refused(record, tmp_path):
    write_record(tmp_path / "run.json", record)
    whole = (tmp_path / "run.json").read_bytes()
    (tmp_path / "run.json").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadRecord, match="not JSON"):
        read_record(tmp_path / "run.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadRecord, match=r"cannot read .*absent.json: No such file"):
        read_record(tmp_path / "absent.json")


def test_nan_cannot_be_written(record, tmp_path):
    broken = record.model_copy(update={"scorecard": record.scorecard.model_copy(update={"success_rate": float("nan")})})
    with pytest.raises(BadRecord):
        write_record(tmp_path / "nan.json", broken)
    assert not (tmp_path / "nan.json").exists()


def test_a_record_that_cannot_be_written_is_an_error_of_the_path(record, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="cannot write"):
        write_record(tmp_path / "file" / "run.json", record)
