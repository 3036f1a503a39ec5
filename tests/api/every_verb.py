"""One small result of every verb, for the tests of results."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import wmel
from tests.models.tdmpc2.untrained import untrained_checkpoint
from wmel import catalog
from wmel.results import Result

WORLD = "dmc:cartpole-swingup"
STUDY = {
    "name": "tiny",
    "episodes": 3,
    "seeds": [0],
    "environments": [{"name": "maze_toy"}],
    "models": [{"name": "mine", "object": "tests.api.every_verb:still"}],
    "planners": [{"name": "cem", "plan_horizon": {"sweep": [5, 10]}}],
}
READING = {"methods": ["zog"], "states": 12, "samples": 32, "plan_horizon": 3, "quiet": True}


def still(state, action):
    return state


def make_every_result(folder: Path, quick_toy: Callable[[], AbstractContextManager[None]]) -> dict[str, Result]:
    """By verb; those that write have their own folder, called as the verb."""
    brief = {"episodes": 4, "quiet": True}
    run = folder / "trained" / "seed0"
    first = untrained_checkpoint(run / "checkpoints" / "0000001", catalog.environment(WORLD))
    for updates in (4, 16):
        shutil.copytree(first, run / "checkpoints" / f"{updates:07d}")
    beside = folder / "beside.csv"
    beside.write_text("run,updates,return\nseed0,1,1\nseed0,4,\nseed0,16,3\n")
    with quick_toy():
        toy = wmel.esnr_toy(output=folder / "esnr_toy", seeds=4, speeds=[5.0, 6.0], quiet=True)
    made = {
        "run": wmel.run("maze_toy", "cem", output=folder / "run", **brief),
        "sweep": wmel.sweep("maze_toy", "cem", plan_horizons=[3, 5], output=folder / "sweep", **brief),
        "cpg": wmel.cpg("maze_toy", {"mine": f"{__name__}:still"}, output=folder / "cpg", **brief),
        "esnr": wmel.esnr(WORLD, [str(first)], output=folder / "esnr", **READING),
        "esnr_toy": toy,
        "diagnose": wmel.diagnose(
            "prediction-error", "maze_toy", f"{__name__}:still", states=4, output=folder / "diagnose", quiet=True
        ),
        "esnr_over_training": wmel.esnr_over_training(
            [run], WORLD, output=folder / "esnr_over_training", beside=beside, **READING
        ),
        "train": wmel.train("mlp", "maze_toy", output=folder / "train", epochs=3, quiet=True),
        "study": wmel.study(STUDY, output=folder / "study", quiet=True),
    }
    made["report"] = wmel.report(folder / "study", output=folder / "report", quiet=True)
    made["compare"] = wmel.compare(made["run"], folder / "run" / "run.json", quiet=True)
    made["power"] = wmel.power(oracle=0.9, learned=0.5, n=30)
    made["check"] = wmel.check("cem")
    return made
