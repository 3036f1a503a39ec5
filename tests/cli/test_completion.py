"""What a shell is offered: verbs, options of a verb, and names of parts."""

import json
import sys
from contextlib import redirect_stdout
from io import StringIO

import pytest

from wmel.cli.main import VERBS, main


@pytest.fixture
def offered(monkeypatch):
    """The completions of a line, whose last word is not finished."""

    def complete(line: str, shell: str = "bash") -> list[str]:
        monkeypatch.setenv("_WMEL_COMPLETE", f"complete_{shell}")
        words = line.split(" ")
        if shell == "bash":
            monkeypatch.setenv("COMP_WORDS", line)
            monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        else:
            monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setattr(sys, "argv", ["wmel"])
        out = StringIO()
        with redirect_stdout(out), pytest.raises(SystemExit):
            main()
        return out.getvalue().split("\n")

    return complete


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("wmel cp", "cpg"),
        ("wmel cpg --pl", "--planner"),
        ("wmel cpg --pl", "--plan-horizon"),
        ("wmel run --env maze", "maze_toy"),
        ("wmel run --policy gr", "greedy"),
        ("wmel run --policy ce", "cem"),
        ("wmel run --objective goal", "goal-distance"),
        ("wmel list plan", "planners"),
        ("wmel list ce", "cem"),
        ("wmel explain error", "error_rate"),
        ("wmel train ", "mlp"),
        ("wmel train tdm", "tdmpc2"),
        ("wmel train mlp --epo", "--epochs"),
        ("wmel esnr --sig", "--sigma"),
        ("wmel esnr toy --sp", "--speeds"),
    ],
)
def test_a_word_is_completed(offered, line, word):
    assert word in offered(line)


def test_every_verb_is_offered(offered):
    assert set(VERBS) <= set(offered("wmel "))


def test_an_option_of_another_verb_is_not_offered(offered):
    assert "--fail-if-worse" not in offered("wmel cpg --") and "--fail-if-worse" in offered("wmel compare --")


def test_zsh_is_offered_the_same(offered):
    assert "--speeds" in "".join(offered("wmel esnr toy --sp", "zsh"))


@pytest.mark.parametrize("line", ["explain", "explain success_rate", "doctor", "list planners", "list cem"])
def test_what_is_printed_is_also_json(wmel_command, line):
    assert json.loads(wmel_command(*line.split(), "--json").stdout)


@pytest.mark.parametrize("line", ["power --oracle 0.9 --learned 0.5", "check cem"])
def test_tables_of_verbs_are_also_json(wmel_command, line):
    assert json.loads(wmel_command(*line.split(), "--json").stdout)


def test_the_settings_of_a_part_of_your_own_are_listed(wmel_command, tmp_path):
    (tmp_path / "own.py").write_text("class Mine:\n    def __init__(self, draws=3): ...\n    def plan(self): ...\n")
    done = wmel_command("list", "own:Mine", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["kind"] == "planner" and found["settings"]["draws"]["default"] == 3
