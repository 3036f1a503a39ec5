"""A study names a preset and an executor as the command line does."""

import json

import pytest

import wmel
from wmel.errors import BadInput
from wmel.experiments.expand import study_of
from wmel.experiments.spec import parse_study

MAZE = {"name": "x", "episodes": 2, "horizon": 6, "environments": [{"name": "maze_toy"}], "planners": [{"name": "cem"}]}


def test_a_preset_fills_in_what_a_table_leaves_out():
    pytest.importorskip("dm_control")
    study = {**MAZE, "preset": "paper", "environments": [{"name": "dmc_cartpole"}, {"name": "dmc_reacher"}]}
    study["planners"] = [{"name": "cem", "candidates": 30}]
    cells = study_of(parse_study(study)).cells
    assert {cell.task.environment.get("init") for cell in cells if "cartpole" in cell.name} == {"fixed"}
    planner = next(cell.arm.planner for cell in cells if cell.arm.planner is not None)
    assert planner["candidates"] == 30 and planner["elites"] == 6


def test_an_executor_is_a_table_of_the_study(tmp_path):
    study = {**MAZE, "executor": {"name": "processes", "workers": 1}}
    assert study_of(parse_study(study)).executor == {"name": "processes", "workers": 1}
    made = wmel.study({**MAZE, "executor": "serial"}, output=tmp_path / "s", quiet=True)
    assert made.exit_code == 0


@pytest.mark.parametrize(
    ("change", "value"),
    [({"preset": "papre"}, "papre"), ({"executor": "serail"}, "serail"),
     ({"executor": {"name": "processes", "wrkers": 1}}, "wrkers")],
)  # fmt: skip
def test_what_there_is_not_is_refused(change, value):
    with pytest.raises(BadInput, match=value):
        parse_study({**MAZE, **change})


TWO_PLANNERS = {**MAZE, "planners": ["random-shooting", {"name": "cem", "elites": 4}]}


def planners_of(result) -> list[dict]:
    settings = {one.setting.planner["name"]: one.setting.planner for one in result.record.comparisons}
    return [settings["random-shooting"], settings["cem"]]


def test_settings_given_beside_a_study_reach_every_part_that_has_them(tmp_path):
    own_settings = {"planner.elites": "3", "planner.candidates": 9, "environment.max_steps": 5}
    shooting, cem = planners_of(wmel.study(TWO_PLANNERS, output=tmp_path / "s", settings=own_settings, quiet=True))
    assert (cem["elites"], cem["candidates"], shooting["candidates"]) == (3, 9, 9)
    assert "elites" not in shooting
    file = tmp_path / "study.toml"
    file.write_text('name = "f"\nepisodes = 1\nhorizon = 4\nenvironments = ["maze_toy"]\nplanners = ["cem"]\n')
    done = wmel.study(file, output=tmp_path / "f", settings={"planner.elites": 3}, quiet=True)
    assert done.record.comparisons[0].setting.planner["elites"] == 3


def test_a_preset_given_beside_a_study_fills_in_what_its_tables_leave_out(tmp_path):
    study = {**MAZE, "planners": ["random-shooting"]}
    done = wmel.study(study, output=tmp_path / "s", preset="tabular-world-model", quiet=True)
    planner = done.record.comparisons[0].setting.planner
    assert (planner["candidates"], planner["plan_horizon"]) == (200, 20)
    with pytest.raises(BadInput, match=r"paper.*tabular-world-model"):
        wmel.study({**study, "preset": "paper"}, preset="tabular-world-model", output=tmp_path / "t")


def test_a_setting_that_no_part_of_a_study_has_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(BadInput, match=r"elitess.*'elites'"):
        wmel.study(MAZE, output=tmp_path / "s", settings={"planner.elitess": 3})
    how = {"executor": "processes", "settings": {"executor.workers": 1}}
    assert wmel.study(MAZE, output=tmp_path / "s", quiet=True, **how).exit_code == 0


@pytest.mark.parametrize("criteria", [["distance<=0", "distance<=1"], [{"criterion": "distance<=0"}, "distance<=1"]])
def test_a_criterion_may_be_written_as_its_text(criteria):
    cells = study_of(parse_study({**MAZE, "criteria": criteria})).cells
    assert {cell.task.criterion for cell in cells} == {"distance<=0", "distance<=1"}


def test_a_preset_is_explained_and_kinds_are_one_document(wmel_command):
    assert "init" in wmel_command("list", "paper").stdout
    assert set(json.loads(wmel_command("list", "planners", "policies", "--json").stdout)) == {"planners", "policies"}


def test_a_part_without_settings_may_be_written_as_its_name():
    named = {"name": "x", "environments": ["maze_toy"], "planners": ["cem"], "perturbations": ["drop-next-2"]}
    tables = {key: [{"name": one} for one in value] if key != "name" else value for key, value in named.items()}
    assert [c.key for c in study_of(parse_study(named)).cells] == [c.key for c in study_of(parse_study(tables)).cells]


@pytest.mark.parametrize("planner", ["random-shooting", {"name": "random-shooting"}])
def test_a_preset_reaches_planners_that_are_names_and_tables(planner):
    study = study_of(parse_study({**MAZE, "preset": "tabular-world-model", "planners": [planner]}))
    (planned,) = [cell.arm.planner for cell in study.cells if cell.arm.planner is not None]
    assert (planned["plan_horizon"], planned["candidates"]) == (20, 200)


def test_a_preset_that_sets_nothing_is_refused_by_studies_and_verbs(tmp_path):
    maze = wmel.environment("maze_toy")
    objects = {**MAZE, "environments": [maze], "planners": [wmel.RandomShooting()]}
    for work in (
        lambda: parse_study({**MAZE, "preset": "tabular-world-model", "planners": ["cem"]}),
        lambda: wmel.study(objects, preset="tabular-world-model", output=tmp_path / "s", quiet=True),
        lambda: wmel.cpg("maze_toy", STILL, planner="cem", preset="tabular-world-model", quiet=True),
        lambda: wmel.run("maze_toy", "cem", preset="tabular-world-model", quiet=True),
        lambda: wmel.run("maze_toy", "greedy", preset="paper", quiet=True),
        lambda: wmel.run(maze, wmel.CEM(), preset="paper", quiet=True),
        lambda: wmel.run(maze, "random-shooting", preset="tabular-world-model", settings=STATED, quiet=True),
        lambda: wmel.sweep(maze, wmel.CEM(), preset="paper", quiet=True),
    ):
        with pytest.raises(BadInput, match="maze_toy"):
            work()


STILL = "tests.experiments.still:dynamics"
STATED = {"planner.plan_horizon": 20, "planner.candidates": 200}
TINY = {"episodes": 1, "horizon": 2}
ONLY_RULE = "only the verdict rule of the preset applies"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (lambda: wmel.run("maze_toy", "cem", preset="paper", **TINY), ["environment 'maze_toy'"]),
        (lambda: wmel.cpg("maze_toy", STILL, planner="cem", preset="paper", **TINY), ["environment 'maze_toy'"]),
        (
            lambda: wmel.cpg("maze_toy", STILL, planner="mppi", preset="paper", **TINY),
            [ONLY_RULE, "environment 'maze_toy'", "planner 'mppi'"],
        ),
        (
            lambda: wmel.cpg("maze_toy", STILL, planner=wmel.CEM(), preset="paper", **TINY),
            [ONLY_RULE, "environment 'maze_toy'", "planner 'cem'"],
        ),
    ],
)
def test_one_line_names_the_parts_that_a_preset_leaves_alone(capsys, run, words):
    run()
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "preset" in line]
    assert all(word in line for word in words) and (ONLY_RULE in line) == (ONLY_RULE in words)
    assert ("planner" in line) == any("planner" in word for word in words)


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_study_with_a_preset_keeps_the_settings_of_its_objects(tmp_path, capsys, is_dry):
    study = {**MAZE, **TINY, "planners": [wmel.CEM(), "random-shooting"]}
    done = wmel.study(study, preset="paper", output=tmp_path / "s", dry_run=is_dry)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "preset" in line]
    assert "planner 'cem'" in line and "random-shooting" not in line
    if not is_dry:
        planners = [cell.arm.planner for cell in done.store.manifest().cells if cell.arm.planner]
        assert planners == [{"name": "cem"}, {"name": "random-shooting"}]


def test_a_preset_that_reaches_every_part_needs_no_line(tmp_path, capsys):
    pytest.importorskip("dm_control")
    wmel.study({**MAZE, **TINY, "environments": ["dmc_cartpole"]}, preset="paper", output=tmp_path / "s")
    assert "preset" not in capsys.readouterr().err
