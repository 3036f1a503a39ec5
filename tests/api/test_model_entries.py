"""Models are given by folder, result, name or object, to every verb that takes one."""

import numpy as np
import pytest

import wmel
from wmel.api.study import _study_of_objects
from wmel.api.study_entries import EntryBuilder
from wmel.errors import BadInput
from wmel.training.mlp import MLPTrainer

TINY = {"episodes": 2, "horizon": 6, "quiet": True}


class Network:
    def __repr__(self):
        return "Network(\n" + "  layer\n" * 100 + ")"

    def step(self, latents, actions):
        return latents


def test_an_oracle_given_as_a_model_is_the_oracle_arm():
    maze = wmel.environment("maze_toy")
    named = wmel.run("maze_toy", "cem", model="oracle", **TINY)
    live = wmel.run("maze_toy", "cem", model=wmel.Oracle(maze), **TINY)
    assert live.episodes["arm"].unique().to_list() == ["oracle"] and live.record.metadata.model == "oracle"
    assert np.array_equal(live.run.table["steps"], named.run.table["steps"])
    assert wmel.sweep(maze, "cem", plan_horizons=[3], model=wmel.Oracle(maze), **TINY).rows
    with pytest.raises(BadInput, match="two_room_toy"):
        wmel.run("maze_toy", "cem", model=wmel.Oracle(wmel.environment("two_room_toy")), **TINY)


def test_a_training_is_a_model(maze_training):
    folder = str(maze_training.folder)
    for model in (maze_training, wmel.load(folder), {"net": folder}, {"net": maze_training}):
        assert wmel.run("maze_toy", "cem", model=model, **TINY).episodes["arm"].unique().to_list() == ["net"]
    assert list(wmel.cpg("maze_toy", maze_training, **TINY).gaps) == ["net"]
    assert wmel.sweep("maze_toy", "cem", plan_horizons=[3], model={"q": folder}, **TINY).episodes["arm"][0] == "q"
    with pytest.raises(BadInput, match="got 2"):
        wmel.run("maze_toy", "cem", model={"a": folder, "b": folder}, **TINY)
    with pytest.raises(BadInput, match="'power'"):
        wmel.cpg("maze_toy", wmel.power(oracle=0.9, learned=0.5), **TINY)


def test_a_trainer_object_is_the_recipe_of_its_settings(tmp_path):
    trainer = MLPTrainer(epochs=2, batch=64, seed=3)
    recipe = {"trainer": "mlp", "epochs": 2, "batch": 64, "seeds": [3]}
    study = {"name": "recipes", "episodes": 2, "horizon": 6, "environments": ["maze_toy"], "planners": ["cem"]}
    both = [{"name": "object", "trainer": trainer}, {"name": "table", **recipe}]
    result = wmel.study({**study, "models": both}, output=tmp_path / "s", quiet=True)
    assert result.summary.trained == 1 and result.exit_code == 0
    for models in ([trainer], {"mlp": trainer}):
        assert study_of_dict({**study, "models": models}) == study_of_dict(
            {**study, "models": [{"name": "mlp", **recipe}]}
        )
    gap = wmel.cpg("maze_toy", {"a": trainer}, planner="cem", **TINY)
    assert gap.exit_code == 0 and list(gap.gaps) == ["a"]


def study_of_dict(data):
    return [cell.key for cell in _study_of_objects(data, EntryBuilder.of(None)).cells]


class OwnTrainer:
    """A trainer that no settings rebuild."""

    rollouts = checkpoint_updates = ()

    def train(self, environment, folder, listener): ...

    resolve = blank = model = check = forecast = of_card = train


@pytest.mark.parametrize(
    ("models", "offending"),
    [
        ({"a": OwnTrainer()}, "OwnTrainer"),
        ({"a": MLPTrainer}, "MLPTrainer is a class"),
        ([{"name": "a", "trainer": OwnTrainer()}], "OwnTrainer"),
        ([{"name": "a", "trainer": MLPTrainer(epochs=2), "epochs": 3}], "2 and 3"),
        ([{"name": "a", "trainer": MLPTrainer(seed=2), "seeds": [1]}], r"\[2\] and \[1\]"),
    ],
)
def test_a_trainer_that_is_no_recipe_is_refused(models, offending):
    with pytest.raises(BadInput, match=offending):
        wmel.cpg("maze_toy", models, **TINY)


def test_a_record_knows_the_name_of_its_model(maze_training, tmp_path):
    wmel.run("maze_toy", "cem", model={"q": maze_training}, output=tmp_path / "run.json", **TINY)
    assert wmel.load(tmp_path / "run.json").episodes["arm"].unique().to_list() == ["q"]


def test_a_checkpoint_and_a_part_with_settings_are_checked(maze_training):
    found = wmel.check(maze_training.folder)
    assert (found.record.name, found.record.part, found.exit_code) == ("net", "model", 0)
    assert wmel.check(str(maze_training.folder), environment="maze_toy").rows == found.rows
    with_settings = wmel.check({"name": "cem", "elites": 3})
    assert with_settings.record.part == "planner" and "elites" in with_settings.record.name
    with pytest.raises(BadInput, match="elites"):
        wmel.check({"name": "cem", "elitess": 3})


def next_state(z, a):
    return 0.9 * z + a


def reward(z, a):
    return -(z**2).sum(-1)


def test_esnr_answers_as_before_whatever_is_a_keyword():
    model, observations = (next_state, reward), np.random.default_rng(0).normal(size=(4, 2))
    mean = np.zeros((3, 2))
    wanted = wmel.esnr_of(model, observations, "zog", mean=mean)
    how = {"method": "zog", "mean": mean}
    for call in (
        lambda: wmel.esnr(model, observations, "zog", mean=mean),
        lambda: wmel.esnr(model, observations=observations, **how),
        lambda: wmel.esnr(model=model, observations=observations, **how),
    ):
        with pytest.warns(DeprecationWarning) as warned:
            assert call().esnr == wanted.esnr
        assert warned[0].filename == __file__  # a warning is shown only where it is the caller's
    assert len(repr(wanted)) < 160 and len(repr(wanted.gradients)) < 160


def test_a_model_given_by_the_wrong_keyword_is_refused():
    with pytest.raises(BadInput, match="did you mean 'models'"):
        wmel.esnr("maze_toy", model="folder")
    with pytest.raises(BadInput, match="environment="):
        wmel.esnr()


@pytest.mark.parametrize(
    "call",
    [
        lambda: wmel.run(settings=Network()),
        lambda: wmel.run(episodes=Network()),
        lambda: wmel.run(metrics=Network()),
        lambda: wmel.sweep(sweep=Network()),
        lambda: wmel.compare(Network(), Network()),
        lambda: wmel.study(Network()),
        lambda: wmel.run(zzz=Network()),
    ],
)
def test_no_message_prints_a_whole_network(call):
    with pytest.raises(BadInput) as refused:
        call()
    assert "Network(" in str(refused.value) and str(refused.value).count("layer") < 15
