"""`wmel train latent-mlp`, and every command that takes what it makes; test_cpg.py has the mlp."""

import json

import pytest


@pytest.fixture(scope="module")
def models(wmel_command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    line = "train latent-mlp --env dmc:cartpole-swingup --transitions 300 --episode-steps 50 --epochs 3 --output cart"
    done = wmel_command(*line.split(), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "held_out_episode_reward_mse: " in done.stdout and "held_out_transition_mse: n/a" in done.stdout
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
    said = json.loads((models / "run.json").read_text())["metadata"]
    assert said["model"] == "latent-mlp" and len(said["weights"]) == 64


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--env dmc_cartpole --target delta", "trainer 'latent-mlp' has no setting 'target'"),
        ("--env maze_toy", "maze_toy gives no reward, which a latent-mlp learns: train mlp instead"),
    ],
)
def test_what_it_cannot_do_is_refused_before_anything_is_collected(wmel_command, tmp_path, line, words):
    done = wmel_command("train", "latent-mlp", *line.split(), "--output", "x", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == f"wmel: {words}\n"
