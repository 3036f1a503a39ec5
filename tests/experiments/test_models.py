"""Checkpoints are hashed and restored once, and only where something is left to do."""

import shutil
from functools import partial

import pytest

import wmel
from tests.experiments.studies import LEARNED, written
from tests.models.tdmpc2.untrained import untrained_checkpoint
from wmel import catalog, files
from wmel.api.study_entries import EntryBuilder
from wmel.errors import BadInput
from wmel.experiments import build
from wmel.experiments.build import _ModelCache, files_hash
from wmel.training import checkpoints

TINY = {"episodes": 1, "horizon": 2, "quiet": True, "settings": {"planner.candidates": 2, "planner.plan_horizon": 2}}
COUNT = 9


@pytest.fixture(scope="module")
def trained(maze_training, tmp_path_factory):
    """Several checkpoints of the maze."""
    folder = tmp_path_factory.mktemp("trained")
    for place in range(COUNT):
        shutil.copytree(maze_training.folder, folder / f"m{place}")
    return [folder / f"m{place}" for place in range(COUNT)]


@pytest.fixture
def restored(monkeypatch):
    """The folders that were restored, one by one."""
    seen, restore = [], checkpoints.restore

    def count(folder, *rest):
        seen.append(folder.name)
        return restore(folder, *rest)

    monkeypatch.setattr(checkpoints, "restore", count)
    monkeypatch.setattr(build, "_MODEL_CACHE", _ModelCache(build.MODEL_BYTES))
    return seen


def test_a_checkpoint_is_restored_once_and_not_at_all_where_nothing_is_left_to_do(trained, restored, tmp_path):
    gap = partial(wmel.cpg, "maze_toy", trained, seeds=[0, 1, 2], output=tmp_path / "gap", **TINY)
    gap()
    assert sorted(restored) == [folder.name for folder in trained]
    restored.clear()
    gap()
    assert not restored


def test_models_that_do_not_fit_are_restored_for_their_own_blocks_alone(trained, restored, monkeypatch):
    """One while they are tried, one while they run: the blocks of a model run together."""
    monkeypatch.setattr(build, "_MODEL_CACHE", _ModelCache(0))
    wmel.cpg("maze_toy", trained, seeds=[0, 1, 2], **TINY)
    assert len(restored) <= 2 * COUNT


def test_a_checkpoint_that_is_written_again_is_hashed_and_restored_again(trained, restored, tmp_path):
    folder = tmp_path / "m"
    shutil.copytree(trained[0], folder)
    before = files_hash(folder)
    wmel.cpg("maze_toy", folder, **TINY)
    wmel.train("mlp", "maze_toy", output=folder, epochs=1, quiet=True, seed=1)
    wmel.cpg("maze_toy", folder, **TINY)
    assert files_hash(folder) != before and restored == ["m", "m"]


def test_a_file_is_read_once_for_all_its_hashes(tmp_path, monkeypatch):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"weights")
    other.write_bytes(b"card")
    reads, read = [], type(one).read_bytes
    monkeypatch.setattr(type(one), "read_bytes", lambda self: (reads.append(self.name), read(self))[1])
    assert {files.hash_files(one, other) for _ in range(3)} != {files.hash_files(one)}
    assert reads == ["one", "other"]


def test_an_environment_of_the_catalogue_given_as_an_object_is_built_once_more_at_most(monkeypatch):
    built, make = [], catalog.environment
    world = make("maze_toy", max_steps=17)
    monkeypatch.setattr(catalog, "environment", lambda name, **how: (built.append(how), make(name, **how))[1])
    for _ in range(3):
        EntryBuilder.of(None).part("environment", world)
    assert len(built) <= 1


def test_a_recipe_without_output_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = wmel.cpg("maze_toy", {"m": {"name": "m", "trainer": "mlp", "epochs": 2}}, **TINY)
    assert not found.failures and not list(tmp_path.iterdir())


ELSEWHERE = """
name = "elsewhere"
episodes = 1
horizon = 2

[[environments]]
name = "dmc_cartpole"

[[models]]
name = "m"
trainer = "{trainer}"
environment = "dmc:cartpole-swingup"
seeds = [0]

[[planners]]
name = "random-shooting"
candidates = 2
plan_horizon = 2
"""


def test_a_recipe_of_another_environment_that_does_not_fit_is_refused_before_it_is_trained(tmp_path):
    with pytest.raises(BadInput, match="dmc:cartpole-swingup, not on dmc_cartpole"):
        wmel.study(written(tmp_path, ELSEWHERE.format(trainer="mlp")), output=tmp_path / "store", quiet=True)
    assert not (tmp_path / "store").exists()


def test_a_tdmpc2_that_is_trained_elsewhere_is_built_for_the_arm(tmp_path):
    trainer = {"name": "tdmpc2", "seed": 0}
    paths = build.ModelPaths(tmp_path, tmp_path)
    recipe = {"trainer": trainer, "environment": {"name": "dmc:cartpole-swingup"}}
    assert build.build_model_for_check({"name": "dmc_cartpole"}, recipe, paths).spec.name == "tdmpc2"


SEEDS = LEARNED.replace('trainer = "mlp"\nepochs = 20', 'checkpoint = "m{seed}"').replace("[0, 1]", "[0, 1, 2]")


def test_the_checkpoint_of_every_seed_is_checked_before_anything_runs(trained, tmp_path):
    for seed in range(3):
        shutil.copytree(trained[seed], tmp_path / f"m{seed}")
    weights = tmp_path / "m2" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"abcd")
    with pytest.raises(BadInput, match=r"/seed-2: .*m2/weights.safetensors does not match"):
        wmel.study(written(tmp_path, SEEDS), output=tmp_path / "store", quiet=True)
    assert not (tmp_path / "store").exists()


def test_one_checkpoint_of_each_kind_is_timed_by_a_forecast(tmp_path, capsys):
    world = catalog.environment("dmc:cartpole-swingup")
    for place in (0, 1):
        untrained_checkpoint(tmp_path / f"td{place}", world)
    text = ELSEWHERE.replace(
        'trainer = "{trainer}"\nenvironment = "dmc:cartpole-swingup"\nseeds = [0]', 'checkpoint = "td0"'
    )
    text = text.replace("[[planners]]", '[[models]]\nname = "n"\ncheckpoint = "td1"\n\n[[planners]]')
    assert wmel.study(written(tmp_path, text), output=tmp_path / "store", dry_run=True).rows[0]["cells"] == 4
    tried = [line for line in capsys.readouterr().err.splitlines() if "trying" in line]
    assert len(tried) == 3  # floor, oracle and one model


def test_weights_of_a_checkpoint_leave_the_world_they_are_restored_for_alone(tmp_path):
    """A network keeps the bounds of actions among its weights."""
    world = catalog.environment("dmc:cartpole-swingup")
    weights, card = checkpoints.read_checkpoint(untrained_checkpoint(tmp_path / "td", world))
    wider = {name: value * 2 if name in ("low", "high") else value for name, value in weights.items()}
    checkpoints.write_checkpoint(tmp_path / "td", wider, card)
    assert checkpoints.restore(tmp_path / "td", world).network.high == 2
    assert world.spec.actions.low == -1 and world.spec.actions.high == 1


@pytest.mark.parametrize(("elsewhere", "trainings"), [({}, 2), ({"environment": "two_room_toy"}, 4)])
def test_a_dry_run_counts_each_training_once_however_many_checkpoints_it_has(elsewhere, trainings, tmp_path):
    """A diagnostic in another environment needs models that are trained there."""
    recipe = {"name": "m", "trainer": "mlp", "epochs": 3, "checkpoints": [1, 2, 3], "hidden": [4], "seeds": [0, 1]}
    data = {"name": "s", "seeds": [0, 1], "episodes": 1, "horizon": 2, "environments": ["maze_toy"], "models": [recipe]}
    data["planners"] = [{"name": "cem", "candidates": 2, "plan_horizon": 2}]
    data["diagnostics"] = [{"name": "prediction-error", "states": 2, "steps": 2, **elsewhere}]
    (foreseen,) = wmel.study(data, output=tmp_path / "store", dry_run=True, quiet=True).rows
    done = wmel.study(data, output=tmp_path / "store", quiet=True)
    assert (
        foreseen["models"] == done.summary.trained == len(list((tmp_path / "store" / "models").iterdir())) == trainings
    )
    (left,) = wmel.study(data, output=tmp_path / "store", dry_run=True, quiet=True).rows
    assert left["models"] == 0
