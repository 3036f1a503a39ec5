"""One folder, one result: another is refused before anything is written; the same one goes on and may grow."""

import json
import re

import pytest

import wmel
from tests.experiments.studies import MAZE, written
from wmel.errors import BadInput

HOW = {"episodes": 2, "horizon": 5, "quiet": True}
STILL, TRUTH = "tests.experiments.still:dynamics", "tests.experiments.truth:model"


def run(output, policy="cem", **more):
    return wmel.run("maze_toy", policy, output=output, **{**HOW, **more})


def gap(output, models=(STILL,), **more):
    return wmel.cpg("maze_toy", list(models), output=output, **{**HOW, **more})


def sweep(output, plan_horizons=(5, 10), **more):
    return wmel.sweep("maze_toy", plan_horizons=plan_horizons, output=output, **{**HOW, **more})


def gap_of_gain(output, gain=1.0):
    return gap(output, ("tests.experiments.still:Damped",), settings={"model.gain": gain})


def reading(output, models=(STILL,), states=2, **more):
    return wmel.diagnose("prediction-error", "maze_toy", list(models), states=states, output=output, quiet=True, **more)


def training(output, epochs):
    task = {"planner.candidates": 4, "trainer.hidden": "4"}
    return sweep(output, None, policy="cem", model="mlp", sweep={"trainer.epochs": epochs}, settings=task)


ANOTHER = {
    "another verb": (run, sweep),
    "a gap over a sweep": (sweep, gap),
    "another policy": (run, lambda output: run(output, "mppi")),
    "a policy that does not plan": (lambda output: run(output, "random"), lambda output: run(output, "greedy")),
    "another setting of the planner": (run, lambda output: run(output, elites=3)),
    "another criterion": (run, lambda output: run(output, criterion="return>=1")),
    "a model": (run, lambda output: run(output, model=TRUTH)),
    "another planner of a gap": (gap, lambda output: gap(output, planner="cem")),
    "another thing swept": (sweep, lambda output: sweep(output, None, sweep={"planner.candidates": [8, 16]})),
    "another policy swept": (sweep, lambda output: sweep(output, policy="cem")),
    "another setting of a model": (gap_of_gain, lambda output: gap_of_gain(output, 0.5)),
    "another setting of a diagnostic": (reading, lambda output: reading(output, states=3)),
}
SAME = {
    "the same": (run, run),
    "more episodes, seeds and metrics": (
        run,
        lambda output: run(output, episodes=3, seeds=[0, 1], metrics="success@3"),
    ),
    "another executor": (run, lambda output: run(output, executor=wmel.Processes(1))),
    "more models": (gap, lambda output: gap(output, (STILL, TRUTH))),
    "another model of the comparison": (gap, lambda output: gap(output, (TRUTH,))),
    "more points": (sweep, lambda output: sweep(output, (5, 10, 15))),
    "other settings of a training": (lambda output: training(output, [1]), lambda output: training(output, [2])),
    "more models that are read": (reading, lambda output: reading(output, (STILL, TRUTH))),
    "the default swept and not": (lambda output: sweep(output, (20,)), sweep),
}


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize("change", ANOTHER)
def test_a_folder_with_another_result_is_refused_and_left_as_it_is(change, tmp_path):
    first, second = ANOTHER[change]
    first(tmp_path)
    verb = json.loads((tmp_path / "study.json").read_text())["verb"]["name"]
    before = contents(tmp_path)
    with pytest.raises(BadInput, match=rf"{tmp_path} holds another result \(wmel {verb} maze_toy"):
        second(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("change", SAME)
def test_the_same_result_goes_on(change, tmp_path):
    first, second = SAME[change]
    first(tmp_path)
    rows = {path: content for path, content in contents(tmp_path).items() if path.suffix == ".parquet"}
    second(tmp_path)
    assert rows.items() <= contents(tmp_path).items()


def test_a_sweep_with_other_values_keeps_the_points_it_has(tmp_path):
    sweep(tmp_path, (5, 10))
    again = sweep(tmp_path, (15,), seeds=[0, 1], episodes=3)
    assert [row["plan_horizon"] for row in again.rows] == [5, 10, 15]
    assert again.table.equals(wmel.load(tmp_path).table) and again.to_polars().height == 3 * 2 * 3
    alone = sweep(None, (5, 10, 15), seeds=[0, 1], episodes=3)
    assert [point.run.table["declared_compute"].tolist() for point in alone.points] == [
        point.run.table["declared_compute"].tolist() for point in again.points
    ]


def test_readings_of_other_values_keep_those_of_the_same_models(tmp_path):
    def read(values, **more):
        return reading(tmp_path, sweep={"diagnostic.steps": values}, **more)

    def values_of(result):
        return {(one.diagnostic["steps"], one.arm) for one in result.record.readings}

    read([2])
    assert values_of(read([3])) == values_of(wmel.load(tmp_path)) == {(2, "dynamics"), (3, "dynamics")}
    assert values_of(read([4], models=[TRUTH])) == {(4, "model")}


def test_a_model_that_is_no_longer_compared_leaves_no_record(tmp_path):
    gap(tmp_path)
    (tmp_path / "notes.json").write_text("{}")
    gap(tmp_path, (TRUTH,))
    names = {path.name for path in tmp_path.glob("*.json")}
    assert names == {"cpg.json", "oracle.json", "model.json", "random.json", "study.json", "notes.json"}


ANOTHER_FILE = {
    "another verb": (run, sweep, "wmel run"),
    "another setting": (run, lambda output: run(output, elites=3), "planner.elites = None"),
    "another length": (run, lambda output: run(output, horizon=6), "horizon = 5"),
    "another criterion": (
        run,
        lambda output: run(output, criterion="distance<=1"),
        "criterion.criterion = distance<=0",
    ),
    "fewer executed actions": (run, lambda output: run(output, execute=1), "planner.execute = None"),
    "a model": (run, lambda output: run(output, model=TRUTH), "model.name = None"),
    "fewer episodes": (run, lambda output: run(output, episodes=1), "2 episodes"),
    "another seed": (run, lambda output: run(output, seeds=1), "seed 0"),
    "other values": (sweep, lambda output: sweep(output, (10, 15)), "plan_horizon 5"),
    "another setting of all points": (sweep, lambda output: sweep(output, candidates=9), "planner.candidates = 200"),
    "a comparison": (run, lambda output: wmel.compare(run(None), run(None), output=output, quiet=True), "run"),
}
SAME_FILE = {
    "the same run": (run, run),
    "more episodes and seeds": (run, lambda output: run(output, episodes=3, seeds=[0, 1])),
    "the same sweep": (sweep, sweep),
    "more points": (sweep, lambda output: sweep(output, (5, 10, 15))),
    "more trainings": (lambda output: training(output, [1]), lambda output: training(output, [1, 2])),
    "the same trainings": (lambda output: training(output, [1, 2]), lambda output: training(output, [1, 2])),
    "worlds of another length": (
        lambda output: sweep(output, None, horizon=None, sweep={"environment.max_steps": [4, 6]}),
        lambda output: sweep(output, None, horizon=None, sweep={"environment.max_steps": [4, 5, 6]}),
    ),
}


@pytest.mark.parametrize("change", ANOTHER_FILE)
def test_a_file_with_another_result_is_refused_and_left_as_it_is(change, tmp_path):
    first, second, difference = ANOTHER_FILE[change]
    first(tmp_path / "out.json")
    before = contents(tmp_path)
    with pytest.raises(BadInput, match=re.escape(f"{tmp_path / 'out.json'} holds another result ({difference})")):
        second(tmp_path / "out.json")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("change", SAME_FILE)
def test_a_file_is_replaced_by_a_result_that_has_its_rows(change, tmp_path):
    first, second = SAME_FILE[change]
    first(tmp_path / "out.json")
    again = second(tmp_path / "out.json")
    assert wmel.load(tmp_path / "out.json").table.equals(again.table)


def test_a_file_that_is_no_record_is_not_written_over(tmp_path):
    (tmp_path / "package.json").write_text("{}")
    with pytest.raises(BadInput, match="package"):
        run(tmp_path / "package.json")
    assert (tmp_path / "package.json").read_text() == "{}"


def test_a_study_is_the_same_by_its_name(tmp_path):
    folder, text = tmp_path / "store", MAZE.replace("episodes = 12", "episodes = 2")
    wmel.study(written(tmp_path, text), output=folder, limit=1, quiet=True)
    wmel.study(written(tmp_path, text.replace("episodes = 2", "episodes = 3")), output=folder, limit=1, quiet=True)
    other = written(tmp_path, text.replace('name = "maze"', 'name = "other"'))
    with pytest.raises(BadInput, match=r"holds another result \(wmel"):
        wmel.study(other, output=folder, limit=1, quiet=True)
    with pytest.raises(BadInput, match="holds another result"):
        run(folder)


def test_two_study_files_of_one_name_do_not_share_a_folder(tmp_path):
    """Both would be stored in runs/study by default."""
    texts = {"a": MAZE, "b": MAZE.replace("plan_horizon = { sweep = [5, 10] }", "plan_horizon = 5")}
    paths = {}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        paths[name] = written(tmp_path / name, text)
    folder, how = tmp_path / "store", {"limit": 1, "quiet": True}
    wmel.study(paths["a"], output=folder, **how)
    before = contents(folder)
    for more in ({}, {"rerun": "changed"}, {"keep": True}, {"dry_run": True}):
        with pytest.raises(BadInput, match=r"a/study.toml, .*b/study.toml"):
            wmel.study(paths["b"], output=folder, **how, **more)
    assert contents(folder) == before
    paths["b"].write_text(MAZE.replace("[5, 10]", "[5, 10, 15]").replace("episodes = 12", "episodes = 14"))
    wmel.study(paths["b"], output=folder, **how)  # it has all cells of the other


def test_a_study_that_was_edited_or_moved_goes_on(tmp_path):
    folder, path, how = tmp_path / "store", written(tmp_path, MAZE), {"limit": 1, "quiet": True}
    wmel.study(path, output=folder, **how)
    path.write_text(MAZE.replace("candidates = 20", "candidates = 21"))
    wmel.study(path, output=folder, **how)
    path = path.rename(tmp_path / "moved.toml")
    path.write_text(MAZE)
    assert wmel.study(path, output=folder, **how).exit_code == 0


def test_rows_that_wait_for_their_record_are_no_result_yet(tmp_path):
    (tmp_path / "out.json.unfinished").mkdir()
    run(tmp_path / "first")
    (tmp_path / "out.json.unfinished" / "study.json").write_bytes((tmp_path / "first" / "study.json").read_bytes())
    assert run(tmp_path / "out.json", "mppi").exit_code == 0


def test_the_command_line_refuses_in_one_line(tmp_path, wmel_command):
    assert wmel_command("run", "--policy", "random", "--episodes", "1", "--output", "sf", cwd=tmp_path).returncode == 0
    done = wmel_command("sweep", "--episodes", "1", "--output", "sf", cwd=tmp_path)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == "wmel: sf holds another result (wmel run maze_toy/random): give another folder\n"
