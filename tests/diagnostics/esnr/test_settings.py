import pytest

from wmel.diagnostics.esnr.sampling import EsnrSettings
from wmel.errors import BadInput


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"samples": 3}, "at least 4 gradients.*got 3"),
        ({"samples": 0}, "samples must be .* at least 1 .* got 0"),
        ({"samples": 8.0}, "samples must be a whole number.* got 8.0"),
        ({"samples": True}, "samples must be a whole number.* got True"),
        ({"samples": 2_000_000}, "samples must be .* at most 1.*, got 2000000"),
        ({"plan_horizon": 0}, "plan_horizon must be .* got 0"),
        ({"rows": -1}, "rows must be .* got -1"),
        ({"population": 4, "elites": 5}, "of 4 sequences.*got 5"),
        ({"elites": 0}, "elites must be .* got 0"),
        ({"sigma": 0}, "sigma must be a number above 0.* got 0"),
        ({"sigma": -1.0}, "got -1.0"),
        ({"sigma": float("nan")}, "got nan"),
        ({"sigma": float("inf")}, "got inf"),
        ({"discount": 0}, "discount.*got 0"),
        ({"discount": 1.01}, "discount.*got 1.01"),
        ({"temperature": -0.1}, "temperature.*got -0.1"),
        ({"temperature": float("nan")}, "temperature.*got nan"),
        ({"noise_seed": -1}, "noise_seed.*got -1"),
        ({"credit": "rtg"}, "credit must be 'reward_to_go' or .*got 'rtg'"),
        ({"baseline": "loo"}, "baseline must be 'leave_one_out' or .*got 'loo'"),
        ({"actions": "clip"}, "actions must be 'clamped' or .*got 'clip'"),
        ({"credit": "paper", "baseline": "value"}, "no value function predicts"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_value(settings, words):
    with pytest.raises(BadInput, match=words):
        EsnrSettings(**settings)


@pytest.mark.parametrize("name", ["sigma", "discount", "temperature"])
@pytest.mark.parametrize("value", ["x", None])
def test_a_setting_that_is_no_number_is_refused_with_its_value(name, value):
    with pytest.raises(BadInput, match=name):
        EsnrSettings(**{name: value})


def test_the_smallest_that_can_be():
    EsnrSettings(samples=4, plan_horizon=1, population=1, elites=1, rows=1)


def test_only_what_a_method_heeds_is_described():
    settings = EsnrSettings()
    assert not {"credit", "elites", "rows"} & set(settings.described("fog"))
    assert {"credit", "baseline"} <= set(settings.described("zog")) and "elites" not in settings.described("zog")
    assert {"elites", "temperature"} <= set(settings.described("cem")) and "credit" not in settings.described("cem")


def test_the_papers_settings_override_what_was_chosen():
    chosen = EsnrSettings(actions="tanh", baseline="none", samples=8).as_in_the_paper()
    assert (chosen.actions, chosen.credit, chosen.baseline, chosen.samples) == ("gaussian", "paper", "none", 8)
    assert chosen.raw_elite_mean and chosen.literal


def test_the_old_name_of_the_plan_horizon_is_accepted_with_a_warning():
    with pytest.warns(DeprecationWarning, match="'horizon' is now 'plan_horizon'"):
        assert EsnrSettings(horizon=7) == EsnrSettings(plan_horizon=7)
