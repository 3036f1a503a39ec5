"""Every verb returns a result that prints, shows itself and becomes tables and files."""

import json
import re

import numpy as np
import polars as pl
import pytest

import wmel
from wmel.errors import BadInput
from wmel.reports.small_svg import WIDE
from wmel.results import Result


@pytest.fixture(scope="module")
def gap():
    def still(state, action):
        return state

    return wmel.cpg("maze_toy", {"still": still}, planner="cem", episodes=4, seeds=[0, 1], quiet=True)


@pytest.fixture(scope="module")
def results(gap):
    return {
        "run": wmel.run("maze_toy", "cem", episodes=4, quiet=True),
        "sweep": wmel.sweep("maze_toy", plan_horizons=[5, 15], episodes=4, quiet=True),
        "cpg": gap,
        "power": wmel.power(oracle=0.9, learned=0.5),
        "check": wmel.check("cem"),
    }


@pytest.mark.parametrize("verb", ["run", "sweep", "cpg", "power", "check"])
def test_a_result_prints_in_a_few_lines_and_never_raw_arrays(verb, results):
    text = repr(results[verb])
    assert text.startswith(results[verb].answer)
    assert len(text.splitlines()) <= 14 and "array(" not in text


@pytest.mark.parametrize("verb", ["run", "sweep", "cpg", "power", "check"])
def test_a_result_shows_itself_in_a_notebook_with_answer_table_and_drawing(verb, results):
    page = results[verb]._repr_html_()
    assert "<strong>" in page and "<table>" in page and "<svg" in page


def test_a_notebook_has_numbers_at_the_right_words_at_the_left_and_a_line_at_no_gap():
    rows = [
        {"model": "a", "gap": 0.25, "low": -0.25, "high": 0.75, "pairs": None},
        {"model": "b", "gap": 0.5, "low": 0.25, "high": 0.75, "pairs": 9},
    ]
    page = Result("The answer.", rows)._repr_html_()
    sides = re.findall(r'<th style="text-align: (\w+)[^>]*>(\w+)</th>', page)
    assert sides == [("left", "model"), *(("right", name) for name in ("gap", "low", "high", "pairs"))]
    (zero,) = re.findall(r'<line x1="([\d.]+)" x2="\1"[^>]*dasharray', page)
    ends = sorted(float(x) for x in re.findall(r'<line x1="([\d.]+)" x2="[\d.]+" y1="20"', page))
    assert float(zero) - ends[0] == pytest.approx(WIDE * 0.25)  # from -.25 to .75, which is the whole axis
    alone = Result("The answer.", rows[1:])._repr_html_()
    assert "dasharray" not in alone  # 0 lies outside


@pytest.mark.parametrize(("last", "middle"), [(1e4, 1e2), (3.0, 2.0)])  # of a logarithmic axis, and of a linear one
def test_positive_numbers_that_are_far_apart_are_drawn_on_a_logarithmic_axis(last, middle):
    rows = [{"model": "a", "esnr": esnr, "low": None, "high": None} for esnr in (1.0, last, middle)]
    page = Result("The answer.", rows)._repr_html_()
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', page)]
    assert places[2] == pytest.approx((places[0] + places[1]) / 2)
    assert (">log<" in page) == (last > 100)


@pytest.mark.parametrize("verb", ["run", "sweep", "cpg", "power", "check"])
def test_a_result_becomes_tables_and_files(verb, results, tmp_path):
    result = results[verb]
    assert result.table.height == len(result.rows)
    assert result.to_latex().count(" " + 2 * chr(92)) == len(result.rows) + 1
    assert len(result.to_pandas()) == result.to_polars().height
    json.loads(result.to_json())
    assert result.report(tmp_path / "a.md").read_text()
    assert "<html" in result.report(tmp_path / "a.html").read_text()
    assert (result.save(tmp_path / "saved") / "summary.md").exists()
    with pytest.raises(BadInput, match="html or"):
        result.report(tmp_path / "a.pdf")


@pytest.mark.parametrize("verb", ["run", "sweep", "cpg"])
def test_a_result_of_episodes_is_drawn_and_has_a_row_for_each(verb, results):
    assert results[verb].plot().data
    assert results[verb].to_polars().height == {"run": 4, "sweep": 8, "cpg": 24}[verb]


@pytest.mark.parametrize("verb", ["run", "sweep", "cpg"])
def test_the_episodes_of_a_result_are_a_polars_table(verb, results):
    assert pl.concat([results[verb].episodes, results[verb].episodes]).height == 2 * results[verb].to_polars().height
    assert isinstance(results["run"].run.table, wmel.schema.EpisodeTable)


def test_a_notebook_completes_what_is_particular_to_a_verb(results):
    assert {"scorecard", "run", "episodes"} <= set(dir(results["run"]))
    assert not hasattr(results["power"], "episodes")


def test_what_a_result_holds_prints_in_a_line(results):
    for one in (results["cpg"].gaps, results["sweep"].sweep, results["run"].scorecard, results["run"].run):
        assert len(repr(one)) < 160 and "array(" not in repr(one)


def test_the_report_of_any_record_is_written_beside_it(results, tmp_path):
    for verb, result in results.items():
        if result.record is None:
            continue
        result.save(tmp_path / verb)
        done = wmel.report(next((tmp_path / verb).glob("*.json")), output=tmp_path / "out" / verb)
        assert done.answer == result.answer
        assert {one.name for one in (tmp_path / "out" / verb).iterdir()} >= {"report.html", "report.md"}


def test_special_characters_are_escaped_once_in_latex():
    text = Result("a", [{"name": "a\\b^c~d<e>f_g", "value": 1.0}]).to_latex()
    escaped = r"a\textbackslash{}b\textasciicircum{}c\textasciitilde{}d\textless{}e\textgreater{}f\_g"
    assert escaped in text


def test_a_swept_none_is_none_and_an_undefined_number_is_not():
    swept = wmel.sweep("maze_toy", "cem", sweep={"planner.elites": [None, 3]}, episodes=2, horizon=1, quiet=True)
    for text in (repr(swept), swept._repr_html_(), swept.to_latex()):
        assert "none" in text and "n/a" in text
    assert swept.table["elites"].to_list() == [None, 3]


def test_the_gap_of_python_is_the_gap_of_the_command_line(gap, tmp_path, monkeypatch, capsys):
    from tests.golden.adapters import run_command

    (tmp_path / "standing.py").write_text("def still(state, action):\n    return state\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = "cpg --env maze_toy --model standing:still --planner cem --episodes 4 --seeds 0,1 --json"
    assert run_command(*words.split()) == 0
    typed = json.loads(capsys.readouterr().out)
    assert typed["cpgs"]["still"] == json.loads(gap.to_json())["cpgs"]["still"]


def test_parts_are_given_by_name_by_table_or_as_objects():
    planners = ("cem", {"name": "cem"}, wmel.CEM())
    runs = [wmel.run(wmel.environment("maze_toy"), policy, episodes=3, quiet=True) for policy in planners]
    other = wmel.run("maze_toy", wmel.CEM(elites=2, plan_horizon=9), episodes=3, quiet=True)
    for one in runs[1:]:
        assert np.array_equal(one.episodes["steps"], runs[0].episodes["steps"])
        assert one.record.metadata.planner == runs[0].record.metadata.planner
    assert other.record.metadata.planner["elites"] == 2
    by_keyword = wmel.run(
        "maze_toy", "cem", episodes=3, settings={"planner.elites": 2, "planner.plan_horizon": 9}, quiet=True
    )
    assert np.array_equal(by_keyword.episodes["steps"], other.episodes["steps"])


def test_a_stored_result_is_loaded_again(tmp_path):
    made = wmel.run("maze_toy", "random", episodes=3, output=tmp_path / "run", quiet=True)
    assert wmel.load(tmp_path / "run" / "run.json").answer == made.answer
    assert wmel.load(tmp_path / "run").to_polars().height == 3


CALLS = []


def counted(state, action):
    CALLS.append(1)
    return state


def test_a_verb_called_again_runs_nothing_that_is_stored(tmp_path):
    how = {"planner": "cem", "episodes": 3, "output": tmp_path, "quiet": True}
    model = {"mine": "tests.api.test_results:counted"}
    CALLS.clear()
    first = wmel.cpg("maze_toy", model, **how)
    before = len(CALLS)
    again = wmel.cpg("maze_toy", model, **how)
    assert again.rows == first.rows
    assert len(CALLS) - before < before / 3  # one plan asked before anything runs


def test_rows_of_another_object_with_the_same_name_are_never_taken_for_its_own(tmp_path):
    maze = wmel.environment("maze_toy")
    truth = wmel.Oracle(maze)
    how = {"planner": "cem", "episodes": 3, "output": tmp_path, "quiet": True}
    assert wmel.cpg(maze, {"mine": counted}, **how).gaps["mine"].raw_gap > 0
    assert wmel.cpg(maze, {"mine": truth}, **how).gaps["mine"].raw_gap == 0


def test_a_model_that_breaks_is_refused_in_seconds_with_its_file_and_line(tmp_path):
    def broken(state, action):
        raise ValueError("half written")

    with pytest.raises(BadInput, match="half written") as refused:
        wmel.cpg("maze_toy", {"mine": broken}, episodes=100_000, quiet=True)
    assert __file__ in str(refused.value) and "line" in str(refused.value)


def test_every_verb_is_a_function_of_the_package():
    for name in ("run", "sweep", "cpg", "esnr", "train", "study", "report", "compare", "power", "check", "load"):
        assert callable(getattr(wmel, name)) and getattr(wmel, name).__name__ == name
    assert wmel.__version__
