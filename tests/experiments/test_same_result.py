"""One folder, one result: another is refused before anything is written; the same one goes on and may grow."""

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
    "the default swept and not": (lambda output: sweep(output, (20,)), sweep),
}


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize("change", ANOTHER)
def test_a_folder_with_another_result_is_refused_and_left_as_it_is(change, tmp_path):
    first, second = ANOTHER[change]
    verb = first(tmp_path).verb
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


def test_a_study_is_the_same_by_its_name(tmp_path):
    folder, text = tmp_path / "store", MAZE.replace("episodes = 12", "episodes = 2")
    wmel.study(written(tmp_path, text), output=folder, limit=1, quiet=True)
    wmel.study(written(tmp_path, text.replace("episodes = 2", "episodes = 3")), output=folder, limit=1, quiet=True)
    other = written(tmp_path, text.replace('name = "maze"', 'name = "other"'))
    with pytest.raises(BadInput, match=r"holds another result \(wmel"):
        wmel.study(other, output=folder, limit=1, quiet=True)
    with pytest.raises(BadInput, match="holds another result"):
        run(folder)


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
