import numpy as np
import pytest
import torch

from wmel import catalog
from wmel.contract.objective import DiscountedSum
from wmel.models.imagine import ImaginedCost
from wmel.models.mlp import MLP, MLPModel
from wmel.objectives import Upright
from wmel.testing import check_world_model, failures

OBSERVATION, ACTION = 6, 5


def network(target="next", rounded=False) -> MLP:
    torch.manual_seed(0)
    made = MLP(OBSERVATION, ACTION, (64, 64), target, rounded).requires_grad_(False)
    for name in ("seen_centre", "seen_scale", "made_centre", "made_scale"):
        getattr(made, name).copy_(torch.rand(OBSERVATION) + 0.5)
    return made


@pytest.mark.parametrize("target", ["next", "delta"])
def test_folded_it_is_the_network_and_its_scales(target):
    made = network(target)
    seen, acted = torch.randn(50, OBSERVATION), torch.randn(50, ACTION)
    expected = made(seen, acted) * made.made_scale + made.made_centre + (seen if target == "delta" else 0)
    folded = made.fold()
    torch.testing.assert_close(folded.step(seen, acted), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(made.scaled_targets(seen, expected), made(seen, acted), rtol=1e-4, atol=1e-4)


def test_a_rollout_is_its_steps_and_keeps_gradients_of_actions():
    model = MLPModel(network("delta"))
    seen, acted = torch.randn(9, OBSERVATION), torch.randn(9, 7, ACTION, requires_grad=True)
    trajectory = model.rollout(seen, acted)
    state = seen
    for step in range(7):
        state = model.step(state, acted[:, step])
        torch.testing.assert_close(trajectory[:, step + 1], state)
    trajectory[:, -1].sum().backward()
    assert acted.grad is not None and torch.isfinite(acted.grad).all() and (acted.grad != 0).any()


@pytest.mark.parametrize("action_input", ["index", "value"])
def test_gradients_are_finite_differences_also_after_planning(action_input):
    """Planners use a model in inference mode, and what it keeps from there must serve gradients too."""
    model = MLPModel(network("delta").double(), action_input=action_input)
    start, actions = torch.randn(3, OBSERVATION, dtype=torch.double), torch.randn(3, 4, ACTION, dtype=torch.double)
    with torch.inference_mode():
        model.rollout(start, torch.randint(0, ACTION, (3, 4, 1)) if action_input == "index" else actions)
    wanted = actions.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model.rollout(start, wanted)[:, -1].sum(), wanted)
    for place in [(0, 0, 0), (1, 3, 2), (2, 2, 4)]:
        nudge = torch.zeros_like(actions)
        nudge[place] = 1e-6
        ahead, behind = (model.rollout(start, moved)[:, -1].sum() for moved in (actions + nudge, actions - nudge))
        assert gradient[place] == pytest.approx(float(ahead - behind) / 2e-6, rel=1e-5)
    seen = start.clone().requires_grad_()  # and through finite choices
    trajectory = model.rollout(seen, torch.zeros((3, 4, 1), dtype=torch.int64))
    assert torch.autograd.grad(trajectory.sum(), seen)[0].abs().sum() > 0


def test_predictions_on_a_grid_are_whole():
    model = MLPModel(network(rounded=True))
    after = model.step(torch.randn(20, OBSERVATION), torch.randn(20, ACTION))
    assert torch.equal(after, after.round())


def test_it_keeps_the_contract_of_a_world_model():
    world = catalog.environment("dmc_acrobot")
    assert failures(check_world_model(MLPModel(network(), action_input="index"), world)) == []


def test_company_changes_no_bit_of_a_cost():
    """The same candidates among 1, 3 or 40 episodes: rows are filled up to a multiple of 16."""
    world = catalog.environment("dmc_acrobot")
    model, objective = MLPModel(network(), action_input="index"), Upright((2, 3), DiscountedSum())
    rng = np.random.default_rng(0)
    latents = torch.as_tensor(rng.normal(size=(40, OBSERVATION)), dtype=torch.float32)
    candidates = torch.as_tensor(rng.integers(0, 5, (40, 50, 15, 1)), dtype=torch.int32)

    def costs(rows):
        cost = ImaginedCost(model, objective, world.spec.actions, latents[rows], np.zeros((len(rows), 0)), OBSERVATION)
        return cost(candidates[rows]).costs

    together = costs(list(range(40)))
    assert torch.equal(together[:3], costs([0, 1, 2]))
    assert torch.equal(together[7:8], costs([7]))


def test_it_agrees_with_the_same_network_in_numpy():
    made = network("delta")
    folded = made.fold()
    rng = np.random.default_rng(0)
    seen, acted = rng.normal(size=(30, OBSERVATION)), rng.normal(size=(30, ACTION))
    hidden = np.concatenate([seen, acted], axis=1)
    for layer, (weight, bias) in enumerate(folded.layers):
        hidden = (np.maximum(hidden, 0) if layer else hidden) @ weight.numpy().astype(float) + bias.numpy()
    after = MLPModel(made).step(torch.as_tensor(seen, dtype=torch.float32), torch.as_tensor(acted))
    np.testing.assert_allclose(after.numpy(), seen + hidden, atol=1e-5)
