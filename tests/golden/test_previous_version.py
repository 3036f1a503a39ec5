"""Files of record schema 2.0 and study store format 1 are read, and give the numbers that were stored with them."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

import wmel
from tests.golden import adapters

WRITTEN = Path(__file__).parent / "version_2_0"
RUNS = [
    "run.json",
    "run_before.json",
    "run_after.json",
    *(f"cpg/{arm}.json" for arm in ("oracle", "checkpoint", "random")),
]
RECORDS = [
    *RUNS,
    *("sweep.json", "compare.json", "cpg/cpg.json", "cpg_anytime/cpg.json"),
    *("esnr.json", "results.json", "results_anytime.json"),
]
STAMP = ("schema_version", "wmel_version", "generated_at")  # who wrote a record, and when


BOUNDS = ("low", "high")


def has_other_method(estimate: dict[str, Any]) -> bool:
    """Means and percentiles have other intervals now, and ratios have one."""
    return estimate["method"].startswith(("normal", "p5", "p9", "ratio on", "mover-r"))


def without_other_methods(value: Any) -> Any:
    """The same without the bounds and names of methods that are other ones now."""
    if isinstance(value, dict) and "method" in value and has_other_method(value):
        return {key: one for key, one in value.items() if key not in (*BOUNDS, "method")}
    if isinstance(value, dict):
        return {key: without_other_methods(one) for key, one in value.items()}
    return [without_other_methods(one) for one in value] if isinstance(value, list) else value


def stored(name: str) -> dict[str, Any]:
    return json.loads((WRITTEN / name).read_text(encoding="utf-8"))


def differences(one: Any, other: Any, place: str = "") -> list[str]:
    """Where the stored values of `one` are not in `other`, but for the last digits; fields added later are ignored."""
    if isinstance(one, dict) and isinstance(other, dict):
        missing = [f"{place}.{key} is missing" for key in one if key not in other]
        return missing + [
            found for key in one if key in other for found in differences(one[key], other[key], f"{place}.{key}")
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [found for index, pair in pairs for found in differences(*pair, f"{place}[{index}]")]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other))
    equal = math.isclose(one, other, rel_tol=1e-9) if numbers else one == other
    return [] if equal else [f"{place}: stored {one!r}, found {other!r}"]


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in (*STAMP, *names)}


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_read_with_all_its_fields(name):
    assert differences(without(stored(name)), adapters.read_record_fields(WRITTEN / name)) == []


@pytest.mark.parametrize("name", RUNS)
def test_the_scorecard_of_a_run_follows_from_its_rows(name):
    expected = {
        metric: {field: estimate[field] for field in ("value", "n", *(() if has_other_method(estimate) else BOUNDS))}
        for metric, estimate in stored(name)["scorecard"]["estimates"].items()
    }
    assert differences(expected, adapters.recompute_scorecard(WRITTEN / name)) == []


def test_the_rewards_of_every_step_are_kept():
    rows = adapters.read_record_fields(WRITTEN / "run.json")["results"]
    assert [len(row["rewards"]) for row in rows] == [row["steps"] for row in rows] == [16] * 4


@pytest.mark.parametrize("name", [name for name in RECORDS if name != "compare.json"])
def test_show_prints_a_record(name, capsys):
    assert adapters.run_command("show", str(WRITTEN / name)) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 2


def test_the_runs_compare_as_they_did(tmp_path, capsys):
    before, after = str(WRITTEN / "run_before.json"), str(WRITTEN / "run_after.json")
    output = tmp_path / "compare.json"
    assert adapters.run_command("compare", before, after, "--fail-if-worse", "0.9", "--output", str(output)) == 0
    expected, found = stored("compare.json"), json.loads(output.read_text(encoding="utf-8"))
    for task in (*expected["tasks"], *found["tasks"]):  # the interval of success is by another method now
        task["success_delta"] = task["success_delta"]["value"]
        del task["smallest_drop_shown"]
    assert differences(without(expected, "run_a", "run_b"), found) == []


@pytest.mark.parametrize("name", ["cpg", "cpg_anytime", "store", "store_anytime"])
def test_a_folder_compared_with_itself_differs_in_nothing(name, tmp_path, capsys):
    output = tmp_path / "compare.json"
    assert adapters.run_command("compare", str(WRITTEN / name), str(WRITTEN / name), "--output", str(output)) == 0
    found = json.loads(output.read_text(encoding="utf-8"))
    assert found["tasks"] and all(task["success_delta"]["value"] == 0 for task in found["tasks"])


@pytest.mark.parametrize(("store", "results"), [("store", "results.json"), ("store_anytime", "results_anytime.json")])
def test_the_report_of_a_store_gives_the_stored_gaps(store, results, tmp_path, capsys):
    assert adapters.run_command("report", str(WRITTEN / store), "--output", str(tmp_path), "--quiet") == 0
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    expected = stored(results)
    assert expected["comparisons"] and all(one["gaps"] for one in expected["comparisons"])
    for gap in (gap for record in (expected, found) for one in record["comparisons"] for gap in one["gaps"].values()):
        if store == "store":  # intervals and verdicts are by another rule now
            for field in ("gap_ci_low", "gap_ci_high", "gap_method", "verdict", "verdicts", "claims", "failure_split"):
                del gap[field]
    for record in (expected, found):  # names show keys, and parts are data where they were text
        for comparison in record["comparisons"]:
            del comparison["name"], comparison["setting"]["planner"], comparison["setting"]["objective"]
        for missing in record["missing"]:
            del missing["cell"]
    assert differences(without_other_methods(without(expected)), found) == []


def test_the_rows_of_a_store_load_as_tables():
    tables, results = wmel.load(WRITTEN / "store"), stored("results.json")
    assert (len(tables.cells), len(tables.episodes)) == (results["cells"], results["episodes"]) == (10, 30)
    assert set(tables.episodes["episode_seed"]) == {0, 1, 2, 100_000, 100_001, 100_002}
    joined = tables.episodes.join(tables.cells.select("key", "arm", "plan_horizon"), on="key")
    for comparison in results["comparisons"]:
        for arm in ("oracle", "mlp"):
            mine = joined.filter(arm=arm, plan_horizon=comparison["labels"]["plan_horizon"])
            assert mine["success"].mean() == pytest.approx(comparison["scorecards"][arm]["success_rate"])


def test_a_study_that_is_whole_is_not_run_again(tmp_path, capsys):
    """Cells and checkpoints are found by the names that the previous version gave them."""
    shutil.copytree(WRITTEN / "store", tmp_path / "store")
    before = {kind: files_below(tmp_path / "store" / kind) for kind in ("cells", "models")}
    line = ("study", str(WRITTEN / "study.toml"), "--output", str(tmp_path / "store"), "--keep", "--quiet")
    assert adapters.run_command(*line) == 0
    assert before == {kind: files_below(tmp_path / "store" / kind) for kind in ("cells", "models")}


@pytest.mark.parametrize(
    ("name", "environment"), [("checkpoint", "dmc_cartpole"), ("checkpoint_latent", "dmc:cartpole-swingup")]
)
def test_a_checkpoint_is_restored_with_its_weights(name, environment):
    load_file = pytest.importorskip("safetensors.torch").load_file
    model = adapters.restore_model(WRITTEN / name, wmel.environment(environment))
    weights = load_file(WRITTEN / name / "weights.safetensors")
    assert adapters.hash_weights(adapters.weights_of(model)) == adapters.hash_weights(weights)
