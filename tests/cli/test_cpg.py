import json
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import says


@pytest.fixture(scope="module")
def models(wmel_command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    line = "train mlp --env dmc_cartpole --transitions 400 --episode-steps 50 --epochs 5 --output cart"
    done = wmel_command(*line.split(), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "checkpoint: cart" in done.stdout and "open-loop error" in done.stdout
    assert "400/400 transitions" in done.stderr and "5/5 epochs" in done.stderr
    return folder


def test_from_a_command_line_to_a_verdict(wmel_command, models):
    line = (
        "cpg --env dmc_cartpole --model cart --episodes 3 --seeds 0,5 --horizon 40 --plan-horizon 5 --output runs/cart"
    )
    done = wmel_command(*line.split(), cwd=models)
    assert done.returncode == 0, done.stderr
    record = json.loads((models / "runs" / "cart" / "cpg.json").read_text())
    assert set(record["arms"]) == {"oracle", "cart", "random"}
    entry = record["cpgs"]["cart"]
    assert entry["gap"] == entry["oracle_success_rate"] - entry["learned_success_rate"]
    assert entry["n_episodes_oracle"] == entry["n_episodes_learned"] == 6
    assert set(entry["verdicts"]) == {"strict", "paper"}
    assert record["setting"]["init"] == "task" and record["setting"]["seeds"] == [0, 5]
    assert set(record["coverage"]) == {"cart's data", "oracle", "cart", "random"}
    seeds = {}
    for arm, file in record["arms"].items():
        stored = json.loads((models / "runs" / "cart" / file).read_text())
        seeds[arm] = [row["episode_seed"] for row in stored["results"]]
        assert stored["metadata"]["seeds"] == [0, 5]
    assert seeds["oracle"] == seeds["cart"] == seeds["random"] == [0, 1, 2, 500000, 500001, 500002]
    assert "95% interval" in done.stdout and "random" in done.stdout and "uprightness" in done.stdout
    page = wmel_command("report", "runs/cart", cwd=models)
    assert page.returncode == 0, page.stderr
    rules = (models / "runs" / "cart" / "report.md").read_text().partition("How each verdict was reached")[2]
    assert rules.index("| cart | strict |") < rules.index("| cart | paper |")
    shown = wmel_command("show", "runs/cart/cpg.json", cwd=models)
    assert shown.returncode == 0 and entry["verdict"] in shown.stdout


def test_the_gap_of_the_oracle_against_itself_is_exactly_zero(wmel_command, tmp_path):
    """The oracle behind a name of its own, in the same world, with the same noise."""
    (tmp_path / "truth.py").write_text(
        "import wmel\nfrom wmel.models.oracle import Oracle\nmodel = Oracle(wmel.environment('dmc_reacher'))\n"
    )
    line = "cpg --env dmc_reacher --model truth:model --planner cem --episodes 6 --horizon 60 --output gap"
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    entry = json.loads((tmp_path / "gap" / "cpg.json").read_text())["cpgs"]["model"]
    assert entry["gap"] == 0 and entry["oracle_only"] == entry["learned_only"] == 0


def test_an_anytime_run_stops_when_it_is_decided_and_says_so(wmel_command, tmp_path):
    (tmp_path / "still.py").write_text("def dynamics(state, action):\n    return state * 0\n")
    line = "cpg --env maze_toy --model still:dynamics --plan-horizon 20 --candidates 100 --anytime --max-episodes 60"
    done = wmel_command(*line.split(), "--output", "gap", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "gap" / "cpg.json").read_text())
    entry = record["cpgs"]["dynamics"]
    assert record["max_episodes"] == 60 and entry["n_episodes_oracle"] == 10
    assert entry["verdict"] == "MODEL BOTTLENECK" and entry["gap_method"] == "confidence sequence"
    assert "10 pairs" in done.stdout
    assert entry["verdict_paper"] is None and "paper" not in entry["verdicts"]  # which do not allow for stopping early
    page = wmel_command("report", "gap", cwd=tmp_path)
    assert page.returncode == 0 and "Incomplete" not in page.stdout + (tmp_path / "gap" / "report.md").read_text()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--env dmc_reacher --model cart", "trained on dmc_cartpole"),
        ("--env dmc_cartpole --model cart --model cart", "a name of its own"),
        ("--env dmc_cartpole --model absent/model", "is not a checkpoint"),
        ("--env dmc_cartpole --model cart --anytime --seeds 0,1", "from one seed"),
        ("--env dmc_cartpole --model cart --planner ceem", "did you mean 'cem'?"),
        ("--env dmc:cartpole-swingup --model cart --success reward>=0.6", "trained on dmc_cartpole"),
        ("--env dmc_cartpole --model cart --seeds 10000", "10000 on are reserved"),
        ("--env dmc_cartpole --model cart --anytime --episodes 5", "--max-episodes instead of --episodes"),
        ("--env dmc_cartpole --model cart --max-episodes 5", "add --anytime"),
        ("--env dmc_cartpole --model cart --anytime --paper", "--paper adds a rule"),
        ("--env dmc_cartpole --model cart --anytime --tau 0.1", "--tau adds a rule"),
        ("--env dmc_cartpole --model cart --device cuda:9", "torch finds"),
        ("--env dmc_cartpole --model cart --device abacus", "unknown device 'abacus'"),
        ("--env dmc_cartpole --model cart --perturbation drop-next-2 --perturb-prob 0", "'drop-next-2' never occurs"),
        (
            "--env dmc:cartpole-swingup --model cart",
            "as criterion = 'reward>=0.6'",
        ),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(wmel_command, models, line, words):
    done = wmel_command("cpg", *line.split(), cwd=models)
    assert done.returncode == 2 and words in done.stderr
    assert len([text for text in done.stderr.splitlines() if text.startswith("wmel: ")]) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("train mlpp --env maze_toy --output x", "no trainer named 'mlpp'"),
        ("train mlp --env maze_toy --output x --hidden 0", "hidden must be ... 1"),
        ("train mlp --env dmc_cartpole --output x --target later", "'next' or 'delta'"),
        ("train mlp --env dmc_cartpole --output x --collect all", "cannot be listed"),
        ("train mlp --env dmc_cartpole --output x --epsilon 2", "epsilon must ... 0 ... 1"),
        ("train mlp --env maze_toy --output x --transitions 100", "transitions has no effect"),
        ("train mlp --env maze_toy --output x --patience 5", "patience needs data held out"),
    ],
)
def test_training_that_cannot_be_is_refused(wmel_command, tmp_path, line, words):
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 2 and says(done.stderr, words)


def heeding_interrupts():
    """A test run in the background ignores Ctrl-C, and so would what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(folder, *arguments, until):
    """A command that gets Ctrl-C as soon as `until` holds of what it said to standard error."""
    command, output = [sys.executable, "-c", "from wmel.cli.main import main; main()", *arguments], folder / "said"
    with output.open("w") as err:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=err, text=True, preexec_fn=heeding_interrupts
        )
    for _ in range(600):
        if until(output.read_text()):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    return process.returncode, out, output.read_text()


def test_training_that_is_interrupted_keeps_the_weights_so_far(tmp_path):
    line = ["train", "mlp", "--env", "maze_toy", "--epochs", "1000000", "--output", "model"]
    code, out, err = interrupted(tmp_path, *line, until=lambda output: "fitting mlp" in output)
    assert code == 130 and err.endswith("wmel: interrupted\n"), err
    assert "interrupted: the weights so" in out
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["fit"]["interrupted"] and card["fit"]["epochs_taken"] > 0


HANGS = """
import sys, time
from pathlib import Path

def dynamics(state, action):
    frame = sys._getframe()
    while frame is not None and frame.f_globals["__name__"] != "wmel.closed_loop.lockstep":
        frame = frame.f_back
    if frame is not None:
        Path("hangs").touch()
        time.sleep(60)
    return state
"""


def test_a_comparison_that_is_interrupted_keeps_the_arms_that_are_done(tmp_path):
    """The floor and the oracle are done when a model hangs that passed its trial."""
    (tmp_path / "slow.py").write_text(HANGS)
    line = ["cpg", "--env", "maze_toy", "--model", "slow:dynamics", "--episodes", "3", "--output", "gap"]
    code, _, err = interrupted(tmp_path, *line, until=lambda _: (tmp_path / "hangs").exists())
    assert code == 130 and err.endswith("wmel: interrupted\n") and "Traceback" not in err
    assert "gap: the same command" in err
    assert len(list((tmp_path / "gap").rglob("000000-3.parquet"))) == 2 and not (tmp_path / "gap" / "cpg.json").exists()


def test_a_model_that_is_decided_stops_and_the_others_go_on(wmel_command, tmp_path):
    """One model is hopeless and decided at once; the other is the truth, which takes longer to call equivalent."""
    (tmp_path / "two.py").write_text(
        "import wmel\nfrom wmel.models.oracle import Oracle\n"
        "def still(state, action):\n    return state * 0\n"
        "truth = Oracle(wmel.environment('maze_toy'))\n"
    )
    line = "cpg --env maze_toy --model two:still --model two:truth --plan-horizon 20 --candidates 100 --anytime"
    done = wmel_command(*line.split(), "--output", "gap", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    gaps = json.loads((tmp_path / "gap" / "cpg.json").read_text())["cpgs"]
    assert gaps["still"]["n_episodes_learned"] == 10 and gaps["still"]["verdict"] == "MODEL BOTTLENECK"
    assert gaps["truth"]["n_episodes_learned"] > 40 and gaps["truth"]["verdict"] == "EQUIVALENT"


def test_a_record_whose_gap_was_edited_is_refused(wmel_command, models):
    line = "cpg --env dmc_cartpole --model cart --episodes 2 --horizon 10 --plan-horizon 3 --output honest --quiet"
    assert wmel_command(*line.split(), cwd=models).returncode == 0
    record = json.loads((models / "honest" / "cpg.json").read_text())
    record["cpgs"]["cart"]["gap"] = 0.9
    (models / "honest" / "edited.json").write_text(json.dumps(record))
    done = wmel_command("show", "honest/edited.json", cwd=models)
    assert done.returncode == 2 and "not the difference" in done.stderr


def test_a_comparison_that_does_not_follow_from_its_arms_is_refused(wmel_command, models):
    line = "cpg --env dmc_cartpole --model cart --episodes 2 --horizon 10 --plan-horizon 3 --output arms --quiet"
    assert wmel_command(*line.split(), cwd=models).returncode == 0
    record = json.loads((models / "arms" / "cpg.json").read_text())
    assert wmel_command("show", "arms/cpg.json", cwd=models).returncode == 0
    record["cpgs"]["cart"]["gap_ci_low"] = -0.123
    (models / "arms" / "edited.json").write_text(json.dumps(record))
    done = wmel_command("show", "arms/edited.json", cwd=models)
    assert done.returncode == 2 and "follow from the records" in done.stderr
    (models / "arms" / "cart.json").unlink()
    done = wmel_command("show", "arms/cpg.json", cwd=models)
    assert done.returncode == 2 and "cannot read arms/cart.json" in done.stderr


def test_a_perturbation_strikes_both_arms_alike(wmel_command, models):
    line = "cpg --env dmc_cartpole --model cart --episodes 4 --horizon 30 --plan-horizon 4 --output struck --quiet"
    done = wmel_command(*line.split(), "--perturb-prob", "1", "--perturbation", "drop-next-5", cwd=models)
    assert done.returncode == 0, done.stderr
    arms = {name: json.loads((models / "struck" / f"{name}.json").read_text()) for name in ("oracle", "cart")}
    for stored in arms.values():
        assert stored["metadata"]["perturbation"] == "drop-next-5"
        assert all(row["unperturbed_success"] is not None for row in stored["results"] if row["perturbed"])
    assert any(row["perturbed"] for row in arms["oracle"]["results"])
    assert arms["cart"]["metadata"]["weights"] and arms["oracle"]["metadata"]["weights"] is None


def test_an_anytime_run_says_where_its_arms_went(wmel_command, models):
    line = "cpg --env dmc_cartpole --model cart --anytime --max-episodes 20 --horizon 20 --plan-horizon 3 --output any"
    done = wmel_command(*line.split(), cwd=models)
    assert done.returncode == 0, done.stderr
    record = json.loads((models / "any" / "cpg.json").read_text())
    assert set(record["coverage"]) == {"cart's data", "oracle", "cart", "random"}
    rows = json.loads((models / "any" / "cart.json").read_text())["results"]
    assert record["coverage"]["cart"]["states"] == sum(row["steps"] for row in rows)


def test_a_model_that_scores_by_itself_is_refused_before_anything_runs(wmel_command, tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Four:\n"
        "    def encode(self, observation): return observation\n"
        "    def rollout(self, latent, actions): return [latent] * (len(actions) + 1)\n"
        "    def score(self, latent, goal): return 0.0\n"
        "    def plan(self, observation, goal, horizon): return [0]\n"
    )
    done = wmel_command("cpg", "--env", "maze_toy", "--model", "mine:Four", "--output", "gap", cwd=tmp_path)
    assert done.returncode == 2 and "oracle's arm in more" in done.stderr
    assert not (tmp_path / "gap").exists()
