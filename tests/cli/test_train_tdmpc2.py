"""`wmel train tdmpc2` with what it keeps: killed, interrupted and going on; and training on stored episodes."""

import json
import shutil
import signal
import subprocess
import sys

import pytest
import torch

from tests.cli.test_cpg import heeding_interrupts
from tests.conftest import process_environment, says
from tests.training.tdmpc2.point import Point
from wmel.machine import limit_threads
from wmel.training.checkpoints import restore
from wmel.training.tdmpc2.resume import TrainingHooks, TrainingState
from wmel.training.tdmpc2.train import train_tdmpc2
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

POINTS = """
import os, time
from tests.testing.wrapped import Wrapped
from tests.training.tdmpc2.point import Point

class Pausing(Wrapped):
    def step(self, states, actions):
        time.sleep(float(os.environ.get("PAUSE", "0")))
        return self.world.step(states, actions)

still, pausing = Point(12), Pausing(Point(12))
"""
BY_LIBRARY = """
from pathlib import Path
from tests.cli.test_train_tdmpc2 import by_library
by_library(30, Path("killed"), lambda point: print(point.updates, flush=True))
"""
COMMAND = [sys.executable, "-c", "from wmel.cli.main import main; main()"]
FILE, WEIGHTS = "unfinished.safetensors", "weights.safetensors"


def by_library(updates: int, folder, report) -> None:
    """As the command does it, saving after every round; 50 decisions of all episodes are taken to seed."""
    settings = TDMPC2Trainer(updates=updates, envs=50, batch=4, updates_per_step=1, decoder_steps=10)
    train_tdmpc2(
        Point(12), settings, torch.device("cpu"), TrainingHooks(report, state=TrainingState(folder, 3, seconds=0.0))
    )


def line(updates: int, output: str, *more: str) -> list[str]:
    """The command that does the same."""
    command_line = (
        f"train tdmpc2 --env points:still --updates {updates} --checkpoints 3 --envs 50 --batch 4 --decoder-steps 10"
    )
    return [*command_line.split(), "--updates-per-step", "1", "--output", output, *more]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with environments of its own."""
    folder = tmp_path_factory.mktemp("points")
    (folder / "points.py").write_text(POINTS)
    return folder


@pytest.fixture(scope="module")
def kept(wmel_command, here):
    """The folder of a training that was never disturbed, and what was said of it."""
    done = wmel_command(*line(30, "kept"), cwd=here)
    assert done.returncode == 0, done.stderr
    return here / "kept", done


def test_a_training_keeps_its_episodes_and_checkpoints(kept):
    folder, done = kept
    assert sorted(file.name for file in folder.iterdir()) == ["card.json", "checkpoints", "episodes", WEIGHTS]
    assert [file.name for file in sorted((folder / "checkpoints").iterdir())] == ["0000001", "0000005", "0000030"]
    assert len(list((folder / "episodes").glob("round-*"))) == 6  # 50 decisions to seed and 30 of updates
    assert "4,000 transitions of 350 episodes, 30 updates" in done.stdout and "going on" not in done.stderr


def killed(command: list[str], here, stream: str, word: str, **variables: str) -> str:
    """What a process printed until it said a word, and was killed."""
    command_line, streams = "", {stream: subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=here, env=process_environment(**variables), **streams) as process:
        for one in getattr(process, stream):
            command_line += one
            if word in one:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    return command_line


def test_a_training_that_was_killed_goes_on_and_ends_with_the_same_bits(wmel_command, here, kept):
    """Killed after ten updates: seeding ends in the fifth round."""
    assert killed([sys.executable, "-c", BY_LIBRARY], here, "stdout", "10\n") == "0\n0\n0\n0\n10\n"
    folder = here / "killed"
    assert (folder / FILE).exists() and not (folder / WEIGHTS).exists()
    done = wmel_command(*line(30, "killed"), cwd=here)
    assert done.returncode == 0 and "resumed from update 10\n" in done.stderr, done.stderr
    for file in (WEIGHTS, *(f"checkpoints/{stop:07d}/{WEIGHTS}" for stop in (1, 5, 30))):
        assert (folder / file).read_bytes() == (kept[0] / file).read_bytes(), file
    assert not (folder / FILE).exists() and "4,000 transitions of 350 episodes, 30 updates" in done.stdout


@pytest.fixture(scope="module")
def unfinished(here):
    """The folder of a training of many updates that was left after ten."""

    class Stopped(BaseException):
        pass

    def report(point):
        if point.updates:
            raise Stopped

    with limit_threads(1), pytest.raises(Stopped):
        by_library(20_000, here / "unfinished", report)
    return here / "unfinished"


def test_other_settings_are_refused_in_one_line(wmel_command, here, unfinished):
    done = wmel_command(*line(20_000, "unfinished", "--seed", "3"), cwd=here)
    assert done.returncode == 2 and done.stderr == (
        "wmel: unfinished contains an unfinished training with seed 0, now 3: use the same settings to resume it, or "
        f"remove unfinished/{FILE} to start again\n"
    )


def test_a_broken_file_is_refused_in_one_line(wmel_command, here, unfinished):
    shutil.copytree(unfinished, here / "broken")
    (here / "broken" / FILE).write_bytes((unfinished / FILE).read_bytes()[:-100])
    done = wmel_command(*line(20_000, "broken"), cwd=here)
    words = f"wmel: broken/{FILE} is not a valid snapshot of a training: remove it to start again\n"
    assert done.returncode == 2 and done.stderr == words


def interrupted(here, folder: str) -> tuple[int, str]:
    """The exit code and standard error of a training that gets Ctrl-C after its first round."""
    command, command_line = [*COMMAND, *line(20_000, folder)], ""
    options = {"cwd": here, "env": process_environment(), "preexec_fn": heeding_interrupts}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options) as process:
        for one in process.stderr:
            command_line += one
            if " updates (" in one:
                process.send_signal(signal.SIGINT)
                break
        command_line += process.communicate(timeout=60)[1]
    return process.returncode, command_line


def test_one_that_is_interrupted_says_from_where_it_goes_on(here, unfinished):
    code, command_line = interrupted(here, "unfinished")
    assert code == 130 and "Traceback" not in command_line and "resumed from update 10\n" in command_line
    assert command_line.endswith("resumes from update 10\nwmel: interrupted\n")


@pytest.mark.slow
def test_one_that_saved_nothing_yet_promises_nothing(here):
    code, command_line = interrupted(here, "nothing")
    assert code == 130 and "Traceback" not in command_line and command_line.endswith("wmel: interrupted\n")
    assert "resumes from" not in command_line and "resumed from" not in command_line


def test_one_that_was_over_but_for_its_checkpoint_says_all_its_updates(wmel_command, here):
    """Fifty decisions to seed and ten updates are five whole rounds."""
    by_library(10, here / "over", lambda point: None)
    done = wmel_command(*line(10, "over"), cwd=here)
    assert done.returncode == 0 and not (here / "over" / FILE).exists()
    assert "3,000 transitions of 250 episodes, 10 updates" in done.stdout


@pytest.mark.slow
def test_the_command_saves_every_half_minute(wmel_command, here):
    """A first round of twelve pauses, with updates from the fourth on; then killed, and the rest without any."""
    command_line = (
        "train tdmpc2 --env points:pausing --updates 30 --envs 2500 --batch 4 --updates-per-step 1 --decoder-steps 1"
    )
    heard = killed([*COMMAND, *command_line.split(), "--output", "paused"], here, "stderr", " updates (", PAUSE="2.7")
    done = wmel_command(*command_line.split(), "--output", "paused", cwd=here)
    assert done.returncode == 0 and "resumed from update 9\n" in done.stderr, done.stderr
    wmel_command(*command_line.split(), "--output", "hurried", cwd=here)
    one, other = (here / name / WEIGHTS for name in ("paused", "hurried"))
    assert one.read_bytes() == other.read_bytes()
    assert "going on" not in heard, "a training that had only begun said that it goes on"


def test_memory_that_runs_out_is_said_in_one_line(wmel_command, here):
    """Petabytes, which no machine begins to hand out."""
    done = wmel_command(
        *f"train tdmpc2 --env points:still --updates {10**9} --envs {10**6} --output no".split(), cwd=here
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert says(done.stderr, "out of memory ... --batch (256)")


def test_stored_episodes_are_enough_for_a_tdmpc2(wmel_command, here, kept):
    """Of every kind; no environment is named, and the checkpoint plays in the one the episodes are of."""
    command_line = (
        "train tdmpc2 --data kept/episodes --updates 4 --checkpoints 2 --half --batch 4 --activation relu "
        "--latent-norm none --decoder-steps 10 --output offline"
    )
    done = wmel_command(*command_line.split(), cwd=here)
    assert done.returncode == 0, done.stderr
    assert "3,600 transitions of 300 episodes, 4 updates" in done.stdout and "return of its policy" not in done.stdout
    folder = here / "offline"
    card = json.loads((folder / "card.json").read_text())
    assert card["policy_return"] is None and len(card["data"]["sha256"]) == 64 and card["environment"] == "point"
    assert (card["model"]["activation"], card["model"]["latent_norm"], card["fit"]["half"]) == ("relu", "none", True)
    assert sorted(file.name for file in folder.iterdir()) == ["card.json", "checkpoints", WEIGHTS]
    for where in (folder, folder / "checkpoints" / "0000001", folder / "checkpoints" / "0000004"):
        assert restore(where, Point(12)).network.low.tolist() == [-1.0]
    half, whole = ((one / WEIGHTS).stat().st_size for one in (folder, kept[0]))
    assert half / whole == pytest.approx(0.5, abs=0.01)


def test_an_mlp_learns_from_stored_episodes(wmel_command, here, kept):
    command_line = "train mlp --env points:still --data kept/episodes --transitions 250 --epochs 2 --output mlp"
    done = wmel_command(*command_line.split(), cwd=here)
    assert done.returncode == 0 and "250 transitions of 21 episodes, 2 epochs" in done.stdout, done.stderr
    card = json.loads((here / "mlp" / "card.json").read_text())
    assert card["collect"]["policy"] == "stored" and card["data"]["held_out_transitions"] == 2 * 12


@pytest.mark.parametrize(
    ("command_line", "words"),
    [
        (
            "tdmpc2 --data kept/episodes --env dmc:cartpole-swingup",
            "kept/episodes ... of point, not of dmc:cartpole-swingup",
        ),
        ("mlp --data kept/episodes --env points:still --transitions 50 --epochs 1 --collect random", ""),
        ("mlp --env points:still --collect stored", ""),
        (
            "tdmpc2 --data kept/episodes --envs 3",
            "'tdmpc2': envs has no effect",
        ),
    ],
)
def test_data_that_cannot_be_learned_from_are_refused_in_one_line(
    wmel_command, here, kept, tmp_path, command_line, words
):
    done = wmel_command("train", *command_line.split(), "--output", str(tmp_path), "--quiet", cwd=here)
    assert done.returncode == 2 and says(done.stderr, f"wmel: ... {words}") and done.stderr.count("\n") == 1
    assert not (tmp_path / "card.json").exists()
