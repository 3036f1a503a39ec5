"""`wmel train latent-mlp` and `wmel train tdmpc2`, and commands that take what they make; test_cpg.py has the mlp."""

import json

import pytest
import torch

from tests.conftest import says


@pytest.fixture(scope="module")
def models(wmel_command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    line = "train latent-mlp --env dmc:cartpole-swingup --transitions 300 --episode-steps 50 --epochs 3 --output cart"
    done = wmel_command(*line.split(), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "held_out_episode_reward_mse: " in done.stdout and "n/a" not in done.stdout
    assert "300/300 transitions" in done.stderr and "3/3 epochs" in done.stderr
    return folder


@pytest.mark.parametrize("objective", ["task-reward", "model-reward"])
def test_a_gap_is_measured_with_it(wmel_command, models, objective):
    line = (
        "cpg --env dmc:cartpole-swingup --model cart --planner cem --candidates 16 --episodes 2 --horizon 6 "
        f"--plan-horizon 4 --success reward>=0.6 --objective {objective} --output {objective}"
    )
    done = wmel_command(*line.split(), cwd=models)
    assert done.returncode == 0, done.stderr
    record = json.loads((models / objective / "cpg.json").read_text())
    assert set(record["arms"]) == {"oracle", "cart", "random"} and record["cpgs"]["cart"]["n_episodes_learned"] == 2
    stored = json.loads((models / objective / record["arms"]["cart"]).read_text())
    assert all(row["error"] is None for row in stored["results"])


def test_it_is_run_by_itself(wmel_command, models):
    line = "run --env dmc:cartpole-swingup --policy cem --model cart --episodes 2 --horizon 6 --success reward>=0.6"
    done = wmel_command(*line.split(), "--candidates", "16", "--output", "run.json", cwd=models)
    assert done.returncode == 0, done.stderr
    metadata = json.loads((models / "run.json").read_text())["metadata"]
    assert metadata["model"] == "latent-mlp" and len(metadata["weights"]) == 64


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--env dmc_cartpole --target delta", "'latent-mlp' ... 'target'"),
        ("--env maze_toy", "latent-mlp ... maze_toy has none"),
    ],
)
def test_what_it_cannot_do_is_refused_before_anything_is_collected(wmel_command, tmp_path, line, words):
    done = wmel_command("train", "latent-mlp", *line.split(), "--output", "x", cwd=tmp_path)
    assert done.returncode == 2 and says(done.stderr, f"wmel: ... {words}") and done.stderr.count("\n") == 1


WORLDS = """
from tests.training.tdmpc2.test_train import Breaking
from wmel import catalog

short = catalog.environment("dmc:cartpole-swingup", max_steps=12)
breaking = Breaking(catalog.environment("dmc:cartpole-swingup", max_steps=5), 1 + 55)
"""
TINY = "--envs 50 --decoder-steps 10 --output td"  # 50 steps of all 50 are what seeding takes


@pytest.fixture(scope="module")
def own_worlds(tmp_path_factory):
    """A folder with environments of its own."""
    folder = tmp_path_factory.mktemp("worlds")
    (folder / "worlds.py").write_text(WORLDS)
    return folder


@pytest.mark.slow
def test_a_tdmpc2_is_trained_and_plans_by_itself(wmel_command, own_worlds):
    done = wmel_command(*f"train tdmpc2 --env worlds:short --updates 4 {TINY}".split(), cwd=own_worlds)
    assert done.returncode == 0, done.stderr
    assert "2,600 transitions of 250 episodes, 4 updates" in done.stdout and "checkpoint: td" in done.stdout
    assert "return of its policy: " in done.stdout and "4 updates (" in done.stderr
    card = json.loads((own_worlds / "td" / "card.json").read_text())
    assert card["fit"]["updates_taken"] == 4 and card["fit"]["decoder_steps"] == 10
    line = "run --env worlds:short --policy native --model ./td --episodes 1 --horizon 2 --success reward>=0.6"
    done = wmel_command(*line.split(), "--output", "run.json", cwd=own_worlds)
    assert done.returncode == 0, done.stderr
    metadata = json.loads((own_worlds / "run.json").read_text())["metadata"]
    assert (
        metadata["model"] == "tdmpc2"
        and metadata["planner"]["name"] == "latent-mppi"
        and len(metadata["weights"]) == 64
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--env worlds:short --size 2", "size must be ... got '2'"),
        ("--env worlds:short --transitions 100", "'tdmpc2' ... 'transitions'"),
        ("--env worlds:short --hidden 8,8", "'tdmpc2' ... 'hidden'"),
        ("--env worlds:short --device tpu", "device 'tpu' ... cpu, cuda"),
        ("--env dmc_cartpole", "tdmpc2 ... continuous actions ... dmc_cartpole"),
    ],
)
def test_a_tdmpc2_that_cannot_be_is_refused(wmel_command, own_worlds, line, words):
    done = wmel_command("train", "tdmpc2", *line.split(), "--output", "no", "--quiet", cwd=own_worlds)
    assert done.returncode == 2 and says(done.stderr, f"wmel: ... {words}") and done.stderr.count("\n") == 1
    assert not (own_worlds / "no").exists()


def test_a_gpu_that_is_not_here_is_refused(wmel_command, own_worlds, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    line = "train tdmpc2 --env worlds:short --device cuda --output no --quiet"
    done = wmel_command(*line.split(), cwd=own_worlds)
    assert done.returncode == 2 and done.stderr == "wmel: device cuda is not available: torch finds 0 CUDA devices\n"


@pytest.mark.slow
def test_where_it_diverges_the_best_weights_are_kept_and_said_where(wmel_command, own_worlds):
    """Ten rounds of seeding, one that is rated, and then rewards that are no numbers."""
    line = f"train tdmpc2 --env worlds:breaking --updates 1000 {TINY}2 --quiet"
    done = wmel_command(*line.split(), cwd=own_worlds)
    assert done.returncode == 2 and says(done.stderr, "wmel: ... NaN or infinite")
    assert done.stderr.endswith("written to td2\n") and done.stderr.count("\n") == 1
    card = json.loads((own_worlds / "td2" / "card.json").read_text())
    assert card["fit"]["diverged"] in done.stderr and (own_worlds / "td2" / "weights.safetensors").exists()


@pytest.mark.parametrize("option", ["--updates 5", "--decoder-steps 5"])
def test_what_only_a_tdmpc2_has_is_refused_for_others(wmel_command, own_worlds, option):
    done = wmel_command("train", "mlp", "--env", "worlds:short", *option.split(), "--output", "no", cwd=own_worlds)
    setting = option.split()[0].lstrip("-").replace("-", "_")
    assert done.returncode == 2 and says(done.stderr, f"'mlp' has no setting '{setting}'")
