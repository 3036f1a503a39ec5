"""A study gives the same rows however it is run, and goes on from where it was."""

import json
import shutil
import signal
import sys
import time

import pytest

from tests.conftest import says
from tests.experiments.studies import LEARNED, MAZE, outcomes, read_study, started, written
from wmel.contract.trainer import ProgressListener
from wmel.errors import BadInput
from wmel.experiments.build import is_whole
from wmel.experiments.executors import Processes, Serial
from wmel.experiments.expand import study_of, trainings_of
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.run import RunOptions, run_study
from wmel.training.mlp import MLPTrainer


def run(path, folder, **how):
    return run_study(study_of(read_study(path)), FolderStore(folder), RunOptions(**how), ProgressListener())


@pytest.fixture(scope="module")
def maze(tmp_path_factory):
    """A study file and its store, run in one go."""
    folder = tmp_path_factory.mktemp("maze")
    path = written(folder, MAZE)
    summary = run(path, folder / "store")
    assert summary.episodes == 10 * 12 and not summary.failures
    return path, folder / "store"


def test_a_second_run_does_nothing(maze):
    path, folder = maze
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*.parquet")}
    assert run(path, folder).episodes == 0
    assert before == {file: file.stat().st_mtime_ns for file in folder.rglob("*.parquet")}


@pytest.mark.slow
@pytest.mark.parametrize("executor", [Serial(), Processes(1), Processes(2)], ids=str)
def test_workers_and_order_change_no_outcome(maze, tmp_path, executor):
    path, folder = maze
    run(path, tmp_path, executor=executor)
    assert outcomes(tmp_path) == outcomes(folder)


def test_blocks_of_another_size_and_more_episodes_change_no_outcome(maze, tmp_path):
    _, folder = maze
    fewer = written(tmp_path, MAZE.replace("episodes = 12", "episodes = 7").replace("block = 5", "block = 3"))
    assert run(fewer, tmp_path / "store").episodes == 10 * 7
    again = run(written(tmp_path, MAZE.replace("block = 5", "block = 4")), tmp_path / "store")
    assert again.episodes == 10 * 5  # what is stored is not run again
    assert outcomes(tmp_path / "store") == outcomes(folder)


def test_cells_can_be_chosen(maze, tmp_path):
    path, _ = maze
    assert run(path, tmp_path, only="*/oracle/*").episodes == 4 * 12
    assert run(path, tmp_path, only="*/oracle/*").episodes == 0
    assert run(path, tmp_path, limit=1).episodes == 12  # the floor of the first seed


def test_a_damaged_block_is_run_again(maze, tmp_path):
    path, folder = maze
    store = tmp_path / "store"
    shutil.copytree(folder, store)
    files = sorted(store.rglob("*.parquet"))
    files[0].write_bytes(files[0].read_bytes()[:-10])  # truncated
    files[1].write_bytes(b"PAR1" + bytes(1000))
    files[2].unlink()
    files[3].with_suffix(".json").write_text('{"first": 0')
    files[4].with_suffix(".json").write_text("[]")
    lines = []
    listener = ProgressListener(note=lines.append)
    summary = run_study(study_of(read_study(path)), FolderStore(store), RunOptions(), listener)
    assert len(lines) == 5 and all("it is run again" in line for line in lines)
    assert not summary.failures and outcomes(store) == outcomes(folder)


BROKEN = """
import sys

def at_once(state, action):
    raise RuntimeError("out of order")

def in_episodes(state, action):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals["__name__"] == "wmel.closed_loop.lockstep":
            raise RuntimeError("out of order")
        frame = frame.f_back
    return state
"""


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A folder with models that break, and studies of them."""
    (tmp_path / "broken.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda name: written(tmp_path, MAZE.replace("tests.experiments.still:dynamics", f"broken:{name}"))
    sys.modules.pop("broken", None)


def test_a_model_that_breaks_at_its_first_decision_is_refused_with_its_place(broken, tmp_path):
    with pytest.raises(BadInput, match=r"still/seed-0:.*broken.py,.*5,.*at_once\)"):
        run(broken("at_once"), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_cell_that_fails_is_written_down_and_the_rest_goes_on(broken, tmp_path):
    """One that passes its trial: every row of it is an error row, and it is said."""
    summary = run(broken("in_episodes"), tmp_path / "store")
    assert summary.episodes == 10 * 12
    (line,) = summary.failures
    assert says(line, "11 more: every ... RuntimeError:")
    assert len(list((tmp_path / "store" / "cells").rglob("*.parquet"))) == 10 * 3


def test_a_model_that_cannot_be_trained_fails_its_cells_and_the_rest_goes_on(tmp_path, monkeypatch):
    text = LEARNED.replace("epochs = 20", "epochs = 20\nhidden = [4]")
    path, store = written(tmp_path, text), tmp_path / "store"
    (store / "models").mkdir(parents=True)
    (store / "models").chmod(0o755)
    cells = study_of(read_study(path)).cells
    for key in trainings_of(cells):
        (store / "models" / key).write_text("in the way of the folder")
    summary = run(path, store)
    assert len([line for line in summary.failures if "its model" in line]) == 2
    assert summary.episodes == 4 * 4  # floor and oracle of two seeds
    failed = [json.loads(file.read_text())["failures"] for file in store.rglob("failed.json")]
    assert len(failed) == 2 and all("cannot write" in one["error"] for (one,) in failed)
    for key in trainings_of(cells):
        (store / "models" / key).unlink()
    healed = run(path, store)
    assert healed.episodes == 2 * 4 and healed.trained == 2 and not healed.failures
    assert not list(store.rglob("failed.json"))


def test_a_training_that_is_interrupted_ends_the_study_and_is_not_taken_for_a_model(tmp_path, monkeypatch):
    """A fit stops at Ctrl-C with the weights so far, which are not those of the recipe."""
    path, store = written(tmp_path, LEARNED), tmp_path / "store"

    def stop(*_):
        raise KeyboardInterrupt

    fit = MLPTrainer.fit
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(MLPTrainer, "fit", lambda self, environment, data, progress: fit(self, environment, data, stop))
        run(path, store)
    (card,) = store.rglob("card.json")
    assert json.loads(card.read_text())["fit"]["interrupted"] and not is_whole(card.parent)
    again = run(path, store)
    assert again.trained == 2 and not again.failures and is_whole(card.parent)


def test_models_are_trained_once(tmp_path):
    path = written(tmp_path, LEARNED)
    assert run(path, tmp_path / "store").trained == 2
    more = written(tmp_path, LEARNED.replace("plan_horizon = 10", "plan_horizon = 5"))
    again = run(more, tmp_path / "store")
    assert again.trained == 0 and again.episodes == 4 * 4  # the floor is stored


LATENT = """
name = "latent"
episodes = 2
horizon = 5
objectives = ["task-reward", "model-reward"]

[[environments]]
name = "dmc:cartpole-swingup"

[[criteria]]
success = "reward>=0.6"

[[models]]
name = "latent"
trainer = "latent-mlp"
transitions = 200
episode_steps = 40
epochs = 2

[[planners]]
name = "cem"
candidates = 16
plan_horizon = 4
"""


def test_a_latent_model_is_trained_by_its_recipe_and_planned_with_under_its_own_reward(tmp_path, wmel_command):
    path = written(tmp_path, LATENT)
    foreseen = wmel_command("study", str(path), "--output", str(tmp_path / "store"), "--dry-run")
    assert foreseen.returncode == 0, foreseen.stderr
    summary = run(path, tmp_path / "store")
    assert summary.trained == 1 and summary.episodes == 5 * 2 and not summary.failures
    (card,) = (tmp_path / "store").rglob("card.json")
    assert json.loads(card.read_text())["model"]["kind"] == "latent-mlp"


def test_a_latent_model_is_refused_settings_it_does_not_have_before_anything_runs(tmp_path, wmel_command):
    path = written(tmp_path, LATENT.replace("epochs = 2", "epochs = 2\ntarget = 'delta'"))
    done = wmel_command("study", str(path), "--output", str(tmp_path / "store"))
    assert done.returncode == 2 and says(done.stderr, "'latent-mlp' has no ... 'target'")
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.slow
def test_a_forecast_of_slow_cells_is_made_from_their_first_steps(tmp_path, wmel_command):
    slow = MAZE.replace("dynamics", "slow_dynamics").replace("horizon = 40", "horizon = 20_000")
    begin = time.perf_counter()
    foreseen = wmel_command("study", str(written(tmp_path, slow)), "--output", str(tmp_path / "store"), "--dry-run")
    took = time.perf_counter() - begin
    assert foreseen.returncode == 0, foreseen.stderr
    number, unit = foreseen.stdout.split("about ")[1].split(",")[0].split()
    plans = 2 * 2 * 12 * (20_000 // 10)  # seeds, horizons, episodes; at most 10 actions of a plan are carried out
    assert unit == "h" and float(number) * 3600 > plans * 20 * 5 * 0.001 > took


def test_rows_made_with_something_else_are_named_and_never_mixed(maze, tmp_path, wmel_command):
    path, folder = maze
    store = tmp_path / "store"
    shutil.copytree(folder, store)
    for file in store.rglob("000000-5.json"):
        lines = json.loads(file.read_text())
        lines["provenance"]["versions"]["numpy"] = "1.0.0"
        file.write_text(json.dumps(lines))
    victim = next(store.rglob("000010-2.json"))
    victim.unlink()
    refused = wmel_command("study", str(path), "--output", str(store))
    assert refused.returncode == 2 and "versions of numpy (1.0.0, now" in refused.stderr
    assert "--rerun=changed" in refused.stderr and "--keep" in refused.stderr
    kept = wmel_command("study", str(path), "--output", str(store), "--keep")
    assert kept.returncode == 0 and "12 episodes run" in kept.stdout  # the cell that was not whole, anew
    again = wmel_command("study", str(path), "--output", str(store), "--rerun", "changed")
    assert "108 episodes run" in again.stdout and outcomes(store) == outcomes(folder)


def test_a_second_process_is_refused_while_the_first_is_running(maze, tmp_path, wmel_command):
    path, _ = maze
    with FolderStore(tmp_path).locked():
        done = wmel_command("study", str(path), "--output", str(tmp_path))
    assert done.returncode == 2 and "another process is running in" in done.stderr
    assert wmel_command("study", str(path), "--output", str(tmp_path), "--limit", "1").returncode == 0


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_leaves_no_worker(tmp_path):
    text = MAZE.replace("episodes = 12", "episodes = 2000").replace("block = 5", "block = 20")
    path = written(tmp_path, text)
    process = started(path, tmp_path / "store", "--executor", "processes", "--workers", "2")
    for _ in range(600):
        if len(list((tmp_path / "store").rglob("*.parquet"))) > 3:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "wmel: interrupted" in err and "Traceback" not in err
    stored, _ = zip(
        *(FolderStore(tmp_path / "store").blocks(cell) for cell in study_of(read_study(path)).cells), strict=True
    )
    assert sum(map(len, stored)) >= 3


@pytest.mark.slow
def test_an_anytime_study_stops_where_it_is_decided(tmp_path):
    text = MAZE.replace("episodes = 12", "episodes = 100").replace("block = 5", "block = 10")
    text = (
        text.replace("{ sweep = [5, 10] }", "20")
        .replace("candidates = 20", "candidates = 100")
        .replace("[0, 1]", "[0]")
    )
    path = written(tmp_path, text)
    summary = run(path, tmp_path / "store", anytime=True)
    assert summary.episodes == 3 * 10  # one round decides that a model in which nothing moves is useless
    assert run(path, tmp_path / "store", anytime=True).episodes == 0
    whole = run(path, tmp_path / "store")
    assert whole.episodes == 3 * 90  # and the rest can be run later


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["truncated", "gone", "not safetensors"])
def test_a_damaged_model_is_trained_again_where_it_is_needed(tmp_path, damage):
    path, store = written(tmp_path, LEARNED), tmp_path / "store"
    run(path, store)
    before = outcomes(store)
    victim = sorted((store / "models").glob("*/weights.safetensors"))[0]
    if damage == "gone":
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes()[:40] if damage == "truncated" else b"x" * 400)
    assert run(path, store).trained == 0  # every row is there
    for file in store.rglob("000002-2.*"):
        file.unlink()
    again = run(path, store)
    assert again.trained == 1 and not again.failures and outcomes(store) == before


HOSTILE = [
    ("first", "Infinity"), ("first", "-1"), ("count", "20"), ("count", "0"), ("run", "[]"), ("provenance", "null"),
    ("sha256", '"x"'), ("cell", "{}"), ("seconds", '"long"'), ("run", '{"seeds": []}'), ("extra", "1"),
    ("objective", "[[]]"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), HOSTILE)
def test_a_block_that_lies_is_damage_and_is_run_again(maze, tmp_path, wmel_command, field, value):
    path, folder = maze
    store = tmp_path / "store"
    shutil.copytree(folder, store)
    victim = next(store.rglob("000005-5.json"))
    lines = json.loads(victim.read_text())
    holder = lines["run"]["policy_settings"] if field == "objective" else lines
    holder[field] = "HERE"
    victim.write_text(json.dumps(lines).replace('"HERE"', value))
    shown = wmel_command("report", str(store), "--quiet")
    assert shown.returncode == 0 and len(shown.stderr.splitlines()) == 1, shown.stderr
    assert run(path, store).episodes == 5 and outcomes(store) == outcomes(folder)


@pytest.mark.parametrize(
    "change", [{"cells": []}, {"cells": 3}, {"name": 4}, {"about": None}, {"format": 3}, {"anytime": "perhaps"}]
)
def test_a_manifest_that_lies_is_refused(maze, tmp_path, wmel_command, change):
    _, folder = maze
    lines = json.loads((folder / "study.json").read_text())
    (tmp_path / "study.json").write_text(json.dumps(lines | change))
    for verb in (["report", str(tmp_path)], ["compare", str(tmp_path), str(tmp_path)]):
        done = wmel_command(*verb)
        assert done.returncode == 2 and "is damaged" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_refused_study_changes_nothing(maze, tmp_path, wmel_command):
    _, folder = maze
    store = tmp_path / "store"
    shutil.copytree(folder, store)
    before = (store / "study.json").read_bytes()
    other = written(tmp_path, MAZE.replace("random-shooting", "ceem").replace("episodes = 12", "episodes = 3"))
    assert wmel_command("study", str(other), "--output", str(store)).returncode == 2
    assert (store / "study.json").read_bytes() == before


TWO_MODELS = """
name = "two models"
episodes = 60
seeds = [0, 1]
block = 20
horizon = 60

[[environments]]
name = "maze_toy"

[[models]]
name = "still"
object = "tests.experiments.still:dynamics"

[[models]]
name = "truth"
object = "tests.experiments.truth:model"

[[planners]]
name = "random-shooting"
candidates = 100
plan_horizon = 20
"""


@pytest.mark.slow
def test_an_anytime_study_can_go_on_and_is_never_read_as_one_of_fixed_size(tmp_path, wmel_command):
    """One model is decided in the first seed, the other goes on into the second."""
    path, store = written(tmp_path, TWO_MODELS), tmp_path / "store"
    first = run(path, store, anytime=True)
    assert first.episodes < 4 * 120 and run(path, store, anytime=True).episodes == 0
    run(path, store, limit=1)  # does not make it a study of fixed size
    assert FolderStore(store).manifest().anytime
    assert wmel_command("report", str(store)).returncode == 0
    gaps = json.loads((store / "results.json").read_text())["comparisons"][0]["gaps"]
    assert gaps["still"]["gap_method"] == gaps["truth"]["gap_method"] == "confidence sequence"
    assert gaps["still"]["n_episodes_learned"] == 20 and gaps["truth"]["n_episodes_learned"] > 20
    assert gaps["truth"]["claims"] is None and gaps["truth"]["relative_loss"]["value"] is None
    run(path, store)  # nothing is left out any more, but the gaps were looked at before
    assert FolderStore(store).manifest().anytime
