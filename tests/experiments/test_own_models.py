"""Models of your own have settings like any part: by TOML, by --set and as keywords, swept and recorded."""

import json

import numpy as np
import pytest

import wmel
from wmel.errors import BadInput

HERE = "tests.experiments.test_own_models"
TINY = {"episodes": 2, "horizon": 20, "quiet": True}
MOVES = np.array([(0, 1), (0, -1), (-1, 0), (1, 0)], np.float32)


class OpenField:
    """Knows no walls; a stride of 1 is that of the maze."""

    def __init__(self, stride: float = 1.0):
        self.stride = stride
        self.spec = wmel.WorldModelSpec("open-field", action_input="index")

    def encode(self, percept, previous):
        return percept.observation

    def step(self, latents, actions):
        return latents + self.stride * MOVES[actions[:, 0]]

    def decode(self, latents):
        return latents


def make_open_field(stride=1.0):
    return OpenField(stride)


def dynamics(state, action, *, stride=1.0):
    return state + stride * MOVES[int(action[0])]


def steps_of(result):
    return result.to_polars().select("episode_seed", "success", "steps", "declared_compute").rows()


@pytest.mark.parametrize("name", ["OpenField", "make_open_field", "dynamics"])
def test_a_setting_changes_the_model_and_its_default_is_the_model_without_it(name):
    place = f"{HERE}:{name}"
    plain = wmel.run("maze_toy", "cem", model=place, **TINY)
    stated = wmel.run("maze_toy", "cem", model=place, settings={"model.stride": 1.0}, **TINY)
    other = wmel.run("maze_toy", "cem", model=place, settings={"model.stride": "0.01"}, **TINY)
    assert steps_of(plain) == steps_of(stated) != steps_of(other)
    assert other.record.metadata.parts["model"]["stride"] == 0.01
    assert plain.record.metadata.parts["model"]["stride"] == 1.0


def test_a_setting_of_a_model_is_swept_by_every_door(tmp_path):
    swept = wmel.sweep("maze_toy", "cem", model=f"{HERE}:OpenField", sweep={"model.stride": "0.01,1"}, **TINY)
    assert swept.table["stride"].to_list() == [0.01, 1.0]
    study = {
        "name": "own",
        "episodes": 2,
        "horizon": 20,
        "environments": [{"name": "maze_toy"}],
        "planners": [{"name": "cem"}],
        "models": [{"name": "field", "object": f"{HERE}:OpenField", "stride": {"sweep": [0.01, 1.0]}}],
    }
    done = wmel.study(study, output=tmp_path, quiet=True)
    assert done.table["stride"].to_list() == [0.01, 1.0]
    assert wmel.study(study, output=tmp_path, quiet=True).summary.episodes == 0  # recognised again


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model.strde": 1}, "'strde'; did you mean 'stride'"),
        ({"model.stride": "far"}, "stride must be .* got 'far'"),
        ({"model.stride": [1]}, "stride must be a number"),
    ],
)
def test_a_setting_it_does_not_have_or_take_is_refused_by_name(settings, words):
    with pytest.raises(BadInput, match=words.replace("[", r"\[")):
        wmel.run("maze_toy", "cem", model=f"{HERE}:OpenField", settings=settings, **TINY)


def test_settings_go_to_the_models_that_have_them(tmp_path):
    models = {"far": f"{HERE}:OpenField", "still": "tests.experiments.still:dynamics"}
    wmel.cpg("maze_toy", models, settings={"model.stride": 0.01}, output=tmp_path, **TINY)
    parts = {name: json.loads((tmp_path / f"{name}.json").read_text())["metadata"]["parts"] for name in models}
    assert parts["far"]["model"]["stride"] == 0.01
    assert "stride" not in parts["still"]["model"]


def test_a_sweep_within_a_table_is_a_setting_of_the_part_it_describes():
    perturbation = {
        "name": "composite",
        "parts": [{"name": "drop-next", "k": {"sweep": [1, 3]}}, {"name": "env-default"}],
    }
    study = {
        "name": "nested",
        "environments": [{"name": "maze_toy"}],
        "planners": [{"name": "cem"}],
        "perturbations": [perturbation],
    }
    from wmel.experiments.expand import study_of
    from wmel.experiments.spec import parse_study

    cells = study_of(parse_study(study)).cells
    assert {cell.task.perturbation["parts"][0]["k"] for cell in cells} == {1, 3}
    assert {cell.sweeps["perturbation_parts.0.k"] for cell in cells} == {"perturbation.parts.0.k"}
    assert {cell.labels["perturbation_parts.0.k"] for cell in cells} == {1, 3}


@pytest.mark.slow
def test_a_setting_of_the_policy_of_a_model_is_swept():
    pytest.importorskip("torch")
    how = {"criterion": "reward>=0.6", "episodes": 1, "horizon": 4, "quiet": True}
    swept = wmel.sweep(
        "dmc:cartpole-swingup", "native", model="models/cartpole-td1", sweep={"policy.iterations": [1, 2]}, **how
    )
    assert swept.table["iterations"].to_list() == [1, 2]
    assert swept.table["compute_per_decision"][1] > swept.table["compute_per_decision"][0]
