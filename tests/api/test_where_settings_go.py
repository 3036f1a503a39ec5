"""A setting given beside a verb or a study reaches the part that has it; else the nearest right one is named."""

import pytest

import wmel
from wmel.errors import BadInput

TINY = {"episodes": 1, "horizon": 3, "quiet": True}
CEM = {"candidates": 4, "iterations": 1, "plan_horizon": 3}
STUDY = {
    "name": "tiny",
    "episodes": 1,
    "horizon": 3,
    "metrics": ["success@3", "error_rate"],
    "environments": ["maze_toy"],
    "planners": [{"name": "cem", **CEM}],
}


def studied(tmp_path, study=STUDY, **options):
    return wmel.study(study, output=tmp_path / "store", quiet=True, **options)


def test_settings_of_metrics_are_given_beside_a_study(tmp_path):
    found = studied(tmp_path, settings={"metric.steps": "2"})
    assert list(found.store.manifest().metrics) == ["success@2", "error_rate"]
    with pytest.raises(BadInput, match="did you mean 'steps'"):
        studied(tmp_path, settings={"metric.step": 2})


def test_two_metrics_that_become_the_same_are_one(tmp_path):
    found = studied(tmp_path, {**STUDY, "metrics": ["success@1", "success@3"]}, settings={"metric.steps": 2})
    assert list(found.store.manifest().metrics) == ["success@2"]


def test_the_device_of_a_study_is_an_option_or_a_setting_and_not_both(tmp_path):
    assert studied(tmp_path, settings={"model.device": "cpu"}).exit_code == 0
    with pytest.raises(BadInput, match=r"device.*given twice"):
        studied(tmp_path, settings={"model.device": "cpu"}, device="cpu")


@pytest.mark.parametrize(
    ("name", "setting"), [("planners", "planner.elites"), ("metrics", "metric.steps"), ("models", "trainer.epochs")]
)
def test_a_setting_that_a_study_sweeps_is_not_given_beside_it(tmp_path, name, setting):
    entries = {
        "planners": {"name": "cem", **CEM, "elites": {"sweep": [1, 2]}},
        "metrics": {"name": "success@", "steps": {"sweep": [1, 2]}},
        "models": {"name": "m", "trainer": "mlp", "epochs": {"sweep": [1, 2]}},
    }
    with pytest.raises(BadInput) as refused:
        studied(tmp_path, {**STUDY, name: [entries[name]]}, settings={setting: 3})
    assert f"{name}[0]" in str(refused.value) and "[1, 2]" in str(refused.value) and setting in str(refused.value)
    assert not (tmp_path / "store").exists()


COMPOSITE = "composite:drop-next-2+env-default"
NEAREST = {  # options, and what is named
    "beside a planner": ({"policy": "cem", "settings": {"planner.exeute": 3}}, "did you mean 'execute'"),
    "beside a planner with a preset": (
        {"policy": "cem", "preset": "paper", "settings": {"planner.exeute": 3}},
        "did you mean 'execute'",
    ),
    "beside a perturbation": (
        {"perturbation": "drop-next", "settings": {"perturbation.probabilty": 0.5}},
        "did you mean 'probability'",
    ),
    "of a metric": ({"metrics": ["success@3"], "settings": {"metric.step": 4}}, "did you mean 'steps'"),
    "of several metrics": ({"metrics": ["success@3", "success@4"], "settings": {"metric.steps": 5}}, "2 of the"),
    "of a planner, as a policy": ({"policy": "cem", "settings": {"policy.elites": 3}}, "planner.elites"),
    "of a composite": ({"perturbation": COMPOSITE, "settings": {"perturbation.k": 3}}, "probability, step"),
}


@pytest.mark.parametrize(("options", "named"), NEAREST.values(), ids=list(NEAREST))
def test_a_setting_that_finds_no_part_is_refused_with_the_right_one(options, named):
    with pytest.raises(BadInput) as refused:
        wmel.run(**options, **TINY)
    assert named in str(refused.value)
    assert next(iter(options["settings"])).partition(".")[2] in str(refused.value)


def test_a_key_of_a_table_is_refused_with_all_that_the_table_takes():
    composite = {"name": "composite", "parts": ["drop-next-2"], "probabilty": 0.5}
    with pytest.raises(BadInput, match=r"'probability'\? .* parts, probability, step"):
        wmel.study({**STUDY, "perturbations": [composite]})


def test_a_swept_setting_of_a_planner_is_not_one_of_a_policy():
    with pytest.raises(BadInput, match=r"planner\.elites"):
        wmel.sweep(policy="cem", sweep={"policy.elites": [1, 2]}, **TINY)


def test_a_composite_takes_its_share_of_episodes():
    settings = {"perturbation.probability": 0.5, "perturbation.step": 1}
    found = wmel.run(policy="cem", perturbation=COMPOSITE, settings=settings, **CEM, **TINY)
    assert found.record.metadata.perturb_prob == 0.5


@pytest.fixture
def checkpoint(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("dm_control")
    from tests.models.tdmpc2.untrained import untrained_checkpoint

    return str(untrained_checkpoint(tmp_path / "model", wmel.environment("dmc:cartpole-swingup")))


def test_settings_with_a_keyword_are_those_of_the_policy_that_has_them(checkpoint):
    how = {"environment": "dmc:cartpole-swingup", "policy": "native", "model": checkpoint, **TINY}
    small = {"candidates": 32, "elites": 2, "iterations": 1}
    found = wmel.run(**how, plan_horizon=2, **small)
    assert (found.record.metadata.planner["plan_horizon"], found.record.metadata.planner["elites"]) == (2, 2)
    swept = wmel.sweep(**how, plan_horizons=[1, 2], **small)
    assert swept.table["plan_horizon"].to_list() == [1, 2]
    with pytest.raises(BadInput, match="leave out knots"):
        wmel.run(**how, knots=2)
    with pytest.raises(BadInput, match="plan_horizon is given twice: 3 and 2"):
        wmel.run(**how, plan_horizon=2, settings={"policy.plan_horizon": 3})


@pytest.mark.parametrize(("policy", "horizon"), [("cem", 3), ("random", None)])
def test_a_sweep_of_metrics_alone_is_one_point(tmp_path, policy, horizon):
    options = CEM if policy == "cem" else {}
    found = wmel.sweep(
        policy=policy, metrics=["success@"], sweep={"metric.steps": [1, 2]}, output=tmp_path, **options, **TINY
    )
    for result in (found, wmel.load(tmp_path), wmel.load(tmp_path / "sweep.json")):
        assert [point.plan_horizon for point in result.record.points] == [horizon]
        assert {"success@1", "success@2"} <= result.record.points[0].scorecard.estimates.keys()
        assert "H*" not in str(result) and "none" not in str(result.document().title)
    assert len(found.plot().data) == 1


def test_a_model_that_plans_by_itself_is_swept_by_the_length_of_its_plans(tmp_path, checkpoint):
    """Its arm has no planner, so a point has the length among its swept settings alone."""
    small = {"candidates": 32, "elites": 2, "iterations": 1}
    sweep = {"policy.plan_horizon": [1, 2]}
    how = {"model": checkpoint, "sweep": sweep, "output": tmp_path / "s", **small, **TINY}
    swept = wmel.sweep("dmc:cartpole-swingup", "native", **how)
    assert swept.table["plan_horizon"].to_list() == [1, 2]
    assert wmel.load(tmp_path / "s").answer == swept.answer


@pytest.mark.parametrize("setting", ["plan_horizon", "iterations", "temperature"])
def test_a_setting_of_native_is_refused_where_the_plan_of_an_object_takes_none(setting):
    how = {"policy": "native", "model": "tests.policies.own_models:Four", **TINY}
    for call in (
        lambda: wmel.run("maze_toy", settings={f"policy.{setting}": 2}, **how),
        lambda: wmel.sweep("maze_toy", sweep={f"policy.{setting}": [2, 4]}, **how),
    ):
        with pytest.raises(BadInput, match=f"leave out {setting}"):
            call()


@pytest.mark.parametrize(
    ("entry", "beside", "values"),
    [
        ({"probability": 0.4}, {"perturb_prob": 0.5}, "0.5 and 0.4"),
        ({"step": 1}, {"perturb_step": 2}, "2 and 1"),
        ({}, {"perturb_prob": 0.5, "settings": {"perturbation.probability": 0.4}}, "0.5 and 0.4"),
    ],
)
def test_when_a_perturbation_strikes_is_given_once(entry, beside, values):
    with pytest.raises(BadInput, match=f"given twice: {values}"):
        wmel.run("maze_toy", "random", perturbation={"name": "drop-next", **entry}, **beside, **TINY)
