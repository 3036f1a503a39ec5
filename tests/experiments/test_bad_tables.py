"""Tables of a study that cannot be: refused with their place and the offending value."""

import numpy as np
import pytest

import wmel
from tests.experiments.studies import MAZE, read_study, written
from wmel.analysis.scorecard import metric
from wmel.errors import BadInput
from wmel.experiments.expand import study_of
from wmel.experiments.spec import parse_study

PLUGIN = """
class Draws:
    warm_start, plan_horizon, evaluations = False, 3, 3
    def __init__(self, draws=3):
        if draws < 1:
            raise ValueError("too few draws")
    def plan(self, problem, previous): ...

class Dated(Draws):
    def __init__(self, since=None): ...
class Executing(Draws):
    def __init__(self, execute=3): ...
class Struck:
    def __init__(self, step=3): ...
    def strike(self): ...
class Read:
    def __init__(self, objective="x"): ...
    def read(self): ...
class Seedless:
    rollouts = checkpoint_updates = ()
    def __init__(self, rate: float = 0.1, policy: str = "x"): ...
    def train(self, environment, folder, listener): ...
    resolve = blank = model = check = forecast = of_card = train
"""
PERTURBED = f"{MAZE}\n[[perturbations]]\n"
BAD = {  # what -> study, its place, the offending word
    "a setting too many": (f'{PERTURBED}name="composite"\nparts=["drop-next-2"]\nk=3', "perturbations[0]", "'k'"),
    "a composite of nothing": (f'{PERTURBED}name="composite"', "perturbations[0]", "None"),
    "a composite of no list": (f'{PERTURBED}name="composite"\nparts=3', "perturbations[0]", "3"),
    "a composite of an empty list": (f'{PERTURBED}name="composite"\nparts=[]', "perturbations[0]", "[]"),
    "a strength without a name": (f"{PERTURBED}k=2", "perturbations[0]", "k"),
    "a probability without a name": (f"{PERTURBED}probability=0.5", "perturbations[0]", "probability"),
    "what never strikes is checked too": (
        f'{PERTURBED}name="drop-next"\nprobability=0.0\nkk=3', "perturbations[0]", "'kk'"
    ),
    "a live environment": (MAZE.replace('"maze_toy"', '"maze_toy"\ngiven = true'), "environments[0]", "'given'"),
    "a live planner": (f"{MAZE}given = true", "planners[0]", "'given'"),
    "a live model": (f'{MAZE}[[models]]\nname = "m"\ngiven = true', "models[1]", "'given'"),
    "settings that contradict each other": (
        f'{MAZE}[[planners]]\nname = "cem"\ncandidates = 4\nelites = 9', "planners[1]", "got 9"
    ),
    "a planner among policies": (f'{MAZE}[[policies]]\nname = "cem"', "policies[0]", "[[planners]]"),
    "a constructor raises": (f'{MAZE}[[planners]]\nname = "foreign:Draws"\ndraws = 0', "planners[1]", "foreign.py"),
    "the type of a default": (f'{MAZE}[[planners]]\nname = "foreign:Draws"\ndraws = "x"', "planners[1]", "'x'"),
    "equal values of a sweep": (
        f'{MAZE}[[planners]]\nname = "cem"\nelites = {{sweep = [5, 5]}}', "planners[1]", "elites = 5"
    ),
    "values of a sweep that come to the same": (
        f'{MAZE}[[planners]]\nname = "cem"\nelites = {{sweep = ["none", "None"]}}', "planners[1]", "'None'"
    ),
    "two equal tables": (
        f'{MAZE}[[planners]]\nname = "cem"\n[[planners]]\nname = "cem"\nelites = "none"', "planners[2]", "planners[1]"
    ),
    "two equal worlds": (f'{MAZE}[[environments]]\nname = "maze_toy"', "environments[1]", "environments[0]"),
    "no plan is executed": (
        f'{MAZE}[[planners]]\nname = "cem"\nexecute = 0', "planners[1]", "at least 1, or none, got 0"
    ),
    "a table without a name": (f"{MAZE}[[planners]]\nelites = 3", "planners[1]", "known: random-shooting, cem"),
    "a metric that is no name": (
        MAZE.replace("\nseeds", "\nmetrics = [3]\nseeds", 1), "metrics.0", "a name or a table"
    ),
    "a planner's own execute": (
        f'{MAZE}[[planners]]\nname = "foreign:Executing"\nexecute = 2', "planners[1]", "'execute' has the name"
    ),
    "a perturbation's own step": (
        f'{PERTURBED}name = "foreign:Struck"\nstep = 2', "perturbations[0]", "'step' has the name"
    ),
    "a diagnostic's own objective": (
        f'{MAZE}[[diagnostics]]\nname = "foreign:Read"\nobjective = "x"', "diagnostics[0]", "'objective' has the name"
    ),
    "a trainer's own policy": (
        f'{MAZE}[[models]]\nname = "m"\ntrainer = "foreign:Seedless"\npolicy = "x"',
        "models[1]", "'policy' has the name"
    ),
    "seeds of a trainer without one": (
        f'{MAZE}[[models]]\nname = "m"\ntrainer = "foreign:Seedless"\nseeds = [0, 1]',
        "models[1]", "'foreign:Seedless' has no setting 'seed'"
    ),
    "none where it is no value": (f'{MAZE}[[planners]]\nname = "cem"\niterations = "none"', "planners[1]", "'none'"),
    "a date": (f'{MAZE}[[planners]]\nname = "foreign:Dated"\nsince = 2020-01-01', "planners[1]", "since"),
    "a metric's sweep of no list": (f'metrics=[{{name="success@", within={{sweep=5}}}}]{MAZE}', "metrics", "got 5"),
    "a metric's sweep of nothing": (f'metrics=[{{name="success@", within={{sweep=[]}}}}]{MAZE}', "metrics", "got []"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "place", "offending"), BAD.values(), ids=list(BAD))
def test_a_table_that_cannot_be_is_refused_with_its_place(tmp_path, monkeypatch, text, place, offending):
    (tmp_path / "foreign.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    path = written(tmp_path, text)
    with pytest.raises(BadInput) as refused:
        read_study(path)
    assert f"{path}: {place}" in str(refused.value) and offending in str(refused.value)


def test_none_can_be_written_and_swept():
    planner = {"name": "cem", "elites": {"sweep": ["none", 2]}, "execute": "none"}
    spec = parse_study({"name": "x", "environments": [{"name": "maze_toy"}], "planners": [planner]})
    assert [entry.keys.part for entry in spec.planners] == [{"name": "cem"}, {"name": "cem", "elites": 2}]
    assert {cell.arm.execute for cell in study_of(spec).cells} == {None}


@pytest.mark.parametrize("study", [None, 3, ["x"]])
def test_what_is_no_table_is_no_study(study):
    with pytest.raises(BadInput):
        parse_study(study)


@pytest.mark.parametrize("name", [3, None, ["success_rate"]])
def test_a_metric_is_a_name(name):
    with pytest.raises(BadInput):
        metric(name)


@pytest.mark.parametrize("value", [object(), np.arange(3), [object()]])
def test_a_setting_that_json_cannot_hold_is_refused_with_its_part(tmp_path, monkeypatch, value):
    (tmp_path / "foreign.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="'foreign:Dated': JSON cannot represent"):
        wmel.run("maze_toy", {"name": "foreign:Dated", "since": value}, episodes=1, quiet=True)


def test_a_trainer_without_a_seed_is_a_recipe(tmp_path, monkeypatch):
    (tmp_path / "foreign_trainer.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    model = {"name": "m", "trainer": "foreign_trainer:Seedless", "rate": 0.2}
    for seeds in ({}, {"seeds": [3]}):
        data = {"name": "x", "environments": [{"name": "maze_toy"}], "planners": [{"name": "cem"}]}
        study = study_of(parse_study({**data, "models": [{**model, **seeds}]}))
        recipes = [cell.arm.model["trainer"] for cell in study.cells if cell.arm.model]
        assert recipes == [{"name": "foreign_trainer:Seedless", "rate": 0.2}]


CEM = '[[planners]]\nname = "x"\n[[planners]]  # the second\nname = "cem"\n'
GIVEN_TWICE = {  # study -> what is named, and its line
    "a key of the study": ("name = 'x'\nname = 'y'", "name = 'x' and 'y'", 2),
    "a setting": (f"{CEM}elites = 4\nelites = 8", "planners[1] 'cem': elites = 4 and 8", 6),
    "values of several lines": (f"{CEM}elites = [\n 4,\n]\nelites = [\n 8\n]", "elites = [4] and [8]", 8),
    "after a list of lists": (f"{CEM}wide = [\n [4]\n]\nelites = 4\nelites = 8", "'cem': elites = 4 and 8", 9),
    "a drawing": ('[a]\nmap = """\n#\n"""\nmap = """\nx = 1\n"""', "a: map = '#\\n' and 'x = 1\\n'", 5),
    "a table": ("[[planners]]\nname = 'cem'\n[planners]\nname = 'cem'", "[planners]", 3),
    "a key of a table in a line": ("x = {a = 1, a = 2}", "'a'", 1),
    "a list that was a number": ("x = 1\n[[x]]", "[[x]]", 2),
}


@pytest.mark.parametrize(("text", "named", "line"), GIVEN_TWICE.values(), ids=list(GIVEN_TWICE))
def test_a_key_given_twice_is_one_line_with_its_table_and_both_values(tmp_path, text, named, line):
    with pytest.raises(BadInput) as refused:
        read_study(written(tmp_path, text))
    words = str(refused.value)
    assert "given twice" in words and "study.toml" in words and named in words and f"line {line}" in words
    assert len(words.splitlines()) == 1


@pytest.mark.parametrize("line", ["warm_start = {swep = [2, 3]}", "execute = {sweeps = [1, 2]}"])
def test_a_misspelled_sweep_is_named_with_the_nearest_key(tmp_path, line):
    with pytest.raises(BadInput, match="did you mean 'sweep'"):
        read_study(written(tmp_path, f"{MAZE}{line}"))


def test_a_sweep_where_none_is_possible_is_not_suggested(tmp_path):
    with pytest.raises(BadInput) as refused:
        read_study(written(tmp_path, MAZE.replace("episodes = 12", "episodes = {sweep = [2, 3]}")))
    assert "did you mean" not in str(refused.value)


def test_an_unknown_key_of_a_study_is_named_with_the_nearest():
    with pytest.raises(BadInput, match=r"study has.*'planers';.*'planners'"):
        parse_study({"name": "x", "environments": [{"name": "maze_toy"}], "planers": []})
