import pytest

from wmel.errors import BadInput
from wmel.training.tdmpc2.trainer import TDMPC2Trainer, discount_of


@pytest.mark.parametrize(
    ("steps", "discount"), [(1, 0.95), (5, 0.95), (25, 0.95), (100, 0.95), (200, 0.975), (500, 0.99), (1000, 0.995)]
)
def test_longer_episodes_look_further_ahead(steps, discount):
    assert discount_of(steps) == pytest.approx(discount)


def test_the_published_coefficients_are_the_default():
    settings = TDMPC2Trainer()
    published = {
        "batch": 256, "horizon": 3, "decay": 0.5, "learning_rate": 3e-4, "encoder_share": 0.3, "clip": 20,
        "follow": 0.01, "consistency": 20, "reward": 0.1, "value": 0.1, "entropy": 1e-4,
    }  # fmt: skip
    assert {name: getattr(settings, name) for name in published} == published


@pytest.mark.parametrize(
    "values",
    [{"size": 2}, {"size": 0}, {"activation": "gelu"}, {"latent_norm": "batch"}, {"updates": 0}, {"envs": -1},
     {"batch": 1.5}, {"horizon": 0}, {"seed": -1}, {"seed": 10**23}, {"learning_rate": 0.0},
     {"learning_rate": float("nan")}],
    ids=str,
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(values):
    with pytest.raises(BadInput):
        TDMPC2Trainer(**values)


@pytest.mark.parametrize(
    "values",
    [{"decay": float("nan")}, {"decay": -1.0}, {"clip": -1.0}, {"follow": 2.0}, {"consistency": float("nan")},
     {"encoder_share": -1.0}],
    ids=str,
)  # fmt: skip
def test_coefficients_that_cannot_be_are_refused(values):
    with pytest.raises(BadInput):
        TDMPC2Trainer(**values)
