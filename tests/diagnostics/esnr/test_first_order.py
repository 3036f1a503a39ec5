import numpy as np
import pytest
import torch

from tests.diagnostics.esnr.worlds import NOWHERE, LinearQuadratic, assert_moments, linear, quadratic, still, tensor
from wmel.contract.environment import Box, Finite
from wmel.diagnostics.esnr.measure import esnr
from wmel.errors import BadInput
from wmel.models.callable_model import PairModel

SAMPLES = 150_000
MANY = {"samples": SAMPLES, "rows": SAMPLES}


@pytest.mark.parametrize("sigma", [0.2, 1.5])
def test_of_a_quadratic_the_ratio_is_squared_distance_over_spread(sigma):
    centre, mean = np.array([0.5, -1.0, 0.3]), np.array([0.1, 0.2, 0.3])
    found = esnr(quadratic(centre), NOWHERE, "fog", mean=mean[None], sigma=sigma, **MANY)
    assert_moments(found.gradients.samples[0], -2 * (mean - centre), 4 * sigma**2)
    expected = ((mean - centre) ** 2).sum() / (3 * sigma**2)
    assert found.esnr.value == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_of_a_general_quadratic_the_form_decides_and_its_size_does_not(scale):
    rng = np.random.default_rng(3)
    root, centre = rng.normal(size=(4, 4)), rng.normal(size=4)
    form = root @ root.T
    found = esnr(quadratic(centre, form, scale=scale), NOWHERE, "fog", mean=np.zeros((1, 4)), sigma=0.3, **MANY)
    slope, spread = form @ -centre, (form**2).sum(axis=1)
    assert_moments(found.gradients.samples[0] / scale, -2 * slope, 4 * 0.09 * spread)
    ratios = slope**2 / (0.09 * spread)
    error = 5 * np.sqrt((4 * ratios + 2 * ratios**2) / SAMPLES)  # of a ratio of normal samples
    assert (abs(found.signal.jackknife[0] - ratios) < error).all()


@pytest.mark.parametrize("discount", [1.0, 0.7])
def test_through_linear_dynamics_the_whole_future_counts(discount):
    world, mean = LinearQuadratic.sampled(0), np.linspace(-0.4, 0.5, 8)
    found = esnr(
        world.pair(), world.start[None], "fog", mean=mean.reshape(4, 2), sigma=0.4, discount=discount, **MANY
    )  # fmt: skip
    assert_moments(found.gradients.samples[0], *world.form(discount).pathwise(mean, 0.4))
    assert found.model_steps == SAMPLES * 4


def test_of_a_linear_return_the_ratio_is_infinite_and_nothing_is_dead():
    found = esnr(linear([1.0, -2.0]), NOWHERE, "fog", mean=np.zeros((1, 2)))
    assert (found.infinite_share, found.dead_share) == (1, 0)
    assert not found.esnr.is_defined and "infinite" in found.esnr.reason


@pytest.mark.parametrize(("samples", "rows"), [(32, 2048), (37, 7)])
@pytest.mark.parametrize("seed", [2, 3, 14])
def test_through_linear_dynamics_a_linear_return_has_no_noise_however_it_is_rounded(seed, samples, rows):
    """Every row has the same gradient but for the order of sums in float32; the last action is dead."""
    rng, width = np.random.default_rng(seed), 12
    A, B, slopes = rng.normal(size=(width, width)) / np.sqrt(width), rng.normal(size=(width, 2)), rng.normal(size=width)
    A, B, slopes = map(tensor, (A, B, slopes))
    pair = (lambda z, a: z @ A.T + a @ B.T, lambda z, a: z @ slopes)
    found = esnr(pair, rng.normal(size=(5, width)), "fog", mean=np.zeros((6, 2)), samples=samples, rows=rows)
    assert found.dead_share == pytest.approx(1 / 6) and found.infinite_share == pytest.approx(5 / 6)
    assert not found.esnr.is_defined


def test_every_row_gets_the_gradient_it_has_alone():
    """What the functions were given is asked again one row at a time, by autograd and by differences in float64."""
    met = []

    def forward(z, a):
        return torch.tanh(z + 0.3 * a @ torch.tensor([[1.0, -1.0], [0.5, 2.0]], dtype=z.dtype))

    def reward(z, a):
        if z.dtype == torch.float32:
            met.append(a.detach().clone())
        return torch.sin(z).sum(1) * torch.cos(a[:, 0]) - 0.1 * a[:, 1] ** 2

    observations = np.array([[0.1, -0.4], [0.7, 0.2], [-1.0, 1.0]])
    found = esnr((forward, reward), observations, "fog", mean=np.zeros((3, 2)), samples=4, discount=0.9, rows=100)
    sequences = met[0].reshape(12, 3, 2).double()

    def whole(sequence, start):
        state, total = start[None], torch.zeros(1, dtype=torch.float64)
        for step in range(3):
            total = total + 0.9**step * reward(state, sequence[step][None])
            state = forward(state, sequence[step][None])
        return total[0]

    for row, sequence in enumerate(sequences):
        start = torch.as_tensor(observations[row // 4])
        alone = torch.autograd.functional.jacobian(lambda one, start=start: whole(one, start), sequence).reshape(-1)
        moves = 1e-5 * torch.eye(6, dtype=torch.float64).reshape(6, 3, 2)
        slopes = [(whole(sequence + move, start) - whole(sequence - move, start)) / 2e-5 for move in moves]
        batched = found.gradients.samples[row // 4, row % 4]
        np.testing.assert_allclose(batched, alone, atol=2e-6)
        np.testing.assert_allclose(batched, slopes, atol=2e-6)


def test_a_reward_that_reads_the_state_alone_leaves_the_last_action_dead():
    pair = (lambda z, a: z + a, lambda z, a: -(z**2).sum(1))
    found = esnr(pair, np.ones((3, 1)), "fog", mean=np.zeros((4, 1)))
    assert found.dead_share == 1 / 4
    assert found.signal.dead[:, -1].all() and not found.signal.dead[:, :-1].any()


@pytest.mark.parametrize(("kind", "beyond"), [("clamped", 0.0), ("gaussian", -2.0)])
def test_beyond_the_bounds_a_clamped_action_has_no_gradient(kind, beyond):
    met = []

    def reward(z, a):
        met.append(a.detach()[:, 0].numpy())
        return -(a[:, 0] ** 2)

    found = esnr((still, reward), NOWHERE, "fog", space=Box([-1], [1]), horizon=1, actions=kind, sigma=1, **MANY)
    outside = 0.317311  # 2 (1 - Phi(1))
    assert found.gradients.out_of_range == pytest.approx(outside, abs=5 * np.sqrt(outside * (1 - outside) / SAMPLES))
    gradients, actions = found.gradients.samples[0, :, 0], met[0]
    far = abs(actions) >= 1
    assert far.mean() == pytest.approx(found.gradients.out_of_range, abs=1e-6)
    np.testing.assert_allclose(gradients[far], beyond * actions[far], atol=1e-6)
    np.testing.assert_allclose(gradients[~far], -2 * actions[~far], atol=1e-6)


def test_actions_squashed_by_tanh_stay_within_bounds_and_keep_the_chain_rule():
    """Of J = a with a = 3 tanh(x) the gradient is 3 (1 - (a/3)^2)."""
    met = []

    def reward(z, a):
        met.append(a.detach()[:, 0].numpy())
        return a[:, 0]

    found = esnr((still, reward), NOWHERE, "fog", space=Box([-3], [3]), horizon=1, actions="tanh", sigma=1)
    assert (abs(met[0]) < 3).all()
    np.testing.assert_allclose(found.gradients.samples[0, :, 0], 3 * (1 - (met[0] / 3) ** 2), rtol=1e-4)


def test_a_model_in_numpy_is_refused_by_name():
    model = PairModel(still, lambda z, a: a[:, 0], library="numpy", name="mine")
    with pytest.raises(BadInput, match="mine computes with numpy"):
        esnr(model, NOWHERE, "fog", mean=np.zeros((1, 1)))


@pytest.mark.parametrize(
    "reward", [lambda z, a: -(a.detach() ** 2).sum(1), lambda z, a: torch.as_tensor(a.detach().numpy()[:, 0] * 2)]
)
def test_a_model_that_cuts_the_gradient_is_refused(reward):
    with pytest.raises(BadInput, match="torch has no gradient"):
        esnr((still, reward), NOWHERE, "fog", mean=np.zeros((1, 1)))


@pytest.mark.parametrize("method", ["fog", "fog(fd)"])
def test_choices_have_no_derivative(method):
    with pytest.raises(BadInput, match="3 levels and have no derivative"):
        esnr(linear([1.0]), NOWHERE, method, space=Finite(("a", "b", "c")), horizon=1)
