"""From a study file to a page, killed twice on the way."""

import json
import time

import pytest

from tests.experiments.studies import outcomes, started, written

SIX_CELLS = """
name = "six cells"
about = "an MLP of the maze, trained little and trained enough"
episodes = 40
seeds = [0]
block = 10
horizon = 60

[[environments]]
name = "maze_toy"

[[models]]
name = "mlp"
trainer = "mlp"
epochs = { sweep = [5, 50, 200, 800] }

[[planners]]
name = "random-shooting"
candidates = 100
plan_horizon = 15
"""


@pytest.mark.slow
def test_a_study_killed_twice_ends_as_a_page(wmel_command, opened, tmp_path):
    path, store = written(tmp_path, SIX_CELLS), tmp_path / "store"
    for wanted in (1, 8):
        process = started(path, store)
        until = time.monotonic() + 60
        while len(list(store.rglob("*.json"))) < wanted + 1 and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.communicate()
    last = started(path, store)
    assert last.wait(timeout=120) == 0
    assert len(outcomes(store)) == 6
    report = wmel_command("report", str(store))
    assert report.returncode == 0, report.stderr
    record = json.loads((store / "results.json").read_text())
    gaps = record["comparisons"][0]["gaps"]
    assert record["kind"] == "study" and record["episodes"] == 240 and not record["missing"]
    assert list(gaps) == [f"mlp[epochs={epochs}]" for epochs in (5, 50, 200, 800)]
    assert gaps["mlp[epochs=5]"]["gap"] > gaps["mlp[epochs=800]"]["gap"]
    for gap in gaps.values():
        assert gap["mid_p"]["value"] <= gap["mid_p_holm"] <= 1
    assert "six cells" in (store / "report.md").read_text()
    tab, noticed, address = opened((store / "report.html").read_text(encoding="utf-8"))
    tab.wait_for_selector("#forest-0 .main-svg")
    assert noticed == {"complaints": [], "requests": [address]}
    assert tab.locator("h1").inner_text() == "six cells"
