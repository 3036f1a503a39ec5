import json
import subprocess
import sys
from ctypes.util import find_library

import numpy as np
import pytest

from tests.conftest import process_environment, says


def test_the_command_of_the_published_repository_works_word_for_word(wmel_command, tmp_path):
    line = "run --env maze_toy --policy tabular-world-model --episodes 30 --output run.json"
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["scorecard"]["success_rate"] == 1.0
    assert record["metadata"]["horizon"] == 60 and record["metadata"]["plan_horizon"] == 20
    assert record["metadata"]["evaluations"] == 200 and record["metadata"]["seed"] == 0
    assert len(record["results"]) == 30
    assert "success_rate" in done.stdout and "record: run.json" in done.stdout
    assert "30/30 episodes" in done.stderr


def test_every_option_is_taken(wmel_command, tmp_path):
    line = (
        "run --env two_room_toy --policy cem --episodes 5 --horizon 40 --plan-horizon 12 --candidates 30 --execute 2 "
        "--seed 7 --markdown card.md --out run.json --quiet"
    )
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    metadata = json.loads((tmp_path / "run.json").read_text())["metadata"]
    expected = {"env": "two_room_toy", "policy": "cem", "episodes": 5, "horizon": 40, "plan_horizon": 12, "seed": 7}
    assert metadata | expected | {"evaluations": 90, "model": "oracle", "execute": 2} == metadata
    card = (tmp_path / "card.md").read_text()
    assert card.startswith("# cem in two_room_toy\n\ncem on")
    assert "| success_rate | " in card


def test_a_layout_of_ones_own_is_run_and_recorded(wmel_command, tmp_path):
    (tmp_path / "corridor.txt").write_text("S...G\n")
    done = wmel_command("run", "--layout", "corridor.txt", "--policy", "greedy", "--out", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["scorecard"]["average_steps_to_success"] == 4
    assert record["metadata"]["layout"] == "S...G"


def test_a_metric_without_a_value_is_n_a_with_its_reason(wmel_command):
    done = wmel_command("run", "--policy", "greedy", "--episodes", "3")
    assert "no episode succeeded" in done.stdout


def test_nothing_is_n_a_that_nobody_requested(wmel_command):
    line = "run --env dmc:cartpole-swingup --policy random --episodes 2 --horizon 40"
    done = wmel_command(*line.split())
    assert "n/a" not in done.stdout and "average_return" in done.stdout
    requested = wmel_command(*line.split(), "--metric", "average_compute_per_decision")
    assert "n/a" in requested.stdout and "declares no compute" in requested.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--env", "maze_toi"], "'maze_toi'; did you ... 'maze_toy'?"),
        (["--policy", "greddy"], "'greddy'; did you ... 'greedy'?"),
        (["--episodes", "0"], "episodes: must be above 0, got 0"),
        (["--episodes", "-5"], "episodes: must be above 0, got -5"),
        (["--episodes", "2.5"], "'2.5'"),
        (["--episodes", "many"], "'many'"),
        (["--episodes", "100001"], "must be at most 100000, got 100001"),
        (["--horizon", "0"], "horizon: must be above 0, got 0"),
        (["--plan-horizon", "0"], "plan_horizon ... 1, got 0"),
        (["--candidates", "-1"], "candidates must ... 1, ... -1"),
        (["--seed", "-1"], "seeds.0: must be 0 to 9999"),
        (["--policy", "random", "--candidates", "5"], "'random' does not plan:"),
        (["--output", "/proc/nowhere/run.json"], "cannot write /proc/nowhere/run.json"),
        (["--output", "folder.json"], "it is a folder"),
        (["--markdown", "/dev/null/card.md"], "cannot write /dev/null/card.md"),
        (["--layout", "absent.txt"], "cannot read absent.txt"),
        (["--no-such-option"], "No such option"),
        (["--perturb-prob", "1.5"], "got 1.5"),
        (["--perturb-prob", "nan"], "got nan"),
        (["--perturbation", "drop-next-2", "--perturb-prob", "0"], "drop-next-2 ... --perturb-prob"),
        (["--perturb-prob", "1", "--perturbation", "composite:"], "composite"),
        (["--perturb-prob", "1", "--perturbation", "action-delay-2"], "action-delay-2 requires an idle action"),
        (["--perturb-prob", "1", "--perturbation", "drop-nex-2"], "did you mean 'drop-next'?"),
        (["--policy", "cem", "--model", "no_such_module:thing"], "cannot import 'no_such_module:thing'"),
        (["--policy", "cem", "--model", "wmel.catalog:nothing"], "has no 'nothing'"),
        (["--policy", "cem", "--model", "orcle"], "'orcle'; did you ... 'oracle'?"),
        (["--policy", "cem", "--model", "tests.testing.broken_parts:LeakyEnvironment"], "it lacks encode, decode"),
        (["--policy", "native"], "model of your own"),
        (["--deadline-ms", "0"], "milliseconds must be ... 0"),
        (["--deadline-ms", "soon"], "'soon'"),
        (["--metric", "sucess_rate"], "did you mean 'success_rate'?"),
        (["--metric", "success@0"], "steps must ... 1, ... 0"),
        (
            ["--policy", "cem", "--execute", "0"],
            "'cem': ... 1, ... got 0",
        ),
        (["--success", "reward>0.6"], "'reward>0.6' is not ... 'reward>=0.6'"),
        (["--success", "reward>=0.6"], "'reward' for the criterion;"),
        (["--success", "distance<=0@at_end", "--stop", "success"], "set stop = horizon"),
        (["--stop", "never"], "stop: ... 'success' ... 'horizon', ... 'never'"),
        (["--init", "fixed"], "'maze_toy' has ... 'init'; ... max_steps"),
        (["--env", "dmc_acrobot", "--init", "random"], "init ... 'task' ... 'fixed', ... 'random'"),
        (["--env", "dmc:acrobat-swingup"], "did you mean 'dmc:acrobot-swingup'?"),
        (["--env", "dmc:walker-walk", "--stop", "success", "--policy", "random"], "requires a criterion"),
        (["--env", "dmc:walker-walk", "--policy", "cem", "--objective", "upright"], "it has model-reward"),
        (["--policy", "cem", "--objective", "model-reward"], "maze_toy has no objective 'model-reward'"),
        (["--env", "dmc:walker-walk", "--policy", "greedy"], "greedy"),
        (["--trajectories", "/proc/nowhere/steps.npz"], "cannot write /proc/nowhere/steps.npz"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(wmel_command, tmp_path, arguments, words):
    (tmp_path / "folder.json").mkdir()
    done = wmel_command("run", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says(done.stderr, words) and done.stderr.startswith("wmel: ")
    assert len(done.stderr.splitlines()) == 1 and done.stdout == ""


def test_a_malformed_layout_names_row_and_character(wmel_command, tmp_path):
    (tmp_path / "bad.txt").write_text("S..\n.x.\n..G\n")
    done = wmel_command("run", "--layout", "bad.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert says(done.stderr, "2, character 2 ... 'x'")


def test_perturbed_runs_report_recovery(wmel_command, tmp_path):
    line = "run --policy cem --perturb-prob 0.5 --perturbation composite:drop-next-2+env-default --out r.json"
    line += " --deadline-ms 1000"
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "r.json").read_text())
    struck = [row for row in record["results"] if row["perturbed"]]
    assert 5 < len(struck) < 25
    recovery = record["scorecard"]["estimates"]["perturbation_recovery_rate"]
    assert recovery["n"] == len(struck)
    assert recovery["value"] == sum(row["recovered"] for row in struck) / len(struck)
    assert record["scorecard"]["estimates"]["perturbation_recovery_ratio"]["value"] is not None
    assert record["scorecard"]["estimates"]["deadline@1000"]["value"] == 1.0
    assert all(row["unperturbed_success"] is not None for row in struck)
    assert wmel_command("show", "r.json", cwd=tmp_path).returncode == 0


OWN = """
import numpy as np
MOVES = np.array([(0, 1), (0, -1), (-1, 0), (1, 0)])

def open_field(state, action):
    return np.clip(state + MOVES[int(action[0])], 1, 5)
"""


def test_a_model_in_the_current_folder_is_planned_with(wmel_command, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    line = "run --policy random-shooting --candidates 20 --model own:open_field --episodes 3 --out r.json"
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "model: open_field; planner: random-shooting" in done.stdout
    assert json.loads((tmp_path / "r.json").read_text())["metadata"]["policy_reads"] == "observation"


def test_a_model_that_breaks_at_its_first_decision_is_refused_with_its_file_and_line(wmel_command, tmp_path):
    (tmp_path / "own.py").write_text("def dead(state, action):\n    raise OSError('no weights')\n")
    line = "run --policy cem --model own:dead --episodes 3 --output r.json"
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and not done.stdout
    assert "OSError: no weights" in done.stderr and f"{tmp_path / 'own.py'}, line 2, in dead" in done.stderr
    assert [path.name for path in tmp_path.glob("r.json*")] == []


LATER = """
import sys

def breaks_later(state, action):
    if "wmel.closed_loop.lockstep" in {frame.f_globals["__name__"] for frame in frames()}:
        raise OSError("no weights")
    return state

def frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back
"""


def test_a_run_in_which_every_episode_fails_alike_says_so_and_exits_1(wmel_command, tmp_path):
    """One that passes the trial before the run, and breaks in every episode of it."""
    (tmp_path / "own.py").write_text(LATER)
    done = wmel_command("run", "--policy", "cem", "--model", "own:breaks_later", "--episodes", "3", cwd=tmp_path)
    assert done.returncode == 1
    assert "decision: OSError: no weights" in done.stderr


def test_a_control_task_from_the_command_line_to_a_record_and_its_steps(wmel_command, tmp_path):
    line = (
        "run --env dmc_cartpole --init fixed --policy cem --plan-horizon 5 --episodes 3 --horizon 12 --stop horizon "
        "--success reward>=0.01@sustained:3 --output run.json --trajectories steps.npz --rewards"
    )
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run.json").read_text())
    metadata = record["metadata"]
    assert (metadata["init"], metadata["stop"], metadata["success"]) == ("fixed", "horizon", "reward>=0.01@sustained:3")
    assert metadata["objective"]["name"] == "upright" and metadata["versions"]["mujoco"].startswith("3.16")
    steps = np.load(tmp_path / "steps.npz")
    assert steps["observations"].shape == (3, 12, 5) and steps["actions"].shape == (3, 12, 1)
    assert np.array_equal(steps["observations"][:, 1:], steps["next_observations"][:, :-1])
    for row, entry in enumerate(record["results"]):
        assert entry["rewards"] == steps["rewards"][row].tolist()
        assert entry["return"] == pytest.approx(sum(entry["rewards"]))
        in_a_row = np.convolve(steps["rewards"][row] >= 0.01, np.ones(3), "valid") == 3
        assert entry["success"] == in_a_row.any()
    assert "starts: one fixed state" in done.stdout


def test_without_a_criterion_success_is_not_available_and_the_return_is(wmel_command, tmp_path):
    line = "run --env dmc:pendulum-swingup --policy mppi --candidates 8 --episodes 2 --horizon 10 --output run.json"
    done = wmel_command(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["scorecard"]["success_rate"] is None and record["scorecard"]["average_return"] is not None
    assert [entry["success"] for entry in record["results"]] == [None, None]
    assert "no criterion of success" in done.stdout
    shown = wmel_command("show", "run.json", cwd=tmp_path)
    assert shown.returncode == 0 and "no criterion of success" in shown.stdout


def test_the_task_that_needs_graphics_says_so(wmel_process, tmp_path, monkeypatch):
    for name in ("MUJOCO_GL", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    line = ("run", "--env", "dmc:quadruped-escape", "--policy", "random")
    done = wmel_process(*line, cwd=tmp_path)
    assert done.returncode == 2 and "requires OpenGL" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("backend", "task"), [("osmesa", "quadruped-escape"), ("bogus", "cartpole-balance")])
def test_graphics_that_are_asked_for_and_missing_are_said_in_one_line(wmel_process, tmp_path, backend, task):
    if backend == "osmesa" and find_library("OSMesa"):
        pytest.skip("OSMesa is installed here")
    line = ("run", "--env", f"dmc:{task}", "--policy", "random", "--episodes", "1", "--horizon", "2")
    done = wmel_process(*line, cwd=tmp_path, MUJOCO_GL=backend)
    assert done.returncode == 2 and done.stderr.startswith("wmel: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_the_task_that_draws_equals_dm_control_where_it_can_draw(tmp_path):
    """In a process of its own, as the backend is chosen at import."""
    check = (
        "import tests.environments.dmc.test_equal_to_dm_control as t\n"
        "t.test_states_bit_for_bit_and_what_is_seen_to_1e_10('quadruped-escape', 3)\n"
    )
    variables = process_environment(MUJOCO_GL="egl")
    able = "from dm_control import _render; _render.Renderer(max_width=64, max_height=64).free()"
    if subprocess.run([sys.executable, "-c", able], env=variables, capture_output=True, timeout=120).returncode:
        pytest.skip("EGL cannot be loaded here")
    done = subprocess.run([sys.executable, "-c", check], env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_every_task_of_the_suite_can_be_checked_by_name(wmel_command):
    done = wmel_command("check", "dmc:reacher-easy")
    assert done.returncode == 0, done.stderr
    assert "dmc:reacher-easy may be used" in done.stdout
