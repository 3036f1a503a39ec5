import numpy as np
import pytest

from wmel import catalog
from wmel.closed_loop.run import episode_seeds
from wmel.diagnostics.states import fresh_observations, given_observations
from wmel.errors import BadInput
from wmel.training.data import TRAINING_SEED_OFFSET

STEPS = 80


@pytest.fixture(scope="module")
def world():
    return catalog.environment("dmc:cartpole-swingup")


@pytest.fixture(scope="module")
def policy(world):
    return catalog.policy("random", world)


@pytest.fixture(scope="module")
def found(world, policy):
    return fresh_observations(world, policy, 26, episodes=8, episode_steps=STEPS)


def test_observations_are_those_of_the_states_behind_them(world, found):
    percept = found.percept
    assert len(found) == len(percept) == 26
    assert percept.observation.shape == (26, 5) and percept.state.shape[0] == 26
    np.testing.assert_array_equal(percept.observation, world.observe(percept.state))
    assert np.isfinite(percept.observation).all() and len(np.unique(percept.observation, axis=0)) == 26
    assert "26 states of 8" in found.source


def test_states_are_spread_over_episodes_and_over_the_time_of_each(found):
    """Each episode has 3 or 4 states, one in each third or quarter of its time."""
    names, counts = np.unique(found.episodes, return_counts=True)
    assert len(names) == 8 and set(counts) == {3, 4}
    for name, count in zip(names, counts, strict=True):
        steps = np.sort(found.steps[found.episodes == name])
        assert ((steps * count) // STEPS).tolist() == list(range(count))
    np.testing.assert_array_equal(found.percept.steps_left, STEPS - found.steps)


def test_a_state_is_what_the_policy_comes_to_and_its_last_action_leads_there(world, policy, found):
    """The states before and at a step, of two runs that differ in how many are kept."""
    every = fresh_observations(world, policy, STEPS, episodes=1, episode_steps=STEPS)
    assert every.steps.tolist() == list(range(STEPS))
    states, last = every.percept.state, every.percept.last_action
    assert (last[0] == 0).all() and (abs(last[1:]) > 0).all()
    np.testing.assert_allclose(world.step(states[:-1], last[1:]), states[1:], atol=1e-9)
    own = found.episodes == every.episodes[0]
    np.testing.assert_array_equal(found.percept.state[own], states[found.steps[own]])


def test_the_same_seed_is_the_same_states_and_another_is_not(world, policy, found):
    again, other = (fresh_observations(world, policy, 26, episodes=8, episode_steps=STEPS, seed=s) for s in (0, 1))
    np.testing.assert_array_equal(again.percept.state, found.percept.state)
    np.testing.assert_array_equal(again.steps, found.steps)
    assert not np.isin(other.episodes, found.episodes).any()
    assert not np.allclose(other.percept.state, found.percept.state)


@pytest.mark.parametrize("seed", [0, 7, 9_999])
def test_episodes_belong_to_no_training_and_no_evaluation(world, policy, seed):
    """Evaluation has the seeds below 10,000, training those 10,000 further on."""
    fresh = fresh_observations(world, policy, 2, episode_steps=2, seed=seed).episodes
    last_of_all = episode_seeds(TRAINING_SEED_OFFSET + 9_999, 100_000)[-1]
    assert (fresh > last_of_all).all()


@pytest.mark.parametrize("seed", [-1, -5_000_000, "x", None])
def test_a_seed_that_would_lead_elsewhere_is_refused(world, policy, seed):
    with pytest.raises(BadInput, match="seed"):
        fresh_observations(world, policy, 2, episode_steps=2, seed=seed)


def test_noise_is_of_the_episode_and_the_step(found):
    np.testing.assert_array_equal(found.streams.episode_seeds, found.episodes)
    np.testing.assert_array_equal(found.streams.counters, found.steps)


def test_few_states_come_from_as_many_episodes_and_many_from_sixteen(world, policy):
    few, many = (fresh_observations(world, policy, count, episode_steps=4) for count in (5, 40))
    assert len(np.unique(few.episodes)) == 5 and len(np.unique(many.episodes)) == 16


@pytest.mark.parametrize(
    ("states", "settings", "words"),
    [
        (0, {}, "states must be.*0"),
        (2.5, {}, "states must be.*2.5"),
        (4, {"episodes": 5}, "4 states.*got 5"),
        (4, {"episodes": 0}, "episodes must be.*0"),
        (4, {"episode_steps": 0}, "positive, got 0"),
    ],
)
def test_counts_that_cannot_be_are_refused(world, policy, states, settings, words):
    with pytest.raises(BadInput, match=words):
        fresh_observations(world, policy, states, **settings)


def test_given_observations_stand_for_themselves():
    found = given_observations([[1, 2], [3, 4]])
    assert found.percept.observation.dtype == np.float64 and found.percept.state is None
    assert found.episodes.tolist() == [0, 1] and found.percept.goal.shape == (2, 0)


@pytest.mark.parametrize("goals", [np.zeros(2), np.zeros((3, 1))])
def test_goals_must_fit(goals):
    with pytest.raises(BadInput, match=r"goals must.*\[B,G\].*2"):
        given_observations(np.zeros((2, 1)), goals)
