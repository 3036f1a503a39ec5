"""TD-MPC2's own planner on a model whose best actions are known, and beside a slow second implementation."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from tests.models.tdmpc2.by_hand import random_network
from wmel import catalog
from wmel.contract.environment import Box, Finite
from wmel.contract.policy import Percept
from wmel.contract.world_model import HasPolicy, WorldModelSpec
from wmel.errors import BadInput
from wmel.machine import limit_threads
from wmel.models.tdmpc2.model import TDMPC2Model, TDMPC2WithDecoder
from wmel.models.tdmpc2.network import SIZES
from wmel.parts import implements
from wmel.policies.latent_mppi import LatentMPPI, latent_mppi, sample_pairs
from wmel.randomness import Streams


@pytest.fixture(autouse=True)
def one_thread():
    with limit_threads(1):
        yield


@dataclass(frozen=True, eq=False)
class Errand:
    """A latent is a place and the action wanted in every step; whoever does otherwise pays the square."""

    worth: float = 1.0  # of the place at the end
    policy_is: float = 0.0  # its mean action
    rate: float = 0.9
    unit: float = 1.0  # of what is paid for

    @property
    def spec(self):
        return WorldModelSpec("errand")

    def encode(self, percept, previous):
        return torch.as_tensor(percept.observation, dtype=torch.float32)

    def step(self, latents, actions):
        return torch.cat([latents[:, :1] + actions[:, :1], latents[:, 1:]], 1)

    def decode(self, latents):
        return latents

    def rewards(self, trajectory, actions):
        return -(((actions - trajectory[:, :-1, 1:]) / self.unit) ** 2).sum(-1)

    def policy(self, latents, noise):
        mean = torch.full_like(latents[:, 1:], self.policy_is)
        return mean if noise is None else (mean + 0.3 * noise).tanh()

    def action_values(self, latents, actions):
        near = self.worth * latents[:, 0] - 0.1 * (actions**2).sum(-1)
        return torch.stack([near, near + 0.2, 1.5 * near - 0.4])

    def discount(self) -> float:
        return self.rate


def percept(observations: np.ndarray) -> Percept:
    count, nothing = len(observations), np.zeros((len(observations), 0))
    return Percept(observations, nothing, nothing, np.zeros((count, 1)), np.full(count, 9))


def streams(count: int, moment: int = 0) -> Streams:
    return Streams(100 + np.arange(count), np.full(count, moment))


def planner(model=None, width: int = 2, low: float = -1.0, high: float = 1.0, **settings) -> LatentMPPI:
    space = Box(np.full(width, low, np.float32), np.full(width, high, np.float32))
    return LatentMPPI(space, space.low, space.high, model or Errand(worth=0.0), **settings)


def wanted(*rows: list[float]) -> np.ndarray:
    """Observations: place 0, and the action wanted."""
    return np.array([[0.0, *row] for row in rows], np.float32)


def decided(policy: LatentMPPI, observations: np.ndarray, memory=None, moment: int = 0):
    seen = percept(observations)
    return policy.act(seen, policy.observe(seen, memory), streams(len(observations), moment))


def test_the_model_of_this_file_acts_itself():
    assert implements(Errand(), HasPolicy)


def test_one_action_is_decided_for_each_episode():
    policy = planner(plan_horizon=4)
    made = decided(policy, wanted([0.5, -0.5], [0.0, 1.0], [-0.9, 0.2]))
    assert made.actions.shape == (3, 1, 2) and made.actions.dtype == np.float32
    assert made.lengths.tolist() == [1, 1, 1] and made.memory["mean"].shape == (3, 4, 2)
    assert made.model_steps.tolist() == [4 * (6 * 512 + 24)] * 3 == [policy.compute_per_plan_call] * 3
    assert np.abs(made.actions).max() <= 1


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (0.0, 10.0), (-3.0, -1.0)])
def test_the_plan_finds_the_action_that_is_wanted(bounds):
    """The mean comes near; the elite that is executed is one draw around it, better than most."""
    low, high = bounds
    requested = low + (high - low) * np.array([[0.1, 0.8], [0.5, 0.5], [0.95, 0.3]])
    for seed in range(5):
        model = Errand(worth=0.0, unit=(high - low) / 2)
        made = decided(planner(model, low=low, high=high), wanted(*requested.tolist()), moment=seed)
        np.testing.assert_allclose(made.actions[:, 0], requested, atol=0.2 * (high - low))
        mean = low + (made.memory["mean"][:, 0] + 1) / 2 * (high - low)
        np.testing.assert_allclose(mean, requested, atol=0.05 * (high - low))


def test_the_value_at_the_end_counts():
    """Where every reward is alike the place reached decides."""
    made = decided(planner(Errand(worth=50.0), width=1), wanted([0.0]))
    assert made.actions.item() > 0.8


def test_draws_of_the_policy_are_candidates():
    """One iteration of few draws: only the policy knows the corner that is wanted."""
    settings = {"width": 6, "candidates": 40, "from_policy": 24, "elites": 1, "iterations": 1, "plan_horizon": 1}
    requested = wanted([0.97] * 6)
    knows = decided(planner(Errand(0.0, policy_is=2.0), **settings), requested).actions
    guesses = decided(planner(Errand(0.0, policy_is=-2.0), **settings), requested).actions
    assert np.abs(knows - 0.97).max() < 0.15 < np.abs(guesses - 0.97).max()


def test_the_same_streams_give_the_same_decision_and_others_do_not():
    requested = wanted([0.5, -0.5], [0.0, 1.0])
    one, same, other = (decided(planner(), requested, moment=moment) for moment in (0, 0, 1))
    assert np.array_equal(one.actions, same.actions) and np.array_equal(one.memory["mean"], same.memory["mean"])
    assert not np.array_equal(one.actions, other.actions)


def tdmpc2(observation: int, action: int) -> TDMPC2Model:
    torch.manual_seed(0)
    network = random_network(observation, action, SIZES[1])
    return TDMPC2Model(TDMPC2WithDecoder(network, -torch.ones(action), torch.ones(action)).requires_grad_(False))


@pytest.mark.parametrize("width", [1, 2, 5])
def test_rows_do_not_depend_on_their_company(width):
    rng = np.random.default_rng(0)
    seen, own = percept(rng.normal(size=(7, 4)).astype(np.float32)), streams(7)
    policy = planner(tdmpc2(4, width), width=width, candidates=64, from_policy=5, elites=9, iterations=2)
    memory = {"mean": rng.uniform(-1, 1, (7, 3, width)).astype(np.float32)}
    whole = policy.act(seen, memory, own)
    for rows in (np.array([0]), np.array([2, 5, 6]), np.array([6, 0])):
        some = policy.act(seen.rows(rows), {"mean": memory["mean"][rows]}, own.rows(rows))
        assert np.array_equal(some.actions, whole.actions[rows])
        assert np.array_equal(some.memory["mean"], whole.memory["mean"][rows])


@dataclass(frozen=True, eq=False)
class Listening:
    """A model that passes all on, and writes down what was imagined and what it was worth."""

    model: Errand
    heard: list

    def __getattr__(self, name):
        return getattr(self.model, name)

    def discount(self):
        return self.model.discount()

    def policy(self, latents, noise):
        return self.model.policy(latents, noise)

    def action_values(self, latents, actions):
        made = self.model.action_values(latents, actions)
        self.heard.append({"values": made.double().numpy()})
        return made

    def rewards(self, trajectory, actions):
        made = self.model.rewards(trajectory, actions)
        self.heard.append({"rewards": made.double().numpy(), "actions": actions.double().numpy()})
        return made


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_one_iteration_is_that_of_a_slow_loop(temperature):
    heard: list = []
    model = Listening(Errand(worth=0.7), heard)
    policy = planner(model, candidates=32, from_policy=6, elites=5, iterations=1, temperature=temperature)
    made = decided(policy, wanted([0.5, -0.5], [0.0, 0.9]))
    (rewarded, valued) = heard
    candidates = rewarded["actions"].reshape(2, 32, 3, 2)
    ends, uniforms = valued["values"].reshape(3, 2, 32), streams(2).uniforms("mppi elite", (1,))[0]
    pairs = list(zip(*sample_pairs(3, streams(2).uniforms("mppi critics", (2,))[0]), strict=True))
    for row in range(2):
        one, other = pairs[row]
        worth = []
        for place in range(32):
            total = 0.9**3 * (ends[one, row, place] + ends[other, row, place]) / 2
            for step in range(3):
                total += 0.9**step * rewarded["rewards"].reshape(2, 32, 3)[row, place, step]
            worth.append(total)
        best = sorted(range(32), key=lambda place: -worth[place])[:5]
        shares = [np.exp(temperature * (worth[place] - worth[best[0]])) for place in best]
        shares = [share / sum(shares) for share in shares]
        mean = sum(share * candidates[row, place] for share, place in zip(shares, best, strict=True))
        left, chosen = float(uniforms[row, 0]), None
        for share, place in zip(shares, best, strict=True):
            chosen = place if chosen is None and left < share + 1e-9 else chosen
            left -= share
        np.testing.assert_allclose(made.memory["mean"][row, :2], mean[1:], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(made.actions[row, 0], candidates[row, chosen, 0], rtol=1e-5, atol=1e-6)
    assert not made.memory["mean"][:, 2].any()


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_every_pair_of_critics_is_as_likely(count):
    uniforms = np.random.default_rng(0).uniform(size=(20_000, 2))
    one, other = sample_pairs(count, uniforms)
    assert (one != other).all() and min(one.min(), other.min()) == 0 and max(one.max(), other.max()) == count - 1
    seen, pairs = np.bincount(one * count + other, minlength=count**2), count * (count - 1)
    expected = 20_000 / pairs
    assert np.abs(seen[seen > 0] - expected).max() < 5 * np.sqrt(expected) and (seen > 0).sum() == pairs


def test_wide_actions_are_planned_two_iterations_longer():
    """As published: 6, and 8 from 20 components on."""
    worlds = {"dmc:humanoid-stand": (21, 8), "dmc:cheetah-run": (6, 6)}
    for name, (width, iterations) in worlds.items():
        made = latent_mppi(catalog.environment(name), Errand())
        assert (len(made.low), made.iterations) == (width, iterations)


def test_the_second_iteration_draws_around_the_elites_of_the_first():
    """Its mean is their weighted mean, its deviation theirs, never below a twentieth."""
    heard: list = []
    policy = planner(
        Listening(Errand(worth=0.0), heard), width=1, candidates=400, from_policy=1, elites=5, iterations=2
    )
    decided(policy, wanted([0.25]))
    first, second = (entry["actions"].reshape(400, 3, 1) for entry in heard[::2])
    pair = [number.item() for number in sample_pairs(3, streams(1).uniforms("mppi critics", (2,), 2)[0])]
    worth = (heard[0]["rewards"] * 0.9 ** np.arange(3)).sum(1) + 0.9**3 * heard[1]["values"][pair].mean(0)
    best = np.argsort(-worth, kind="stable")[:5]
    shares = (
        np.exp(0.5 * (worth[best] - worth[best[0]]))[:, None, None] / np.exp(0.5 * (worth[best] - worth.max())).sum()
    )
    mean = (shares * first[best]).sum(0)
    deviation = np.sqrt((shares * (first[best] - mean) ** 2).sum(0)).clip(0.05, 2)
    samples = second[1:]
    np.testing.assert_allclose(samples.mean(0), mean, atol=5 * deviation.max() / np.sqrt(399))
    np.testing.assert_allclose(samples.std(0), deviation, rtol=0.2)


def test_what_is_left_of_the_last_plan_is_where_the_next_begins():
    """The same draws, around another mean: where nothing is cut off they differ by the mean."""
    imagined, before = [], np.array([[[0.3, -0.2], [0.1, 0.0], [0.4, -0.4]]], np.float32)
    for memory in (None, {"mean": before}):
        heard: list = []
        policy = planner(Listening(Errand(), heard), candidates=200, from_policy=8, iterations=1)
        decided(policy, wanted([0.9, -0.9]), memory)
        imagined.append(heard[0]["actions"])
    assert np.array_equal(imagined[0][:8], imagined[1][:8])
    blank, begun = imagined[0][8:], imagined[1][8:]
    inside = (np.abs(blank) < 1) & (np.abs(begun) < 1)
    assert inside.mean() > 0.2
    np.testing.assert_allclose((begun - blank)[inside], np.broadcast_to(before, blank.shape)[inside], atol=1e-6)


def test_levels_are_the_nearest():
    values = np.array([[-1.0], [-0.25], [0.5], [1.0]], np.float32)
    space = Finite(("a", "b", "c", "d"), values)
    policy = LatentMPPI(space, values.min(0), values.max(0), Errand(worth=0.0))
    made = decided(policy, wanted([-0.9], [-0.3], [0.6], [0.99]))
    assert made.actions[:, 0, 0].tolist() == [0, 1, 2, 3] and made.actions.dtype == space.dtype


@pytest.mark.parametrize(
    ("world", "bounds"), [("dmc:cartpole-swingup", ([-1.0], [1.0])), ("dmc_cartpole", ([-1.0], [1.0]))]
)
def test_an_environment_says_the_bounds(world, bounds):
    made = latent_mppi(catalog.environment(world), Errand())
    assert (made.low.tolist(), made.high.tolist()) == bounds and made.name == "native"


def test_actions_that_are_no_numbers_are_refused(maze):
    with pytest.raises(BadInput, match="maze_toy are not numeric:"):
        catalog.policy("native", maze, model=Errand())


def test_the_catalogue_makes_it_of_a_model_that_acts_itself():
    made = catalog.policy("native", catalog.environment("dmc:cartpole-swingup"), model=tdmpc2(5, 1))
    assert isinstance(made, LatentMPPI) and made.settings["planner"] == {
        "name": "latent-mppi", "plan_horizon": 3, "iterations": 6, "candidates": 512, "from_policy": 24, "elites": 64,
        "temperature": 0.5,
    }  # fmt: skip
    assert made.settings["weights"] == made.model.spec.weights and replace(made, candidates=64).candidates == 64


def test_the_catalogue_hands_its_settings_on_and_refuses_those_that_cannot_be():
    world, model = catalog.environment("dmc:cartpole-swingup"), tdmpc2(5, 1)
    made = catalog.policy("native", world, model=model, candidates=64, elites=8, from_policy=2, plan_horizon=5)
    assert (made.candidates, made.elites, made.from_policy, made.plan_horizon) == (64, 8, 2, 5)
    for requested in ({"elites": 513}, {"from_policy": 512}, {"candidates": 0}, {"temperature": -1.0}):
        with pytest.raises(BadInput, match=str(next(iter(requested.values())))):
            catalog.policy("native", world, model=model, **requested)
