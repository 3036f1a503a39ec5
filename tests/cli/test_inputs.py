"""How a checkpoint imagines, as the commands that take one are told."""

import json
import shutil

import pytest

from tests.conftest import says
from wmel.api.study_entries import EntryBuilder
from wmel.errors import BadInput
from wmel.reports.records import read_record

ENV = "--env dmc:cartpole-swingup"
SHORT = "--success reward>=0.6 --candidates 8"


@pytest.fixture(scope="module")
def models(swingup_tdmpc2, swingup_mlp, tmp_path_factory):
    """A folder with a tdmpc2 and an mlp of the same world."""
    folder = tmp_path_factory.mktemp("models")
    for checkpoint in (swingup_tdmpc2, swingup_mlp):
        shutil.copytree(checkpoint, folder / checkpoint.name)
    return folder


def test_the_policy_of_a_checkpoint_is_run_alone(wmel_command, models):
    line = f"run {ENV} --policy prior --model td --episodes 2 --horizon 4 --success reward>=0.6 --output prior.json"
    done = wmel_command(*line.split(), cwd=models)
    assert done.returncode == 0, done.stderr
    record = json.loads((models / "prior.json").read_text())
    metadata = record["metadata"]
    assert metadata["policy"] == "prior" and metadata["model"] == "tdmpc2" and metadata["planner"] is None
    assert len(metadata["weights"]) == 64 and record["scorecard"]["average_compute_per_decision"] == 0


@pytest.mark.parametrize(
    ("line", "record"),
    [
        (f"run {ENV} {SHORT} --policy cem --episodes 1 --horizon 2 --plan-horizon 3 --output run.json", "run.json"),
        (
            f"sweep {ENV} {SHORT} --policy cem --plan-horizons 2 --episodes-per-point 1 --episode-horizon 2 --output s",
            "s/sweep.json",
        ),
        (f"cpg {ENV} {SHORT} --planner cem --episodes 2 --horizon 2 --plan-horizon 3 --output gap", "gap/td.json"),
    ],
    ids=lambda text: text.split()[0],
)
def test_a_checkpoint_plans_decoded_and_its_record_says_so(wmel_command, models, line, record):
    done = wmel_command(*line.split(), "--model", "./td", "--rollout", "decoded", cwd=models)
    assert done.returncode == 0, done.stderr
    assert json.loads((models / record).read_text())["metadata"]["model"] == "tdmpc2-decoded"


def test_gradients_go_through_the_decoder_at_every_step(wmel_command, models):
    """The same states and noise, another model."""
    line = f"esnr {ENV} --model ./td --methods fog --states 4 --samples 4 --plan-horizon 3 --no-oracle --quiet"
    values = {}
    for way in ("latent", "decoded"):
        done = wmel_command(*line.split(), "--rollout", way, "--output", way, cwd=models)
        assert done.returncode == 0, done.stderr
        (reading,) = read_record(models / way / "esnr.json").readings
        values[way] = reading.per_state
    assert values["latent"] != values["decoded"]


def test_a_rollout_is_for_the_checkpoints_that_have_a_choice(wmel_command, models):
    line = f"cpg {ENV} {SHORT} --planner cem --episodes 2 --horizon 2 --plan-horizon 3 --rollout decoded --output both"
    done = wmel_command(*line.split(), "--model", "./td", "--model", "./mlp", cwd=models)
    assert done.returncode == 0, done.stderr
    named = {arm: json.loads((models / f"both/{arm}.json").read_text())["metadata"]["model"] for arm in ("td", "mlp")}
    assert named == {"td": "tdmpc2-decoded", "mlp": "mlp"}
    assert "objective: task-reward" in done.stdout


def test_a_checkpoint_given_by_its_card_has_the_choice_too(models):
    builder = EntryBuilder.of(None, model={"rollout": "decoded"})
    found = builder.models([str(models / "td" / "card.json"), models / "mlp"])
    assert [(entry["name"], entry["checkpoint"]) for entry in found] == [
        (name, str(models / name)) for name in ("td", "mlp")
    ]
    assert [entry.get("rollout") for entry in found] == ["decoded", None]


def test_a_kind_that_is_no_word_is_refused(models, tmp_path):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "card.json").write_text(json.dumps({"model": {"kind": ["tdmpc2"]}, "weights_sha256": ""}))
    with pytest.raises(BadInput):
        EntryBuilder.of(None, model={"rollout": "latent"}).models([tmp_path / "odd", models / "td"])


def test_gradients_are_asked_where_a_models_own_policy_goes(wmel_command, models):
    line = f"esnr {ENV} --model ./td --methods fog --states 4 --samples 4 --plan-horizon 3 --no-oracle --from prior"
    done = wmel_command(*line.split(), "--output", "by-prior", cwd=models)
    assert done.returncode == 0, done.stderr
    assert ", by td" in read_record(models / "by-prior" / "esnr.json").source


def test_a_checkpoint_of_another_task_is_pointed_out(wmel_command, models):
    """The pole is the same, what is asked of it is not."""
    line = "--policy prior --model ./td --episodes 1 --horizon 2 --success reward>=0.6"
    passed = {}
    for env in ("dmc:cartpole-balance", "dmc:cartpole-swingup"):
        done = wmel_command("run", "--env", env, *line.split(), cwd=models)
        assert done.returncode == 0, done.stderr
        passed[env] = "was trained on dmc:cartpole-swingup, and this is dmc:cartpole-balance" in done.stderr
    assert passed == {"dmc:cartpole-balance": True, "dmc:cartpole-swingup": False}


MLP = "a model of kind mlp has only one rollout: leave out rollout 'decoded'"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"run {ENV} --policy cem --model ./mlp --rollout decoded", MLP),
        (f"sweep {ENV} --policy cem --model ./mlp --rollout decoded", MLP),
        (f"cpg {ENV} --success reward>=0.6 --model ./mlp --rollout decoded", MLP),
        (f"esnr {ENV} --model ./mlp --rollout decoded", MLP),
        (f"run {ENV} --policy cem --model ./td --rollout spoken", "'spoken'; known: latent, decoded"),
        (
            f"run {ENV} --policy cem --rollout decoded",
            "rollout ... checkpoints;",
        ),
        (f"run {ENV} --policy cem --device cpu", "device ... checkpoints,"),
        (f"esnr {ENV} --model oracle --rollout decoded", "rollout ... checkpoints;"),
        (f"run {ENV} --policy prior --model ./mlp", "mlp has no ... tdmpc2"),
        (f"run {ENV} --policy native --model ./mlp", "such as a tdmpc2"),
        (f"run {ENV} --policy prior", "prior needs a model"),
    ],
)
def test_what_a_model_cannot_do_is_refused_in_one_line(wmel_command, models, line, words):
    done = wmel_command(*line.split(), cwd=models)
    assert done.returncode == 2 and says(done.stderr, words), done.stderr
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("wmel: ")
