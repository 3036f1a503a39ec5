import json

import pytest

import wmel
from wmel.catalog import CATALOGUE
from wmel.errors import BadInput


def test_every_part_is_listed_with_what_it_is(wmel_command):
    done = wmel_command("list")
    assert done.returncode == 0
    for kind, registry in CATALOGUE.items():
        assert f"\n{kind}\n" in done.stdout
        for name, part in registry.parts.items():
            assert name in done.stdout and part.summary in done.stdout


def test_one_kind_can_be_asked_for(wmel_command):
    done = wmel_command("list", "planners")
    assert "random-shooting" in done.stdout and "maze_toy" not in done.stdout


@pytest.mark.parametrize(("one", "several"), [("planner", "planners"), ("policy", "policies"), ("preset", "presets")])
def test_a_kind_is_listed_by_its_singular_too(wmel_command, one, several):
    assert wmel_command("list", one).stdout == wmel_command("list", several).stdout != ""


def test_an_unknown_kind_is_one_clear_line(wmel_command):
    done = wmel_command("list", "plans")
    assert done.returncode == 2 and "'planners'? kinds: environments, policies," in done.stderr


def test_presets_are_listed_beside_the_parts(wmel_command):
    for words in (["list"], ["list", "presets"]):
        done = wmel_command(*words)
        assert "\npresets\n" in done.stdout and "paper" in done.stdout
    assert json.loads(wmel_command("list", "presets", "--json").stdout)["presets"]["paper"]["cem"]["candidates"] == 24


def test_what_is_written_with_a_part_is_explained_with_it(wmel_command):
    assert "execute" in wmel_command("list", "cem").stdout
    assert json.loads(wmel_command("list", "drop-next", "--json").stdout)["settings"]["probability"]["default"] == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("wmel.analysis.metrics:success_rate", "metric"),
        ("wmel.objectives:GoalDistance", "objective"),
        ("wmel.diagnostics.prediction_error:PredictionErrorDiagnostic", "diagnostic"),
        ("wmel.training.mlp:MLPTrainer", "trainer"),
        ("wmel.models.oracle:Oracle", "model"),
        ("wmel.experiments.executors:Processes", "executor"),
        ("wmel.environments.grids:maze_toy", "environment"),
        ("wmel.planners.cem:CEM", "planner"),
        ("tests.experiments.swept_parts:March", "policy"),
        ("tests.experiments.still:dynamics", "model"),
        ("tests.experiments.swept_parts:make_planner", "planner"),
    ],
)
def test_an_object_is_listed_as_what_it_is(wmel_command, name, kind):
    done = wmel_command("list", name)
    assert done.returncode == 0 and done.stdout.startswith(f"{name}: {kind}, ")
    assert json.loads(wmel_command("list", name, "--json").stdout)["kind"] == kind


@pytest.mark.parametrize("verb", ["list", "check"])
def test_what_cannot_be_made_is_refused_with_the_reason(wmel_command, verb):
    done = wmel_command(verb, "tests.experiments.swept_parts:make_nothing")
    assert done.returncode == 2 and "ValueError: no weights here" in done.stderr and "swept_parts.py" in done.stderr


def test_what_a_function_makes_is_checked(wmel_command):
    done = wmel_command("check", "tests.experiments.swept_parts:make_planner")
    assert "as a planner" in done.stdout.splitlines()[0]


@pytest.mark.parametrize("flag", ["--env", "--environment"])
def test_both_spellings_of_an_environment_are_taken(flag, wmel_command):
    done = wmel_command("list", "mlp", flag, "maze_toy", "--json")
    assert json.loads(done.stdout) == json.loads(wmel.list_parts("mlp", environment="maze_toy").to_json())
    assert done.stdout != wmel_command("list", "mlp", "--json").stdout


@pytest.mark.parametrize("line", ["list nothing-like-it", "explain nothing-like-it", "list cem --env nowhere"])
def test_lookups_show_the_traceback_of_an_error_where_it_is_wanted(line, wmel_command):
    plain, debug = wmel_command(*line.split()), wmel_command(*line.split(), "--debug")
    assert plain.returncode == debug.returncode == (0 if "cem" in line else 2)
    assert ("Traceback" in debug.stderr) == (debug.returncode == 2) and "Traceback" not in plain.stderr


@pytest.mark.parametrize("call", [lambda: wmel.list_parts(3), lambda: wmel.explain(3), lambda: wmel.explain(["a", 3])])
def test_what_is_no_word_is_refused(call):
    with pytest.raises(BadInput, match="3"):
        call()


@pytest.mark.parametrize("names", [["cem", "mppi"], ["planners", "cem"], ["planners", "presets"], ["paper"]])
def test_several_names_are_one_document(wmel_command, names):
    assert set(json.loads(wmel_command("list", *names, "--json").stdout)) == set(names)


def test_python_lists_what_the_command_line_lists(wmel_command):
    for words in (["cem"], ["planners"], ["cem", "mppi"]):
        assert str(wmel.list_parts(words)).strip() == wmel_command("list", *words).stdout.strip()
    assert {row["entry"] for row in wmel.list_parts("cem").rows} == set(CATALOGUE["planners"].settings_of("cem")) | {
        "execute"
    }
    for words in ([], ["cem"], ["planners"], ["cem", "mppi"], ["presets"]):
        assert f"{wmel.list_parts(words).to_json()}\n" == wmel_command("list", *words, "--json").stdout
    assert f"{wmel.doctor().to_json()}\n" == wmel_command("doctor", "--json").stdout
    assert wmel.doctor().entries["packages"] == json.loads(wmel_command("doctor", "--json").stdout)["packages"]
