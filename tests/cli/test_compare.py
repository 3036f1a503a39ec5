import json

import pytest

from tests.conftest import says
from wmel import BenchmarkRunner, catalog, run_record, sweep_record, write_record
from wmel.analysis.pooling import Arms
from wmel.models.oracle import Oracle
from wmel.reports.analysis_record_types import ComparisonRecord
from wmel.reports.study_record import cpg_record, write_comparison
from wmel.schema import SweepPoint

MAZE = catalog.environment("maze_toy")
ROOMS = catalog.environment("two_room_toy")


def run_in(world, policy="random", episodes=4, horizon=60, **settings):
    acting = catalog.policy(policy, world) if isinstance(policy, str) else policy
    return BenchmarkRunner(world, acting, episodes, horizon, timed_decisions=0, **{"seed": 0, **settings}).run()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Records of small runs, a sweep, and two comparisons of models."""
    folder = tmp_path_factory.mktemp("compared")
    runs = {
        "good": run_in(MAZE, "tabular-world-model", 20),
        "poor": run_in(MAZE, episodes=16),
        "short": run_in(MAZE),
        "long": run_in(MAZE, horizon=70),
        "later": run_in(MAZE, seed=3),
        "elsewhere": run_in(ROOMS),
    }
    for name, run in runs.items():
        write_record(folder / f"{name}.json", run_record(run))
    point = SweepPoint({"plan_horizon": 20}, runs["good"])
    write_record(folder / "sweep.json", sweep_record([point], epsilon=0.01))
    models = {"oracle": None, "truth": Oracle(MAZE), "still": lambda state, action: state * 0}
    arms = {name: run_in(MAZE, catalog.policy("cem", MAZE, model=model)) for name, model in models.items()}
    for name, learned in {"cpg-a": ("truth", "still"), "cpg-b": ("truth",)}.items():
        cap = 20 if name == "cpg-b" else None
        made = Arms(arms["oracle"], {model: arms[model] for model in learned}, runs["short"], cap)
        write_comparison(folder / name, made, cpg_record(made))
    (folder / "empty").mkdir()
    (folder / "notes.txt").write_text("nothing")
    return folder


def test_a_drop_is_said_written_and_fails(wmel_command, folder):
    line = "compare good.json poor.json --fail-if-worse 0.5 --output compared.json"
    done = wmel_command(*line.split(), cwd=folder)
    assert done.returncode == 1
    assert says(done.stderr, "maze_toy ... lower in B ... 0.5 fails")
    assert "succeeds less often than" in done.stdout and "tabular-world-model in A, random" in done.stdout
    assert says(done.stdout, "4 ... 16, 17, 18, 19)")
    record = ComparisonRecord.model_validate_json((folder / "compared.json").read_text())
    (one,) = record.tasks
    rows = {name: json.loads((folder / f"{name}.json").read_text())["results"] for name in ("good", "poor")}
    won = [{row["episode_seed"] for row in rows[name][:16] if row["success"]} for name in ("good", "poor")]
    assert one.outcomes is not None and record.fail_if_worse is not None
    assert (one.outcomes.only_a, one.outcomes.only_b) == (len(won[0] - won[1]), len(won[1] - won[0]))
    assert one.success_delta.value == (len(won[1]) - len(won[0])) / 16 and one.unmatched_a.episodes == 4
    assert record.fail_if_worse.worse == ["maze_toy"] and record.kind == "comparison"


def test_a_run_against_itself_passes_and_says_what_it_could_not_have_shown(wmel_command, folder):
    done = wmel_command("compare", "good.json", "good.json", "--fail-if-worse", "0.05", cwd=folder)
    assert done.returncode == 0 and not done.stderr
    assert "+0.000" in done.stdout and "shown on 20 pairs" in done.stdout
    assert says(done.stdout, "20 pairs ... 0.32 ... (80%")


def test_without_a_bound_a_drop_is_no_failure(wmel_command, folder):
    done = wmel_command("compare", "good.json", "poor.json", cwd=folder)
    assert done.returncode == 0 and not done.stderr and "80% power" not in done.stdout


def test_quiet_prints_nothing_but_what_is_worse(wmel_command, folder):
    done = wmel_command("compare", "poor.json", "good.json", "--fail-if-worse", "0.05", "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = wmel_command("compare", "good.json", "poor.json", "--fail-if-worse", "0.05", "--quiet", cwd=folder)
    assert done.returncode == 1 and not done.stdout and len(done.stderr.splitlines()) == 1


def test_comparisons_of_models_are_compared_arm_by_arm(wmel_command, folder):
    done = wmel_command("compare", "cpg-a", "cpg-b/cpg.json", "--output", "arms.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    record = ComparisonRecord.model_validate_json((folder / "arms.json").read_text())
    assert [one.task for one in record.tasks] == ["oracle", "truth", "random"]
    assert all(one.success_delta.value == 0 and one.pairs == 4 for one in record.tasks)
    assert len(record.notes) == 1 and record.notes[0].startswith("B: pairs were added")
    assert record.only_in_a == ["still"] and "only in A: still" in done.stdout


def test_an_arm_is_a_run_like_any_other(wmel_command, folder):
    done = wmel_command("compare", "cpg-a/oracle.json", "cpg-a/still.json", cwd=folder)
    assert done.returncode == 0 and "A, <lambda> in B" in done.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("good.json absent.json", "cannot read absent.json"),
        ("notes.txt good.json", "notes.txt is not JSON"),
        ("good.json sweep.json", "sweep.json is a sweep"),
        ("good.json empty", "empty holds no result"),
        ("good.json cpg-a", "good.json is a run"),
        ("good.json later.json", "0, 1, 2, ... 300000, 300001, 300002,"),
        ("short.json long.json", "horizon is 60 ... 70"),
        ("short.json elsewhere.json", "environment is maze_toy ... two_room_toy"),
        ("good.json good.json --fail-if-worse 0", "(0, 1], got 0"),
        ("good.json good.json --fail-if-worse 1.5", "(0, 1], got 1.5"),
        ("good.json good.json --fail-if-worse nan", "got nan"),
        ("good.json good.json --fail-if-worse much", "'much'"),
        ("good.json poor.json --output poor.json", "would overwrite what is compared"),
        ("good.json poor.json --output empty", "it is a folder"),
    ],
)
def test_bad_input_is_one_line(wmel_command, folder, line, words):
    done = wmel_command("compare", *line.split(), cwd=folder)
    assert done.returncode == 2 and not done.stdout
    assert says(done.stderr, words) and len(done.stderr.splitlines()) == 1
