"""Pairs that are added after a verdict are judged by the anytime rule; a run that goes on after a kill is not."""

import json

import pytest

import wmel
from wmel.analysis.verdict import Label
from wmel.experiments.folder_store import FolderStore


def still(state, action):
    return state


def away(state, action):
    return state[::-1]


def gap(folder, **options):
    how = {"planner": "random-shooting", "horizon": 12, "episodes": 6, "quiet": True, "output": folder}
    models = {"still": "tests.experiments.test_looks:still"}
    return wmel.cpg("maze_toy", **{"models": models, **how, **options})


@pytest.fixture
def first(tmp_path):
    return gap(tmp_path / "gap")


def test_the_first_verdict_is_strict_and_so_is_that_of_the_same_command_again(first, tmp_path):
    again = gap(tmp_path / "gap")
    assert [one.verdicts["still"].rule for one in (first, again)] == ["strict", "strict"]
    assert str(again.verdicts["still"]) == str(first.verdicts["still"])


@pytest.mark.parametrize("more", [{"episodes": 9}, {"seeds": [0, 1]}])
def test_pairs_added_after_a_verdict_are_judged_by_the_anytime_rule(first, tmp_path, more):
    added = gap(tmp_path / "gap", **more)
    pairs = added.record.cpgs["still"].n_episodes_learned
    assert pairs > 6 and added.verdicts["still"].rule == "anytime"
    assert "after a verdict on 6" in added.verdicts["still"].reason
    assert added.record.cpgs["still"].gap_method == "confidence sequence"
    stored = [wmel.load(tmp_path / "gap"), wmel.load(tmp_path / "gap" / "cpg.json")]
    assert [str(one.verdicts["still"]) for one in stored] == [str(added.verdicts["still"])] * 2
    once_more = gap(tmp_path / "gap", **more)
    assert str(once_more.verdicts["still"]) == str(added.verdicts["still"])


def test_a_model_that_joins_later_has_its_first_verdict(first, tmp_path):
    models = {name: f"tests.experiments.test_looks:{name}" for name in ("still", "away")}
    joined = wmel.cpg(
        "maze_toy",
        models=models,
        planner="random-shooting",
        horizon=12,
        episodes=6,
        quiet=True,
        output=tmp_path / "gap",
    )
    assert {joined.verdicts[name].rule for name in models} == {"strict"}


def test_a_run_that_was_killed_before_its_verdict_goes_on_as_the_first(tmp_path):
    """Its manifest has no look: a killed process writes none."""
    gap(tmp_path / "gap")
    manifest = tmp_path / "gap" / "study.json"
    content = json.loads(manifest.read_text())
    assert [sorted(look.values()) for look in content["looks"]] == [[6, 6, 6]]
    manifest.write_text(json.dumps({**content, "looks": []}))
    assert gap(tmp_path / "gap", episodes=9).verdicts["still"].rule == "strict"


def test_rows_that_were_dropped_are_no_look(first, tmp_path):
    store = FolderStore(tmp_path / "gap")
    for cell in store.manifest().cells:
        store.drop(cell)
    assert gap(tmp_path / "gap", episodes=9).verdicts["still"].rule == "strict"


def test_a_gap_claimed_by_the_anytime_rule_is_one_that_its_interval_shows(tmp_path):
    shown = {"plan_horizon": 20, "candidates": 100, "horizon": 60}
    first, added = (gap(tmp_path / "gap", episodes=episodes, **shown) for episodes in (8, 14))
    assert first.verdicts["still"].label is added.verdicts["still"].label is Label.MODEL_BOTTLENECK
    entry = added.record.cpgs["still"]
    assert added.verdicts["still"].interval.low == entry.gap_ci_low > 0 and entry.p_value.value <= 0.05


def test_an_anytime_study_deals_its_pairs_to_the_seeds_in_turn(tmp_path):
    """A gap of 1 is decided after a few rounds: no seed has had its 40 pairs, and none is a pair ahead of another."""
    data = {
        "name": "three seeds",
        "episodes": 40,
        "seeds": [0, 1, 2],
        "environments": ["maze_toy"],
        "models": [{"name": "still", "object": "tests.experiments.test_looks:still"}],
        "planners": [{"name": "random-shooting", "plan_horizon": 20, "candidates": 100}],
    }
    decided = wmel.study(data, anytime=True, quiet=True, output=tmp_path / "study")
    counts = decided.episodes.group_by("arm", "seed").len()["len"].to_list()
    assert len(counts) == 9 and max(counts) < 40 and max(counts) - min(counts) <= 1
