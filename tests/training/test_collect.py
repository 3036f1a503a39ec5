import numpy as np
import pytest

from wmel import catalog
from wmel.errors import BadInput
from wmel.policies.direct import exploration
from wmel.training.data import Transitions, collect, list_transitions, network_input


def test_as_many_transitions_as_asked_for_each_a_step_of_the_environment():
    world = catalog.environment("dmc_reacher")
    found = collect(world, catalog.policy("random", world), 350, episode_steps=60, seed=3)
    data = found.training
    assert len(data) == 350 and found.episodes >= 6
    states = world.recover(data.observations)
    np.testing.assert_allclose(world.observe(world.step(states, data.actions)), data.next_observations, atol=1e-5)


def test_training_and_held_out_episodes_are_nobodys_evaluation():
    world = catalog.environment("dmc_cartpole")
    found = collect(world, catalog.policy("random", world), 100, episode_steps=20, seed=1)
    seeds = found.held_out["episode_seed"]
    assert (seeds >= (10_000 + 1) * 100_000 + found.episodes).all()  # the published formula, after those fitted
    assert len(seeds) == 1


def test_the_hash_is_of_the_numbers():
    world = catalog.environment("dmc_cartpole")
    one, same, other = (
        collect(world, catalog.policy("random", world), 40, episode_steps=20, seed=seed).training for seed in (0, 0, 1)
    )
    assert one.sha256 == same.sha256 != other.sha256


def test_a_grid_is_listed_whole():
    found = list_transitions(catalog.environment("maze_toy"))
    assert len(found.training) == 64
    assert len(np.unique(np.concatenate([found.training.observations, found.training.actions], axis=1), axis=0)) == 64
    with pytest.raises(BadInput, match="cannot be listed"):
        list_transitions(catalog.environment("dmc_acrobot"))


def test_actions_enter_a_network_as_one_hot_where_they_are_finite():
    reacher, box = catalog.environment("dmc_reacher").spec.actions, catalog.environment("dmc:reacher-easy").spec.actions
    assert np.array_equal(network_input(reacher, reacher.values), np.eye(9))
    assert np.array_equal(network_input(catalog.environment("maze_toy").spec.actions, np.array([[3]])), [[0, 0, 0, 1]])
    assert np.array_equal(network_input(box, np.array([[0.5, -1.0]])), [[0.5, -1.0]])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [((np.zeros((0, 2)), np.zeros((0, 1)), np.zeros((0, 2)), np.zeros(0)), "at least one row"),
     ((np.full((1, 2), np.nan), np.zeros((1, 1)), np.zeros((1, 2)), np.zeros(1)), "NaN or infinity")],
)  # fmt: skip
def test_data_that_cannot_be_fitted_are_refused(arrays, words):
    with pytest.raises(BadInput, match=words):
        Transitions(*arrays)


def test_a_mixture_shares_out_episodes_and_epsilon_replaces_actions():
    world = catalog.environment("two_room_toy")
    from wmel.closed_loop.run import run_episodes
    from wmel.closed_loop.trajectories import Trajectories

    def actions_of(text, epsilon=0.0):
        record = Trajectories()
        table = run_episodes(
            world, exploration(world, text, epsilon), np.arange(400), max_steps=5, timed_decisions=0, record=record
        )
        return record.arrays(world, table)["actions"][:, :, 0]

    greedy, random = actions_of("greedy"), actions_of("random")
    mixed = actions_of("3*greedy+random")
    as_greedy = (mixed == greedy).all(axis=1)
    assert 0.68 < as_greedy.mean() < 0.82  # 3 in 4, within 3 standard errors
    assert np.array_equal(mixed[~as_greedy], random[~as_greedy])
    assert 0.6 < (actions_of("greedy", 0.4) == greedy).mean() < 0.8  # .6 and a quarter of .4


@pytest.mark.parametrize(
    ("text", "words"), [("randm", "no policy named"), ("x*random", "not a mixture"), ("0*random", "must be positive")]
)
def test_mixtures_that_cannot_be_are_refused(text, words):
    with pytest.raises(BadInput, match=words):
        exploration(catalog.environment("maze_toy"), text)


def test_what_a_policy_remembers_in_acting_survives_a_mixture():
    """A policy that counts its own decisions, alone and as all of a mixture."""
    from dataclasses import dataclass
    from typing import ClassVar

    from wmel.closed_loop.run import run_episodes
    from wmel.contract.policy import Decision
    from wmel.policies.direct import Mixture

    world, counted = catalog.environment("maze_toy"), []

    @dataclass
    class Counting:
        name: str = "counting"
        reads: str = "observation"
        compute_per_plan_call: int | None = None
        settings: ClassVar = {}

        def observe(self, percept, memory):
            return memory or {"acts": np.zeros(len(percept), int)}

        def act(self, percept, memory, streams):
            counted.append(int(memory["acts"].max()))
            still = np.zeros((len(percept), 1, 1), np.int32)
            acts = {"acts": memory["acts"] + 1}
            return Decision(still, np.ones(len(percept), int), acts, np.zeros(len(percept), int))

    mixture = Mixture("one", world.spec.actions, [Counting()], [1.0], epsilon=0.0)
    run_episodes(world, mixture, [0, 1], max_steps=6, timed_decisions=0)
    assert counted == [0, 1, 2, 3, 4, 5]
