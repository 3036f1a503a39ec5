"""Every verb once as a real process: it starts, its exit code is 0, and it prints."""

import shutil

import pytest
import torch

import wmel
from tests.training.tdmpc2.test_official import published
from wmel.cli.main import VERBS
from wmel.models.tdmpc2.network import SIZES, TDMPC2

SWINGUP = "--env dmc:cartpole-swingup"
READ = f"{SWINGUP} --model mlp --plan-horizon 2 --states 4 --samples 4 --methods zog --no-oracle"
LINES = {  # verb -> its arguments, and a word of what it prints
    "run": ("--episodes 2 --output run.json", "success_rate"),
    "sweep": ("--episodes 2 --plan-horizons 3,5", "plan_horizon"),
    "cpg": ("--env maze_toy --model net --episodes 2", "oracle"),
    "diagnose": (f"prediction-error {SWINGUP} --model mlp --states 4 --steps 2", "mlp"),
    "esnr": (READ, "zog"),
    "esnr toy": ("--speeds 4.5 --seeds 1", "FoG"),
    "esnr over-training": (f"trained {READ.replace('--model mlp', '--output over')}", "zog"),
    "train": ("mlp --env maze_toy --epochs 2 --output trained-mlp", "checkpoint: trained-mlp"),
    "convert": (f"official.pt {SWINGUP} --decoder-steps 1 --output converted", "checkpoint: converted"),
    "study": ("study.toml --output study", "4 episodes run"),
    "report": ("one", "report"),
    "compare": ("one other", "pairs"),
    "show": ("one/run.json", "success_rate"),
    "power": ("--oracle 0.9 --learned 0.5", "per arm"),
    "check": ("maze_toy", "maze_toy"),
    "list": ("", "maze_toy"),
    "explain": ("cpg", "gap"),
    "doctor": ("", "numpy"),
}
STUDY = """
name = "tiny"
episodes = 2
environments = ["maze_toy"]
planners = ["cem"]
"""


@pytest.fixture(scope="module")
def folder(maze_training, swingup_mlp, tmp_path_factory):
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("processes")
    shutil.copytree(maze_training.folder, folder / "net")
    shutil.copytree(swingup_mlp, folder / "mlp")
    for updates in (1, 4, 16):
        shutil.copytree(swingup_mlp, folder / "trained" / "checkpoints" / f"{updates:07d}")
    for name, policy in (("one", "random"), ("other", "greedy")):
        wmel.run("maze_toy", policy, episodes=4, output=folder / name, quiet=True)
    torch.save({"model": published(TDMPC2(5, 1, SIZES[1]), "old")}, folder / "official.pt")
    (folder / "study.toml").write_text(STUDY)
    return folder


def test_every_verb_has_a_line():
    assert set(LINES) == set(VERBS)


@pytest.mark.slow
@pytest.mark.parametrize("verb", LINES)
def test_a_verb_starts_ends_well_and_prints(wmel_process, folder, verb):
    line, word = LINES[verb]
    done = wmel_process(*verb.split(), *line.split(), cwd=folder)
    assert done.returncode == 0 and word in done.stdout and "Traceback" not in done.stderr, done.stdout + done.stderr
