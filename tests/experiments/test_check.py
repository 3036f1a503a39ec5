"""Fail before spending: what cannot work is refused with the user's own file and line, and nothing is run."""

import json
import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import wmel
from tests.experiments.studies import LEARNED, MAZE, read_study, written
from tests.experiments.test_swept import CHECKPOINT
from wmel.contract.trainer import ProgressListener
from wmel.errors import BadInput
from wmel.experiments.executors import Failure
from wmel.experiments.expand import study_of
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.run import RunOptions, run_study

CODE = """
import numpy as np
import wmel


class Model:
    spec = wmel.WorldModelSpec("model", action_input="index")
    def encode(self, percept, previous): return percept.observation
    def step(self, latents, actions): return latents
    def decode(self, latents): return latents

class Narrow(Model):
    def step(self, latents, actions): return latents[:, :1]

class NotFinite(Model):
    def step(self, latents, actions): return latents * np.nan

class Missing(Model):
    def __init__(self): open("/nowhere/weights.pt")

class Empty(Model):
    def __init__(self): [][0]

class Breaks(Model):
    spec = wmel.WorldModelSpec("breaks")
    def step(self, latents, actions):
        raise ValueError("out of order")

good, narrow, not_finite, breaks = Model(), Narrow(), NotFinite(), Breaks()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "spent.py").write_text(CODE)
    (tmp_path / "raising.py").write_text("x = 1\nraise ValueError('no weights')\n")
    for name in ("mine", "raising"):  # other tests have modules of these names
        sys.modules.pop(name, None)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("spent", "raising"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("model", "place"),
    [
        ("spent:narrow", "spent.py, line 13, in step"),
        ("spent:not_finite", "spent.py, line 16, in step"),
        ("spent:Missing", "spent.py, line 19, in __init__"),
        ("spent:Empty", "spent.py, line 22, in __init__"),
        ("raising:x", "raising.py, line 2, in <module>"),
    ],
)
def test_what_breaks_is_one_line_with_its_place(module, wmel_command, tmp_path, model, place):
    done = wmel_command("cpg", "--env", "maze_toy", "--model", model, "--output", str(tmp_path / "store"))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and place in done.stderr, done.stderr
    assert not (tmp_path / "store").exists()


def test_a_model_that_cannot_be_read_is_refused_before_another_is(module, tmp_path):
    how = {"methods": ["zog"], "states": 4, "samples": 4, "plan_horizon": 3, "quiet": True}
    with pytest.raises(BadInput, match=r"breaks/seed-0:.*spent.py,.*27,"):
        wmel.esnr("dmc:cartpole-swingup", ["spent:good", "spent:breaks"], output=tmp_path / "esnr", **how)
    assert not list(tmp_path.rglob("reading.json"))


@pytest.mark.parametrize("trainer", ["mlp", "tdmpc2"])
def test_data_that_is_not_there_is_refused_before_anything_runs(tmp_path, trainer):
    text = LEARNED.replace('trainer = "mlp"\nepochs = 20', f'trainer = "{trainer}"\ndata = "nowhere"')
    text = text.replace("maze_toy", "dmc:cartpole-swingup") + "\n[[criteria]]\ncriterion = 'reward>=0.6'"
    with pytest.raises(BadInput, match=r"nowhere contains no episodes"):
        wmel.study(written(tmp_path, text), output=tmp_path / "store")
    assert not (tmp_path / "store").exists()


OBJECT = 'object = "tests.experiments.still:dynamics"'
HERE = "[[models]]"  # where a table is inserted
UPRIGHT = '[[objectives]]\nname = "upright"\n'
PLACES = {  # text of a study -> what replaces it, the place and the offending value
    "a missing checkpoint": (OBJECT, 'checkpoint = "absent"', "models[0]", "absent"),
    "another world's checkpoint": (OBJECT, f'checkpoint = "{CHECKPOINT}"', "models[0]", "maze_toy"),
    "a model that breaks": (OBJECT, 'object = "spent:breaks"', "models[0]", "out of order"),
    "a policy of the model": (OBJECT, f'{OBJECT}\npolicy = "native"', "models[0]", "four methods"),
    "a policy without a model": (HERE, f'[[policies]]\nname = "native"\n{HERE}', "policies[0]", "native"),
    "a quantity": (HERE, f'[[criteria]]\ncriterion = "rewrd>=1"\n{HERE}', "criteria[0]", "'rewrd'"),
    "an objective": (HERE, f"{UPRIGHT}{HERE}", "objectives[0]", "'upright'"),
    "a strike too late": (HERE, f'[[perturbations]]\nname = "drop-next"\nstep = 77\n{HERE}', "perturbations[0]", "77"),
    "more executed than planned": ("candidates = 20", "execute = 99", "planners[0]", "99"),
    "a reading": (HERE, f'[[diagnostics]]\nname = "esnr"\nmethods = ["fog"]\n{HERE}', "diagnostics[0]", "levels"),
}


@pytest.mark.parametrize(("old", "new", "place", "offending"), PLACES.values(), ids=list(PLACES))
def test_what_is_refused_after_reading_names_its_place_in_the_file(module, tmp_path, old, new, place, offending):
    path = written(tmp_path, MAZE.replace(old, new))
    for options in ({}, {"dry_run": True}):
        with pytest.raises(BadInput) as refused:
            wmel.study(path, output=tmp_path / "store", quiet=True, **options)
        assert str(refused.value).startswith(f"{path}: {place}: ") and offending in str(refused.value)
    assert not (tmp_path / "store").exists()


def test_places_are_not_stored(tmp_path):
    path = written(tmp_path, MAZE)
    cells = study_of(read_study(path)).cells
    assert {kind: place for cell in cells for kind, place in cell.places.items()} == {
        "environment": f"{path}: environments[0]",
        "perturbation": f"{path}: perturbations[0]",
        "criterion": f"{path}: criteria[0]",
        "planner": f"{path}: planners[0]",
        "model": f"{path}: models[0]",
    }
    assert not any("places" in cell.as_data() for cell in cells)


class FailsModels:
    """An executor that fails every block of a model."""

    workers = 1

    def __call__(self, work, jobs):
        for job in jobs:
            yield job, (Failure("out of memory") if job.cell.arm.model else work(job))


def test_every_failed_block_is_kept_and_a_reason_is_one_line(tmp_path):
    study, store = study_of(read_study(written(tmp_path, MAZE))), FolderStore(tmp_path / "store")
    summary = run_study(study, store, RunOptions(executor=FailsModels(), only="*=5*/still/*"), ProgressListener())
    assert [line.partition(" and ")[2] for line in summary.failures] == ["5 more: out of memory"]
    kept = [json.loads(path.read_text())["failures"] for path in store.folder.rglob("failed.json")]
    assert len(kept) == 2 and all(len({one["where"] for one in failures}) == 3 for failures in kept)


def test_a_failure_of_an_earlier_version_is_read(tmp_path):
    study, store = study_of(read_study(written(tmp_path, MAZE))), FolderStore(tmp_path / "store")
    cell = study.cells[0]
    store.write_failure(cell, "block", "new")
    (path,) = store.folder.rglob("failed.json")
    path.write_text(json.dumps({"cell": cell.as_data(), "where": "block", "error": "old"}))
    assert store.failure(cell) == "old"
    store.write_failure(cell, "other", "new")
    assert store.failure(cell) == "old; new"


def test_parts_are_tried_on_as_few_threads_as_they_run(monkeypatch):
    """At the sizes of a plan a second thread of torch or BLAS costs time, on a busy machine most of it."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    threads = []

    def watched(state, action):
        threads.extend(pool["num_threads"] for pool in threadpool_info())
        return state

    with threadpool_limits(limits=2):
        wmel.run("maze_toy", "cem", model={"watched": watched}, episodes=1, horizon=1, candidates=2, quiet=True)
    assert set(threads) == {1}
