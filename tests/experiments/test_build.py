"""How the model of an arm imagines and acts, and what it is planned on."""

import json
import shutil

import pytest

from tests.conftest import says
from tests.experiments.studies import LEARNED, read_study, written
from wmel import catalog
from wmel.analysis.pooling import study_comparisons
from wmel.contract.trainer import ProgressListener
from wmel.errors import BadInput
from wmel.experiments.build import ModelPaths
from wmel.experiments.expand import study_of
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.load import load_study
from wmel.experiments.run import RunOptions, run_study
from wmel.machine import limit_threads
from wmel.reports.analysis_record_types import StudyRecord
from wmel.reports.study_curves import study_curves
from wmel.reports.study_gaps import study_gaps
from wmel.reports.study_report import gap_sentence
from wmel.training.checkpoints import restore

TDMPC2 = """
name = "tdmpc2"
episodes = 2
block = 2
horizon = 3

[[environments]]
name = "dmc:cartpole-swingup"

[[criteria]]
success = "reward>=0.6"

[[models]]
name = "latent"
checkpoint = "td"

[[models]]
name = "decoded"
checkpoint = "td"
rollout = "decoded"

[[models]]
name = "own planner"
checkpoint = "td"
policy = "native"

[[models]]
name = "policy alone"
checkpoint = "td"
policy = "prior"

[[planners]]
name = "cem"
candidates = 16
plan_horizon = 4
"""
MODELS = ("latent", "decoded", "own planner", "policy alone")


def run(path, folder, **how):
    with limit_threads(1):
        return run_study(study_of(read_study(path)), FolderStore(folder), RunOptions(**how), ProgressListener())


@pytest.fixture(scope="module")
def study(swingup_tdmpc2, tmp_path_factory):
    """A study of one checkpoint used in four ways, and its store."""
    folder = tmp_path_factory.mktemp("tdmpc2")
    path = written(folder, TDMPC2)
    shutil.copytree(swingup_tdmpc2, folder / "td")
    summary = run(path, folder / "store")
    assert summary.episodes == 2 * (2 + len(MODELS)) and not summary.failures
    return path, folder / "store"


def test_each_arm_imagines_and_acts_as_its_model_says(study):
    runs = {one.cell.arm.name: one.run for one in load_study(study[1]).results if one.cell.seed == 0}
    assert all(set(run.table["error"]) == {""} for run in runs.values())
    assert [runs[arm].policy_name for arm in MODELS] == ["cem", "cem", "native", "prior"]
    assert [runs[arm].policy_settings["model"] for arm in MODELS] == ["tdmpc2", "tdmpc2-decoded", "tdmpc2", "tdmpc2"]
    assert len({runs[arm].policy_settings["weights"] for arm in MODELS}) == 1
    assert len({tuple(runs[arm].table["return"]) for arm in MODELS}) == len(MODELS)
    assert not runs["policy alone"].table["declared_compute"].any()


def test_an_arm_that_acts_by_itself_is_compared_with_the_oracle_of_the_setting(study, wmel_command):
    compared = study_comparisons(load_study(study[1]).results)
    (comparison,) = compared.comparisons
    assert not compared.refused and comparison.arms.own_policies == {"own planner", "policy alone"}
    done = wmel_command("report", str(study[1]), "--quiet")
    assert done.returncode == 0 and not done.stderr
    record = json.loads((study[1] / "results.json").read_text())
    assert set(record["comparisons"][0]["gaps"]) == set(MODELS) and not record["refused"]
    read = StudyRecord.model_validate(record)
    sentences = {gap.model: gap_sentence(gap) for gap in study_gaps(read)}
    assert (
        "acts by itself (native)" in sentences["own planner"] and "acts by itself (prior)" in sentences["policy alone"]
    )
    assert "acts by itself" not in sentences["latent"] + sentences["decoded"]
    assert not study_curves(read)  # which policy acts is no number
    report = (study[1] / "report.md").read_text()
    assert "by its own policy (native)" in report and "by its own policy (prior)" in report
    assert "latent by its own policy" not in report


@pytest.fixture(scope="module")
def with_mlp(maze_training, tmp_path_factory):
    """A folder with a checkpoint of the maze."""
    folder = tmp_path_factory.mktemp("mlp")
    shutil.copytree(maze_training.folder, folder / "mlp")
    return folder


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("rollout = 'decoded'", "kind mlp .* rollout 'decoded'"),
        ("rollout = 'latent'", "kind mlp .* rollout 'latent'"),
        ("policy = 'prior'", "mlp has no policy .* prior"),
        ("policy = 'native'", "native needs .* encode, rollout, score"),
    ],
)
@pytest.mark.parametrize("model", ["trainer = 'mlp'\nepochs = 2", "checkpoint = 'mlp'"], ids=["trainer", "checkpoint"])
def test_what_a_model_cannot_do_is_refused_before_anything_runs(with_mlp, tmp_path, model, use, words):
    changed = LEARNED.replace('trainer = "mlp"\nepochs = 20\nseeds = [0, 1]', f"{model}\n{use}")
    with pytest.raises(BadInput, match=f"maze_toy/.*/mlp/seed-0: .*{words}"):
        run(written(with_mlp, changed), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_model_that_is_not_trained_yet_is_tried_where_it_will_be(tmp_path, wmel_command):
    foreseen = wmel_command("study", str(written(tmp_path, LEARNED)), "--dry-run", "--device", "cpu")
    assert foreseen.returncode == 0 and "2 models to train" in foreseen.stdout, foreseen.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--device cuda:99", "cuda:99 is not available"),
        ("--device abacus --dry-run", "device 'abacus' ... cpu, cuda"),
    ],
)
def test_a_device_that_is_not_here_is_refused_before_anything_runs(tmp_path, wmel_command, options, words):
    path = written(tmp_path, LEARNED)
    done = wmel_command("study", str(path), "--output", str(tmp_path / "store"), *options.split())
    assert done.returncode == 2 and says(done.stderr, f"wmel: ... {words}"), done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "store").exists()


def devices_changed(store, change):
    """The provenance of every block of a checkpoint, changed; how many there are."""
    files = [file for file in sorted(store.rglob("0*.json")) if json.loads(file.read_text())["cell"]["arm"]["model"]]
    for file in files:
        sentences = json.loads(file.read_text())
        change(sentences["provenance"])
        file.write_text(json.dumps(sentences))
    return len(files)


def test_rows_say_their_device_and_those_that_do_not_were_made_on_a_cpu(study, tmp_path):
    path, store = study[0], tmp_path / "store"
    shutil.copytree(study[1], store)
    assert {json.loads(file.read_text())["provenance"]["device"] for file in store.rglob("0*.json")} == {"cpu"}
    assert devices_changed(store, lambda provenance: provenance.pop("device")) == len(MODELS)
    assert run(path, store).episodes == 0


def test_rows_of_two_devices_are_never_mixed(study, tmp_path):
    """Stored on a GPU, gone on with on a CPU."""
    path, store = study[0], tmp_path / "store"
    shutil.copytree(study[1], store)
    devices_changed(store, lambda provenance: provenance.update(device="cuda"))
    more = written(path.parent, TDMPC2.replace("episodes = 2", "episodes = 4"), "more")
    with pytest.raises(BadInput, match=r"^1 cells were computed"):
        run(more, store, only="*/policy alone/*")
    assert run(more, store, only="*/policy alone/*", when_changed="keep").episodes == 4
    cells = [cell for cell in study_of(read_study(more)).cells if cell.arm.name == "policy alone"]
    blocks = [block for cell in cells for block in FolderStore(store).blocks(cell)[0]]
    assert len(blocks) == 2 and {block.provenance["device"] for block in blocks} == {"cpu"}
    assert run(path, store, only="*coded/*", when_changed="keep").episodes == 0  # a whole one stands
    assert run(path, store, only="*coded/*", when_changed="rerun").episodes == 2


def test_the_device_is_that_of_checkpoints_alone(study):
    """So that oracle and floor need not be run again."""
    paths = ModelPaths(study[1], study[0].parent, "cuda:1")
    cells = study_of(read_study(study[0])).cells
    found = {cell.arm.name: paths.device_of(cell.task.environment, cell.arm.model) for cell in cells}
    assert found == {"random": "cpu", "oracle": "cpu", **dict.fromkeys(MODELS, "cuda")}


def test_a_checkpoint_is_restored_to_imagine_as_asked(study):
    world, folder = catalog.environment("dmc:cartpole-swingup"), study[0].parent / "td"
    ways = {way: restore(folder, world, rollout=way).spec for way in (None, "latent", "decoded")}
    assert ways[None] == ways["latent"] and ways["decoded"].name == "tdmpc2-decoded"
    assert ways["decoded"].weights == ways["latent"].weights
