"""`wmel.load` gives back any result of any verb, and `save` writes what it needs."""

import json
import shutil
import sys
from functools import reduce
from operator import getitem
from pathlib import Path

import polars as pl
import pytest

import wmel
from tests.api.every_verb import READING, STUDY, WORLD, make_every_result
from tests.conftest import says
from wmel.errors import BadInput, BadRecord, MissingExtra
from wmel.experiments.load import load_study
from wmel.reports.document import Table

ROOT = Path(__file__).parents[2]
EARLIER = ROOT / "tests" / "golden" / "version_2_0"
VERBS = ["run", "sweep", "cpg", "esnr", "diagnose", "esnr_toy", "esnr_over_training", "train", "study", "report"]
VERBS += ["compare", "power", "check"]
FOLDERS = [verb for verb in VERBS if verb not in ("compare", "power", "check")]
WITH_ROWS = ["run", "sweep", "cpg", "esnr", "diagnose", "esnr_over_training", "study"]  # or with readings
FILES = ["run/run.json", "sweep/sweep.json", "cpg/cpg.json", "esnr/esnr.json", "esnr_toy/toy.json"]
FILES += ["diagnose/results.json", "report/results.json", "train/card.json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def made(folder, quick_toy):
    return make_every_result(folder, quick_toy)


def assert_same(one, other):
    assert one.answer == other.answer
    assert one.table.equals(other.table) and one.table.columns == other.table.columns
    assert one.plot().to_plotly_json()["data"] and other.plot().to_plotly_json()["data"]


@pytest.mark.parametrize("verb", FOLDERS)
def test_the_folder_of_a_verb_gives_its_result_back(verb, made, folder):
    again = wmel.load(folder / verb)
    assert_same(made[verb], again)
    assert set(again.more) >= set(made[verb].more) - {"summary", *({} if verb != "report" else made[verb].more)}


@pytest.mark.parametrize("file", FILES)
def test_a_record_gives_its_result_back(file, made, folder):
    verb = Path(file).parent.name
    again = wmel.load(folder / file)
    assert_same(made[verb], again)
    assert verb == "report" or set(again.more) >= set(made[verb].more)


@pytest.mark.parametrize("verb", WITH_ROWS)
def test_the_report_of_a_folder_is_the_result_that_is_loaded_from_it(verb, made, folder, tmp_path):
    found, loaded = wmel.report(folder / verb, output=tmp_path / "report", quiet=True), wmel.load(folder / verb)
    assert found.verb == loaded.verb
    for again in (found, wmel.load(tmp_path / "report"), wmel.load(found.save(tmp_path / "saved"))):
        assert_same(loaded, again)
        assert again.verb == loaded.verb


def test_the_report_of_a_gap_lists_the_cells_that_are_incomplete(made, folder, tmp_path):
    shutil.copytree(folder / "cpg", tmp_path / "cpg")
    (cell,) = (one.cell for one in load_study(tmp_path / "cpg").results if one.cell.arm.name == "random")
    shutil.rmtree(tmp_path / "cpg" / "cells" / cell.key)
    assert cell.name in str(wmel.report(tmp_path / "cpg", quiet=True)) and cell.name not in str(made["cpg"])


def test_readings_keep_the_verb_that_took_them(made, folder, tmp_path):
    assert made["diagnose"].verb == "diagnose" and made["study"].verb == "study"
    found = [wmel.load(folder / "diagnose"), wmel.load(made["diagnose"].save(tmp_path / "saved"))]
    found.append(wmel.load(tmp_path / "saved" / "results.json"))
    found.append(wmel.report(folder / "diagnose", output=tmp_path / "report", quiet=True))
    found.append(wmel.load(tmp_path / "report"))
    assert [one.verb for one in found] == ["diagnose"] * 5
    assert wmel.load(folder / "study").verb == "study"


def test_what_is_particular_to_a_verb_is_loaded_with_its_values(made, folder):
    assert wmel.load(folder / "run").scorecard == made["run"].scorecard
    swept = wmel.load(folder / "sweep")
    assert swept.effective_horizon == made["sweep"].effective_horizon
    assert [at.swept for at in swept.points] == [at.swept for at in made["sweep"].points]
    gap = wmel.load(folder / "cpg")
    assert gap.verdicts == made["cpg"].verdicts and gap.models == made["cpg"].models
    assert gap.gaps["mine"].raw_gap == made["cpg"].gaps["mine"].raw_gap
    readings = wmel.load(folder / "esnr").readings
    assert [one.per_state for one in readings] == [one.per_state for one in made["esnr"].readings]
    (training,), (before,) = wmel.load(folder / "esnr_over_training").trainings, made["esnr_over_training"].trainings
    assert training.beside["return"][16] == 3 and str(training.beside) == str(before.beside)
    trained = wmel.load(folder / "train")
    assert trained.card == made["train"].card
    assert trained.model.spec.weights == made["train"].model.spec.weights


@pytest.mark.parametrize("verb", VERBS)
def test_every_heading_and_every_name_in_a_row_can_be_looked_up(verb, made):
    result = made[verb]
    tables = [] if result.document is None else tables_in(result.document().sections)
    titles = [column.title for table in tables for column in table.columns]
    numbers = [row["number"] for row in result.rows if "number" in row]
    for word in dict.fromkeys([*titles, *result.rows[0], *numbers]):
        assert wmel.explain(word).answer


def tables_in(blocks):
    """Every table of a report."""
    for block in blocks:
        yield from [block] if isinstance(block, Table) else tables_in(getattr(block, "blocks", ()))


@pytest.mark.parametrize("verb", VERBS)
def test_a_saved_result_is_loaded_as_it_was(verb, made, tmp_path):
    saved = made[verb].save(tmp_path / "saved")
    again = wmel.load(saved)
    assert_same(made[verb], again)
    assert again.to_polars().equals(made[verb].to_polars())
    assert wmel.load(again.save(saved)).answer == made[verb].answer  # the same may be saved twice


def test_the_tables_of_a_study_are_polars_tables(made):
    study = made["study"]
    assert isinstance(study.episodes, pl.DataFrame) and isinstance(study.cells, pl.DataFrame)
    assert study.episodes.join(study.cells, on="key").height == study.episodes.height == 15


@pytest.mark.parametrize("name", ["run/run.json", "sweep/sweep.json", "cpg"])
def test_a_record_alone_has_a_row_for_each_episode(name, made, folder, tmp_path):
    place = tmp_path / name
    if name == "cpg":
        shutil.copytree(folder / "cpg", place, ignore=lambda path, names: {"study.json", "cells"} & set(names))
    else:
        place.parent.mkdir()
        shutil.copy(folder / name, place)
    kept, alone = made[Path(name).parts[0]].to_polars(), wmel.load(place).to_polars()
    known = [one for one in kept.columns if one not in ("key", "cell", "rewards")]
    assert (
        alone[known]
        .sort("arm", "episode_seed", *known[-1:])
        .equals(kept[known].sort("arm", "episode_seed", *known[-1:]))
    )


def test_a_result_that_stored_nothing_is_saved_with_its_rows(tmp_path):
    made = {
        "run": wmel.run("maze_toy", "random", episodes=3, quiet=True),
        "file": wmel.run("maze_toy", "random", episodes=3, output=tmp_path / "run.json", quiet=True),
        "esnr": wmel.esnr(WORLD, "oracle", **READING),
    }
    for name, result in made.items():
        again = wmel.load(result.save(tmp_path / name))
        assert_same(result, again)
        assert again.to_polars().equals(result.to_polars())
    assert made["file"].to_polars().height == 3


def test_saving_a_loaded_study_where_it_lies_leaves_it_readable(made, folder, tmp_path):
    shutil.copytree(folder / "study", tmp_path / "s")
    before = (tmp_path / "s" / "study.json").read_bytes()
    wmel.load(tmp_path / "s").save(tmp_path / "s")
    assert (tmp_path / "s" / "study.json").read_bytes() == before
    assert_same(made["study"], wmel.load(tmp_path / "s"))


@pytest.mark.parametrize(
    ("first", "second"), [("run", "sweep"), ("run", "power"), ("power", "check"), ("check", "run")]
)
def test_a_folder_with_another_result_is_not_written_over(first, second, made, tmp_path):
    made[first].save(tmp_path)
    with pytest.raises(BadInput, match="another"):
        made[second].save(tmp_path)
    assert wmel.load(tmp_path).answer == made[first].answer


@pytest.mark.parametrize("verb", VERBS)
def test_a_result_is_shown_with_a_drawing(verb, made):
    page = made[verb]._repr_html_()
    assert made[verb].answer.split("[")[0][:20] in page and "<table>" in page
    assert "<svg" in page


BARE = {"name": "bare", "seeds": [0, 1], "environments": [{"name": WORLD}], "oracle": False, "floor": False}
POLICIES = {**BARE, "episodes": 2, "environments": [{"name": "maze_toy"}]}
POLICIES["policies"] = [{"name": "random"}, {"name": "greedy"}]
READ = {"name": "esnr", "methods": ["zog", "cem"], "states": 4, "samples": 4, "plan_horizon": 3}


@pytest.fixture(scope="module")
def without_gap(made, folder):
    models = [
        {"name": name, "checkpoint": str(folder / "trained" / "seed0" / "checkpoints" / "0000001")}
        for name in ("one", "two", "three")
    ]
    studies = {"policies": POLICIES, "diagnostics": {**BARE, "models": models, "diagnostics": [READ]}}
    return {
        name: wmel.load(wmel.study(data, output=folder / name, quiet=True).folder) for name, data in studies.items()
    }


@pytest.mark.parametrize("kind", ["policies", "diagnostics"])
def test_a_study_without_a_gap_says_what_was_found_and_is_drawn(kind, without_gap):
    found = without_gap[kind]
    assert "No gap was measured" not in found.answer and any(digit in found.answer for digit in "0123456789")
    assert found.plot().data and "<svg" in found._repr_html_()


def test_a_study_with_readings_prints_a_line_for_each_in_a_table_by_estimator_and_no_differences(
    without_gap, folder, tmp_path
):
    text = str(without_gap["diagnostics"])
    models, rows = [line.split()[:1] for line in text.splitlines()], without_gap["diagnostics"].rows
    assert all(models.count([name]) == sum(row["model"] == name for row in rows) for name in ("one", "two", "oracle"))
    assert "esnr by zog of 4" in text and "esnr by cem of 4" in text
    assert len(text.splitlines()) <= 12 + len(rows) and "one - two" not in text
    wmel.report(folder / "diagnostics", output=tmp_path, quiet=True)
    assert "one - two" in (tmp_path / "report.md").read_text()
    shown = str(wmel.show(tmp_path / "results.json"))
    assert shown == text == str(wmel.load(tmp_path))


@pytest.mark.parametrize("verb", VERBS)
def test_a_result_has_rows_as_json(verb, made):
    assert len(made[verb].rows) > 0 and json.loads(made[verb].to_json())


def test_a_dry_run_is_a_table_without_a_figure(tmp_path):
    planned = wmel.study(STUDY, output=tmp_path / "no", dry_run=True, quiet=True)
    assert planned.to_polars().height == len(planned.to_pandas()) == 1
    with pytest.raises(BadInput, match="no figure"):
        planned.plot()
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("name", ["list_parts", "explain", "doctor", "a dry run"])
def test_what_has_no_record_is_not_saved(name, tmp_path):
    made = {"a dry run": lambda: wmel.study(STUDY, output=tmp_path / "no", dry_run=True, quiet=True)}
    result = made[name]() if name in made else getattr(wmel, name)()
    with pytest.raises(BadInput, match="saved"):
        result.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_without_pandas_the_extra_is_named(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"wmel\[pandas\]"):
        made["power"].to_pandas()


def test_the_answer_over_trainings_says_whether_they_are_u_shaped(made):
    assert says(made["esnr_over_training"].answer, "Cannot tell whether 1 run ... ESNR")


def test_the_report_of_a_record_is_the_report_of_the_study(made, folder, tmp_path):
    loaded = wmel.load(folder / "report" / "results.json").report(tmp_path / "x.html").read_text()
    assert loaded == (folder / "report" / "report.html").read_text()
    assert "No gap" not in loaded and "Curves" in loaded


def test_the_report_of_an_esnr_folder_is_that_of_its_readings(made, folder, tmp_path):
    found = wmel.report(folder / "esnr", output=tmp_path, quiet=True)
    assert "Signal for its noise" in (tmp_path / "report.html").read_text()
    assert_same(made["esnr"], found)
    assert_same(made["esnr"], wmel.load(tmp_path))


def test_results_and_folders_and_files_of_a_run_are_compared(made, folder):
    for one in (made["run"], folder / "run", folder / "run" / "run.json"):
        found = wmel.compare(one, folder / "run", quiet=True)
        assert found.rows[0]["difference"] == 0 and found.rows[0]["pairs"] == 4


def test_a_gap_of_the_previous_version_is_compared_with_a_new_one(made, folder, tmp_path):
    setting = json.loads((EARLIER / "cpg" / "cpg.json").read_text())["setting"]
    new = wmel.cpg(
        setting["env"],
        {"checkpoint": str(EARLIER / "checkpoint")},
        episodes=setting["episodes"],
        horizon=setting["horizon"],
        criterion=setting["success"],
        stop=setting["stop"],
        settings={"planner.candidates": 4, "planner.plan_horizon": 3},
        output=tmp_path / "new",
        quiet=True,
    )
    tasks = {row["task"] for row in wmel.compare(EARLIER / "cpg", tmp_path / "new", quiet=True).rows}
    assert tasks == {"oracle", "checkpoint", "random"}
    assert {row["task"] for row in wmel.compare(new, EARLIER / "cpg", quiet=True).rows} == tasks


def test_a_live_object_is_checked():
    assert wmel.check(wmel.CEM()).exit_code == 0
    assert wmel.check(wmel.environment("maze_toy")).exit_code == 0
    assert wmel.check(wmel.Oracle(wmel.environment("maze_toy"))).exit_code == 0


def test_readings_over_training_of_the_previous_version_load():
    found = wmel.load(EARLIER / "over_training")
    assert len(found.trainings) == 1 and found.table.height == 5 * len(found.trainings[0].methods)
    assert found.plot().data


def test_readings_and_a_gap_without_its_arms_of_the_previous_version_load():
    place = ROOT / "results" / "esnr-cartpole"
    assert wmel.load(place).verb == "esnr"
    gap = wmel.load(place / "cpg.json")
    assert gap.table.height == 2 and gap.plot().data


@pytest.mark.parametrize(
    "name", ["run.json", "sweep.json", "cpg", "esnr.json", "results.json", "store", "compare.json"]
)
def test_results_of_the_previous_version_load_as_tables_and_figures(name):
    found = wmel.load(EARLIER / name)
    assert found.table.height > 0 and found.plot().data


@pytest.mark.parametrize("verb", FOLDERS)
def test_the_folder_of_any_verb_is_shown(verb, made, folder):
    assert str(wmel.show(folder / verb)) == str(wmel.load(folder / verb))


def test_the_ceiling_bounce_needs_no_folder_and_its_numbers_stay_numbers(tmp_path, monkeypatch, quick_toy):
    monkeypatch.chdir(tmp_path)
    with quick_toy():
        made = wmel.esnr_toy(speeds=[5], seeds=3, quiet=True)
    assert not list(tmp_path.iterdir()) and made.files == {}
    assert wmel.load(made.save(tmp_path / "toy")).table.equals(made.table)


def test_what_is_judged_anew_is_called_by_its_criterion(tmp_path):
    criteria = [{"criterion": one, "stop": "horizon"} for one in ("reward>=0.6", "reward>=0.7")]
    study = {**STUDY, "environments": [{"name": WORLD}], "criteria": criteria, "horizon": 4}
    study["models"] = [{"name": "mine", "object": "tests.api.every_verb:still"}]
    study["planners"] = [{"name": "cem", "candidates": 8, "plan_horizon": {"sweep": [3, 5]}}]
    wmel.study(study, output=tmp_path / "s", quiet=True)
    found = wmel.report(tmp_path / "s", criterion="reward>=0.01", output=tmp_path / "r", quiet=True)
    names = [one.name for one in found.record.comparisons]
    assert len(names) == 2 and all("reward>=0.01" in name for name in names)
    text = (tmp_path / "r" / "report.md").read_text() + (tmp_path / "r" / "report.html").read_text()
    assert "=0.6" not in text and "=0.7" not in text


def test_a_dry_run_counts_readings_and_names_what_changed(without_gap, folder, tmp_path):
    study = {**BARE, "seeds": [0], "oracle": True, "diagnostics": [READ]}
    (row,) = wmel.study(study, output=tmp_path / "s", dry_run=True, quiet=True).rows
    assert (row["readings"], row["changed"]) == (1, 0)
    wmel.study(study, output=tmp_path / "s", quiet=True)
    for path in (tmp_path / "s" / "cells").glob("*/reading.json"):
        found = json.loads(path.read_text())
        found["provenance"]["versions"]["numpy"] = "0.1"
        path.write_text(json.dumps(found))
    planned = wmel.study(study, output=tmp_path / "s", dry_run=True, quiet=True)
    assert (planned.rows[0]["readings"], planned.rows[0]["changed"]) == (0, 1)
    assert "numpy" in str(planned) and "rerun or keep" in str(planned)


def test_what_is_no_result_is_refused_by_name(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(BadRecord, match=str(place)):
            wmel.load(place)


@pytest.mark.parametrize("verb", ["run", "sweep"])
def test_episodes_that_are_missing_are_reported_with_a_run_or_sweep(verb, tmp_path):
    """A block has 50 episodes: without the second of one cell, 10 of its 60 are missing."""
    small = {"candidates": 2, "iterations": 1, "episodes": 60, "horizon": 1, "quiet": True}
    swept = {"plan_horizons": [1, 2]} if verb == "sweep" else {"plan_horizon": 1}
    done = getattr(wmel, verb)("maze_toy", "cem", output=tmp_path, **small, **swept)
    assert not done.failures and not wmel.load(tmp_path).failures
    cell = next((tmp_path / "cells").iterdir())
    for file in cell.glob("000050-10.*"):
        file.unlink()
    for found in (wmel.load(tmp_path), wmel.report(tmp_path, quiet=True)):
        assert len(found.failures) == 1 and "10 of 60 episodes" in found.failures[0]


def test_the_coverage_of_a_shortened_point_is_that_of_its_episodes(tmp_path):
    """A block has 50 episodes of 2 steps: without the second of one point, 100 states are counted at both."""
    small = {"candidates": 2, "iterations": 1, "episodes": 60, "horizon": 2, "quiet": True}
    whole = wmel.sweep(WORLD, "cem", plan_horizons=[1, 2], output=tmp_path / "sweep", **small)
    first = wmel.sweep(WORLD, "cem", plan_horizons=[1, 2], **{**small, "episodes": 50})
    assert [point.run.coverage.states for point in whole.points] == [120, 120]
    cell = next((tmp_path / "sweep" / "cells").iterdir())
    for file in cell.glob("000050-10.*"):
        file.unlink()
    cut = wmel.load(tmp_path / "sweep")
    assert [point.run.coverage for point in cut.points] == [point.run.coverage for point in first.points]
    assert [point.run.coverage.states for point in first.points] == [100, 100]


def test_a_run_that_ends_within_a_stored_block_has_no_coverage(tmp_path):
    """The visited states are counted block by block: those of its first episodes are not known."""
    small = {"candidates": 2, "iterations": 1, "horizon": 2, "plan_horizon": 1, "quiet": True}
    assert wmel.run(WORLD, "cem", output=tmp_path, episodes=4, **small).run.coverage.states == 8
    assert wmel.run(WORLD, "cem", output=tmp_path, episodes=3, **small).run.coverage is None


DAMAGES = [  # what random mutations of the files found: file, place and value
    ("esnr_toy/toy.json", ("panels", 0, "estimators", 0, "heights", 0), []),
    ("esnr_toy/toy.json", ("panels", 0, "estimators", 0, "ratios"), [1.0]),
    ("esnr/esnr.json", ("readings", 0, "settings", "samples"), "many"),
    ("report/results.json", ("comparisons", 0, "setting", "planner", "name"), 3),
    ("report/results.json", ("comparisons", 0, "scorecards", "mine", "estimates"), {}),
    ("diagnose/results.json", ("readings", 0, "diagnostic"), {}),
    ("diagnose/results.json", ("readings", 0, "environment", "name"), [1]),
    ("study/study.json", ("cells", -1, "arm", "planner", "name"), {}),
    ("study/study.json", ("cells", -1, "task", "environment"), "maze"),
    ("diagnose/study.json", ("diagnostics", 0, "environment"), "maze"),
    ("train/card.json", ("errors",), 0.5),
    ("train/card.json", ("model",), {}),
    ("train/card.json", ("curve",), [{"epochs": 1}]),
]


@pytest.mark.parametrize(("file", "place", "value"), DAMAGES)
def test_what_a_damaged_file_holds_is_refused_by_name(file, place, value, made, folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder / Path(file).parent, copy)
    path = copy / Path(file).name
    content = json.loads(path.read_text())
    *outer, last = place
    reduce(getitem, outer, content)[last] = value
    path.write_text(json.dumps(content))
    with pytest.raises(BadInput, match="copy"):
        wmel.load(copy if path.name in ("study.json", "card.json") else path)
