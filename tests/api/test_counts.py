"""Numbers out of range are refused before anything runs, by one rule for every count."""

import typing

import pytest

import wmel
from wmel.catalog import CATALOGUE
from wmel.contract.criterion import Criterion
from wmel.errors import MAX_WHOLE, BadInput, MissingExtra, require_whole
from wmel.settings import MAX_COUNT, MAX_THREADS

HUGE = 10**20


def whole_settings():
    """Every setting of a built-in part that takes whole numbers."""
    for registry in CATALOGUE.values():
        for name in registry.built_in:
            try:
                settings = registry.settings_of(name).values()
            except MissingExtra:
                continue
            for one in settings:
                if int in (one.kind, *typing.get_args(one.kind)) and typing.get_origin(one.kind) is not typing.Literal:
                    yield f"{registry.kind} {name} {one.name}", one


def test_every_count_of_every_part_has_a_largest_value():
    found = dict(whole_settings())
    assert len(found) > 60
    for name, setting in found.items():
        for value in (HUGE, -HUGE, [HUGE]):
            with pytest.raises(BadInput, match=setting.name):
                setting.check(value)
        assert "threads" not in name or setting.check(MAX_THREADS) == MAX_THREADS
    assert not any(
        one.meaning.cap > MAX_THREADS for name, one in found.items() if name.endswith(("threads", "workers"))
    )


@pytest.mark.parametrize(
    "options",
    [
        {"episodes": HUGE},
        {"episodes": -1},
        {"horizon": MAX_COUNT + 1},
        {"horizon": -1},
        {"seeds": -1},
        {"seeds": [0, HUGE]},
        {"execute": HUGE},
        {"perturb_step": HUGE, "perturbation": "drop-next-1"},
        {"perturb_prob": float("nan"), "perturbation": "drop-next-1"},
        {"perturbation": f"drop-next-{HUGE}"},
        {"workers": HUGE, "executor": "processes"},
        {"deadline_ms": float("inf")},
        {"metrics": [f"success@{HUGE}"]},
        {"metrics": ["success@-1"]},
        {"criterion": f"distance<=0@sustained:{HUGE}"},
        {"criterion": "distance<=nan"},
        {"settings": {"environment.max_steps": MAX_COUNT + 1}},
        {"settings": {"planner.candidates": HUGE}},
    ],
    ids=str,
)
def test_a_number_out_of_range_is_refused_before_anything_is_run(tmp_path, options):
    with pytest.raises(BadInput):
        wmel.run("maze_toy", "cem", output=tmp_path / "out", quiet=True, **options)
    assert not list(tmp_path.iterdir())


def test_threads_beyond_reason_start_no_training(tmp_path):
    for trainer in ("mlp", "latent-mlp", "tdmpc2"):
        with pytest.raises(BadInput, match="threads"):
            wmel.train(trainer, "dmc_cartpole", output=tmp_path / "out", threads=MAX_THREADS + 1)
    assert not list(tmp_path.iterdir())


def test_the_rule_holds_where_no_setting_is_declared():
    require_whole(MAX_WHOLE, "a count")
    for work in (lambda: require_whole(MAX_WHOLE + 1, "a count"), lambda: Criterion("x", at_most=0, steps=HUGE)):
        with pytest.raises(BadInput, match="at most"):
            work()
