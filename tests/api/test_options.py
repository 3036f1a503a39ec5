"""Every verb that runs episodes takes the same options, from Python as from the command line."""

import inspect

import numpy as np
import pytest

import wmel
from tests.conftest import says
from wmel.errors import BadInput

TINY = {"episodes": 2, "horizon": 12, "quiet": True}


def still(state, action):
    return state


def outcomes(result):
    table = result.to_polars()
    return table.select("episode_seed", "success", "steps").rows()


@pytest.mark.parametrize("verb", ["run", "sweep", "cpg"])
def test_the_signature_of_a_verb_lists_the_options_and_the_settings_with_a_keyword(verb):
    parameters = inspect.signature(getattr(wmel, verb)).parameters
    shared = {"episodes", "seeds", "criterion", "metrics", "rewards", "trajectories", "executor", "output", "settings"}
    assert shared | {"elites", "plan_horizon", "candidates", "init", "layout", "execute"} <= set(parameters)
    assert parameters["elites"].default is None


def test_a_setting_is_the_same_by_keyword_by_settings_and_by_object():
    by_keyword = wmel.run("maze_toy", "cem", elites=4, plan_horizon=8, **TINY)
    by_settings = wmel.run("maze_toy", "cem", settings={"planner.elites": 4, "planner.plan_horizon": "8"}, **TINY)
    by_object = wmel.run("maze_toy", wmel.CEM(elites=4, plan_horizon=8), **TINY)
    assert by_keyword.record.metadata.planner["elites"] == 4
    assert by_keyword.record.metadata.planner == by_settings.record.metadata.planner
    assert outcomes(by_keyword) == outcomes(by_settings) == outcomes(by_object)


def test_texts_are_taken_where_the_command_line_takes_them(tmp_path):
    (tmp_path / "grid.txt").write_text("#####\n#S.G#\n#####\n")
    by_text = wmel.run("maze_toy", "cem", seeds="0,2", layout=str(tmp_path / "grid.txt"), **TINY)
    by_value = wmel.run("maze_toy", "cem", seeds=[0, 2], layout="#####\n#S.G#\n#####\n", **TINY)
    assert by_text.record.metadata.seeds == [0, 2]
    assert outcomes(by_text) == outcomes(by_value)
    swept = wmel.sweep("maze_toy", "cem", sweep=["planner.elites=2,4"], **TINY)
    assert swept.table["elites"].to_list() == [2, 4]
    assert wmel.sweep("maze_toy", "cem", plan_horizons="3,5", **TINY).table["plan_horizon"].to_list() == [3, 5]


def test_a_criterion_is_taken_as_text_and_as_an_object():
    for criterion in ("distance<=3", wmel.Criterion.parse("distance<=3")):
        assert wmel.run("maze_toy", "cem", criterion=criterion, **TINY).record.metadata.success == "distance<=3"


def test_steps_of_a_gap_are_one_file_for_each_arm(tmp_path):
    gap = wmel.cpg("maze_toy", {"still": still}, trajectories=tmp_path / "steps", **TINY)
    assert gap.files["trajectories"] == tmp_path / "steps"
    files = {path.stem: np.load(path) for path in (tmp_path / "steps").iterdir()}
    assert set(files) == {"oracle", "still", "random"}
    for name, run in gap.arms.by_name.items():
        assert (files[name]["steps"] == run.table["steps"]).all()
        assert (files[name]["episode_seed"] == run.table["episode_seed"]).all()


def test_steps_of_a_sweep_and_of_a_study_are_told_apart_by_what_is_swept(tmp_path):
    wmel.sweep("maze_toy", "cem", plan_horizons=[3, 5], trajectories=tmp_path / "sweep", **TINY)
    names = {path.name for path in (tmp_path / "sweep").iterdir()}
    assert len(names) == 2 and any("plan_horizon=3" in name for name in names)
    study = {
        "name": "both",
        "episodes": 2,
        "horizon": 12,
        "environments": [{"name": "maze_toy"}],
        "planners": [{"name": "cem"}],
    }
    steps = tmp_path / "study"
    wmel.study(study, output=tmp_path / "store", trajectories=steps, quiet=True)
    assert {path.name for path in steps.iterdir()} == {"oracle.npz", "random.npz"}
    again = wmel.study(study, output=tmp_path / "store", trajectories=steps, quiet=True)
    assert again.summary.episodes == 0


def test_steps_of_a_run_that_may_stop_early_are_kept_too(tmp_path):
    gap = wmel.cpg(
        "maze_toy", {"still": still}, anytime=True, max_episodes=10, horizon=12, trajectories=tmp_path, quiet=True
    )
    kept = np.load(tmp_path / "oracle.npz")
    assert len(kept["steps"]) == len(gap.arms.oracle.table)


@pytest.mark.parametrize("kept", [False, True])
def test_rewards_are_in_every_record_that_has_rows(tmp_path, kept):
    pytest.importorskip("mujoco")
    how = {"episodes": 1, "horizon": 5, "rewards": kept, "quiet": True}
    swept = wmel.sweep("dmc_cartpole", "cem", plan_horizons=[2], **how)
    assert (swept.record.points[0].results[0].rewards is not None) == kept
    wmel.cpg("dmc_cartpole", {"still": still}, candidates=4, output=tmp_path / str(kept), **how)
    arm = wmel.read_record(tmp_path / str(kept) / "still.json")
    assert (arm.results[0].rewards is not None) == kept


def test_rewards_are_stored_with_the_rows_of_every_verb_without_an_option(tmp_path):
    pytest.importorskip("mujoco")
    study = {"name": "s", "episodes": 2, "horizon": 5, "planners": ["cem"], "environments": ["dmc_cartpole"]}
    how = {"episodes": 2, "horizon": 5, "quiet": True}
    wmel.study(study, output=tmp_path / "study", quiet=True)
    wmel.run("dmc_cartpole", "random", output=tmp_path / "run", **how)
    for name in ("study", "run"):
        assert set(wmel.load(tmp_path / name).to_polars()["rewards"].list.len()) == {5}
    assert "--rewards" in wmel.explain("rewards").answer


def test_where_states_went_is_in_every_result_and_survives_its_record(tmp_path):
    pytest.importorskip("mujoco")
    how = {"episodes": 2, "horizon": 5, "quiet": True}
    run = wmel.run("dmc_cartpole", "random", output=tmp_path / "run.json", **how)
    assert run.run.coverage.states == 10
    assert "uprightness" in str(run) and "uprightness" in str(wmel.load(tmp_path / "run.json"))
    swept = wmel.sweep("dmc_cartpole", "cem", plan_horizons=[2, 3], output=tmp_path / "sweep", **how)
    assert [point.coverage.states for point in wmel.load(tmp_path / "sweep").record.points] == [10, 10]
    assert "plan_horizon=3" in str(swept)
    study = {"name": "s", "episodes": 2, "horizon": 5, "planners": [{"name": "cem"}]}
    study |= {"environments": [{"name": "dmc_cartpole"}]}
    done = wmel.study(study, output=tmp_path / "study", quiet=True)
    assert {name: one.states for name, one in done.record.comparisons[0].coverage.items()} == {
        "oracle": 10,
        "random": 10,
    }
    done.report(tmp_path / "report.md")
    assert "uprightness of visited states" in (tmp_path / "report.md").read_text()


def test_an_added_metric_is_a_column_of_every_table(tmp_path):
    how = {"metrics": ["success@5"], "deadline_ms": 50, **TINY}
    assert "deadline@50" in str(wmel.run("maze_toy", "cem", **how))
    for result in (
        wmel.sweep("maze_toy", "cem", plan_horizons=[3], **how),
        wmel.cpg("maze_toy", {"still": still}, **how),
    ):
        assert "success@5" in str(result) and "deadline@50" in str(result)
    study = {"name": "s", "episodes": 2, "horizon": 12, "metrics": ["success@5"], "planners": [{"name": "cem"}]}
    done = wmel.study(study | {"environments": [{"name": "maze_toy"}]}, output=tmp_path / "s", quiet=True)
    for name in ("report.md", "report.html"):
        done.report(tmp_path / name)
        assert "success@5" in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"anytime": True, "episodes": 5}, "anytime=True ... max_episodes= ... episodes="),
        ({"max_episodes": 5}, "max_episodes= ... anytime=True"),
        ({"anytime": True, "paper": True}, "paper=True ... anytime=True"),
        ({"rerun": "changed", "keep": True}, 'rerun="changed" ... keep=True'),
        ({"workers": 2}, 'executor="processes" ... workers=2'),
    ],
)
def test_a_message_names_parameters_in_python_and_flags_on_the_command_line(
    wmel_command, maze_training, options, named
):
    with pytest.raises(BadInput) as refused:
        wmel.cpg("maze_toy", maze_training, quiet=True, **options)
    assert says(str(refused.value), named) and "--" not in str(refused.value)
    flags = [
        word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value) if word is not True
    ]
    done = wmel_command("cpg", "--env", "maze_toy", "--model", str(maze_training.folder), *map(str, flags))
    assert done.returncode == 2 and f"--{next(iter(options)).replace('_', '-')}" in done.stderr


def test_a_switch_that_is_turned_off_is_named_as_false():
    with pytest.raises(BadInput) as refused:
        wmel.esnr("maze_toy", models="oracle", oracle=False)
    assert says(str(refused.value), 'models="oracle" ... oracle=False')
