"""`wmel explain`: definitions for a terminal, as JSON, and one line for what is unknown."""

import inspect
import json

import pytest

import wmel
from wmel.api.options import Option, SettingOf
from wmel.api.verbs import mark_of


def test_a_word_is_explained_with_a_short_definition_first(wmel_command):
    done = wmel_command("explain", "gap")
    title, definition, *rest = done.stdout.splitlines()
    assert title.startswith("gap (") and definition.strip().startswith("Success rate of a planner")
    for heading in ("Formula:", "How to read it:", "Read on: docs/when-to-trust.md"):
        assert any(line.strip().startswith(heading) for line in rest), heading


def test_a_word_of_several_words_needs_no_quotation_marks(wmel_command):
    done = wmel_command("explain", "MODEL", "BOTTLENECK")
    assert done.returncode == 0 and done.stdout == wmel_command("explain", "model-bottleneck").stdout


def test_lines_fit_where_there_is_no_terminal(wmel_command):
    for words in (["explain"], ["explain", "effective_horizon"], ["explain", "steps"]):
        assert all(len(line) <= 120 for line in wmel_command(*words).stdout.splitlines())


def test_without_a_word_all_are_listed_by_group(wmel_command):
    lines = wmel_command("explain").stdout.splitlines()
    for group, word in {
        "Metrics": "success_rate",
        "Verdicts and rules": "PLANNER BOTTLENECK",
        "Settings": "elites",
    }.items():
        assert any(word in line for line in lines[lines.index(group) :])


def test_an_unknown_word_is_one_clear_line(wmel_command):
    done = wmel_command("explain", "elitez")
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
    assert "'elitez'" in done.stderr and "elites" in done.stderr


def test_json_holds_every_meaning_by_word(wmel_command):
    found = json.loads(wmel_command("explain", "cem", "--json").stdout)
    assert [set(found), len(found["cem"])] == [{"cem"}, 2]
    every = json.loads(wmel_command("explain", "--json").stdout)
    assert every["gap"][0]["formula"] and len(every) > 300


def test_python_explains_the_same(wmel_command):
    found = wmel.explain("gap")
    assert f"{found}\n" == wmel_command("explain", "gap").stdout
    assert found.answer.startswith("gap: ") and {row["what"] for row in found.rows} >= {"Definition", "Formula"}
    assert "<table>" in found._repr_html_() and json.loads(found.to_json())
    assert len(wmel.explain().entries) > 300
    for words in (["gap"], ["MODEL", "BOTTLENECK"], []):
        assert f"{wmel.explain(words).to_json()}\n" == wmel_command("explain", *words, "--json").stdout


@pytest.mark.parametrize("verb", wmel.VERBS)
def test_every_option_of_a_verb_is_explained(verb):
    """A note that names `--keep` or `--rerun` can be looked up."""
    parameters = inspect.signature(getattr(wmel, verb)).parameters.values()
    options = [one.name for one in parameters if isinstance(mark_of(one), Option | SettingOf)]
    assert all(wmel.explain(name).rows for name in options) and (options or verb == "doctor")


def test_an_option_is_explained_with_its_verbs(wmel_command):
    done = wmel_command("explain", "keep")
    assert done.returncode == 0 and "wmel.study" in done.stdout and "wmel.power" not in done.stdout
