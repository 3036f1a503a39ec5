"""Open-loop prediction errors: none of the truth, those of a known drift, and by TOML like any diagnostic."""

import numpy as np
import pytest

import wmel
from wmel.diagnostics.prediction_error import PredictionErrorDiagnostic
from wmel.errors import BadInput

pytest.importorskip("dm_control")


class Drifting:
    """The true dynamics of a world, with a constant added to every decoded observation for each step."""

    def __init__(self, world, drift):
        self.oracle, self.drift = wmel.Oracle(world), drift
        self.spec = wmel.WorldModelSpec("drifting", action_input=self.oracle.spec.action_input)

    def encode(self, percept, previous):
        return np.concatenate([self.oracle.encode(percept, previous), np.zeros((len(percept), 1))], axis=1)

    def step(self, latents, actions):
        return np.concatenate([self.oracle.step(latents[:, :-1], actions), latents[:, -1:] + 1], axis=1)

    def decode(self, latents):
        return self.oracle.decode(latents[:, :-1]) + self.drift * latents[:, -1:]


class StateReader(Drifting):
    """The same for a diagnostic that shows it observations alone: cartpole's state follows from them."""

    def encode(self, percept, previous):
        from dataclasses import replace

        world = self.oracle.environment
        return super().encode(replace(percept, state=world.recover(percept.observation)), previous)


def read(model, world, **settings):
    diagnostic = PredictionErrorDiagnostic(steps=4, states=16, episode_steps=20, **settings)
    return diagnostic.read(world, "m", model, objective=None, seed=0)["rows"]


@pytest.mark.parametrize("name", ["dmc_cartpole", "dmc:cartpole-swingup", "maze_toy"])
def test_the_truth_predicts_without_an_error(name):
    rows = read(None, wmel.environment(name))
    assert [row["steps_ahead"] for row in rows] == [1, 2, 3, 4]
    assert max(row["rmse"] for row in rows) < 1e-6


def test_a_known_drift_is_the_error_that_is_read():
    world = wmel.environment("dmc:cartpole-swingup")
    rows = read(StateReader(world, 0.25), world)
    assert [row["rmse"] for row in rows] == pytest.approx([0.25, 0.5, 0.75, 1.0], rel=1e-4)
    assert all(row["low"] <= row["rmse"] <= row["high"] for row in rows)


def test_it_is_a_diagnostic_of_a_study(tmp_path):
    study = {
        "name": "errors", "episodes": 2, "horizon": 10, "environments": [{"name": "dmc_cartpole"}],
        "models": [{"name": "m", "trainer": "mlp", "transitions": 40, "epochs": 1}],
        "diagnostics": [{"name": "prediction-error", "states": 16, "steps": 3, "episode_steps": 20}],
    }  # fmt: skip
    made = wmel.study(study, output=tmp_path / "s", quiet=True)
    assert made.exit_code == 0 and made.summary.readings == 1
    wmel.report(tmp_path / "s")
    text = (tmp_path / "s" / "report.md").read_text()
    assert "| model | steps_ahead | rmse | relative |" in text and "| m | 3 |" in text
    assert [one.words["steps_ahead"] for one in made.record.readings] == ["1", "2", "3"]
    assert all(one.values["rmse"].low <= one.values["rmse"].value for one in made.record.readings)


@pytest.mark.parametrize(("settings", "value"), [({"source": "prior"}, "prior"), ({"steps": 90}, "90")])
def test_what_cannot_be_read_is_refused(settings, value):
    world = wmel.environment("dmc_cartpole")
    with pytest.raises(BadInput, match=value):
        PredictionErrorDiagnostic(**{"episode_steps": 20, **settings}).check(world, None, None)


def test_a_model_that_diverges_has_no_error_rather_than_a_wrong_one():
    world = wmel.environment("dmc:cartpole-swingup")
    rows = read(StateReader(world, np.inf), world)
    assert [row["rmse"] for row in rows] == [None] * 4 and rows[0]["relative"] is None
    assert "n/a" in PredictionErrorDiagnostic.describe({"rows": rows})
