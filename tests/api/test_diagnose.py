"""Any diagnostic, of the catalogue or a plugin's, is read by wmel.diagnose and by the command line."""

import json

import pytest

import wmel
from tests.conftest import says
from wmel.errors import BadInput

pytest.importorskip("mujoco")
TINY = {"states": 8, "episode_steps": 20, "quiet": True}


def still(state, action):
    return state


def test_a_diagnostic_reads_models_and_the_oracle_alike_by_name_and_by_settings():
    by_keyword = wmel.diagnose("prediction-error", "dmc_cartpole", {"still": still}, steps=2, **TINY)
    by_table = wmel.diagnose({"name": "prediction-error", "steps": 2}, "dmc_cartpole", {"still": still}, **TINY)
    by_settings = wmel.diagnose(
        "prediction-error", "dmc_cartpole", {"still": still}, settings={"diagnostic.steps": "2"}, **TINY
    )
    assert by_keyword.table.equals(by_table.table) and by_keyword.table.equals(by_settings.table)
    assert by_keyword.table["relative"].to_list() == [1.0, 1.0]  # nothing moves: the error of no change at all
    truth = wmel.diagnose("prediction-error", "dmc_cartpole", steps=2, **TINY)
    assert truth.table["rmse"].to_list() == [0.0, 0.0]


def test_readings_are_stored_loaded_and_not_taken_twice(tmp_path):
    how = {"steps": 2, "output": tmp_path, **TINY}
    first = wmel.diagnose("prediction-error", "dmc_cartpole", **how)
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").rglob("*.json")}
    wmel.diagnose("prediction-error", "dmc_cartpole", **how)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").rglob("*.json")} == stored
    assert wmel.load(tmp_path).table.equals(first.table)
    assert (tmp_path / "report.html").exists()
    for other in ({"steps": 3}, {"environment": "dmc_acrobot"}):
        with pytest.raises(BadInput, match="holds another result"):
            wmel.diagnose("prediction-error", **{"environment": "dmc_cartpole", **how, **other})


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("predction-error", {}, "did you mean 'prediction-error'"),
        ("prediction-error", {"stps": 2}, "did you mean 'steps'"),
        ("prediction-error", {"steps": 0}, "steps must be"),
    ],
)
def test_bad_input_is_refused_by_name(name, settings, words):
    with pytest.raises(BadInput, match=words):
        wmel.diagnose(name, "dmc_cartpole", **settings, **TINY)


def test_the_command_line_has_the_settings_as_options(wmel_command):
    line = "diagnose prediction-error --env dmc_cartpole"
    done = wmel_command(*line.split(), "--steps", "2", "--states", "8", "--json", "--quiet")
    assert done.returncode == 0 and '"rmse"' in done.stdout
    done = wmel_command(*line.split(), "--stps", "2")
    assert done.returncode == 2 and "did you mean 'steps'" in done.stderr


class Narrow:
    """A model whose step loses components."""

    spec = wmel.WorldModelSpec("narrow")

    def encode(self, percept, previous):
        return percept.observation

    def step(self, latents, actions):
        return latents[:, :1]

    def decode(self, latents):
        return latents


@pytest.mark.parametrize("diagnostic", ["prediction-error", "tests.experiments.swept_parts:Lengths"])
def test_a_model_that_breaks_is_refused_before_anything_is_read(diagnostic, tmp_path):
    with pytest.raises(BadInput, match=r"step.*test_diagnose\.py, line \d+"):
        wmel.diagnose(diagnostic, "dmc_cartpole", {"narrow": Narrow()}, output=tmp_path / "out", quiet=True)
    assert not (tmp_path / "out").exists()


def test_several_seeds_are_read_by_python_and_the_command_line(wmel_command):
    line = "diagnose prediction-error --env dmc_cartpole --states 8 --steps 1 --seeds 0,1 --json --quiet"
    done = wmel_command(*line.split())
    assert done.returncode == 0, done.stderr
    typed = [row["seed"] for row in json.loads(done.stdout)["readings"]]
    called = wmel.diagnose("prediction-error", "dmc_cartpole", steps=1, seeds=[0, 1], **TINY)
    assert typed == called.table["seed"].to_list() == [0, 1]
    words = str(called)
    assert says(words, "The prediction error (rmse) ... of 1 model ") and "episode" not in words
    with pytest.raises(BadInput, match="one seed"):
        wmel.esnr("dmc_cartpole", "oracle", seeds=[0, 1], quiet=True)


def test_a_setting_of_a_diagnostic_is_swept():
    swept = wmel.diagnose("prediction-error", "dmc_cartpole", sweep={"diagnostic.steps": [1, 2]}, **TINY)
    assert swept.table["diagnostic_steps"].to_list() == [1, 2, 2]
    with pytest.raises(BadInput, match="wmel diagnose"):
        wmel.sweep(sweep={"diagnostic.steps": [1, 2]}, quiet=True)


def test_states_come_from_a_policy_by_both_names_of_the_option(wmel_command):
    line = "diagnose prediction-error --env dmc_cartpole --states 8 --steps 1 --json --quiet"
    readings = [wmel_command(*line.split(), flag, "cem").stdout for flag in ("--source", "--from")]
    assert json.loads(readings[0])["readings"] == json.loads(readings[1])["readings"]
