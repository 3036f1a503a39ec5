import numpy as np
import pytest

from wmel import catalog
from wmel.closed_loop.run import run_episodes
from wmel.closed_loop.trajectories import Trajectories, write_trajectories
from wmel.errors import BadInput, CannotWrite


def recorded(name="dmc_cartpole", episodes=5, **settings):
    world, steps = catalog.environment(name), Trajectories()
    table = run_episodes(
        world, catalog.policy("random", world), np.arange(episodes), record=steps, timed_decisions=0, **settings
    )
    return world, table, steps.arrays(world, table)


def test_every_step_leads_from_what_it_met_to_what_it_made():
    world, table, arrays = recorded(max_steps=9, stop="horizon", block=2)
    states, after = (arrays[name].reshape(45, -1) for name in ("states", "next_states"))
    actions = arrays["actions"].reshape(45, -1)
    assert np.array_equal(world.step(states, actions), after)
    assert np.array_equal(world.observe(states), arrays["observations"].reshape(45, -1))
    assert np.array_equal(world.quantities(states, actions, after)["reward"], arrays["rewards"].reshape(45))
    assert np.array_equal(np.stack(table["rewards"]), arrays["rewards"])
    np.testing.assert_allclose(table["return"], arrays["rewards"].sum(axis=1))


def test_episodes_of_different_length_are_filled_up_with_nothing():
    _, table, arrays = recorded("dmc_reacher", episodes=30, max_steps=60, block=7)
    assert len(np.unique(table["steps"])) > 2
    assert np.array_equal(arrays["steps"], table["steps"])
    for row, steps in enumerate(table["steps"]):
        assert np.isfinite(arrays["observations"][row, :steps]).all()
        assert np.isnan(arrays["observations"][row, steps:]).all()
        assert np.array_equal(arrays["rewards"][row, :steps], table["rewards"][row])


def test_a_world_without_rewards_is_recorded_without():
    _, table, arrays = recorded("maze_toy", max_steps=6)
    assert "rewards" not in arrays and list(table["rewards"]) == [None] * 5
    assert arrays["observations"].shape == (5, 6, 2)


def test_files_are_written_whole_or_not_at_all(tmp_path):
    _, _, arrays = recorded(max_steps=3)
    write_trajectories(tmp_path / "new" / "steps.npz", arrays)
    stored = np.load(tmp_path / "new" / "steps.npz")
    assert all(np.array_equal(stored[name], arrays[name], equal_nan=True) for name in arrays)
    with pytest.raises(CannotWrite, match="cannot write"):
        write_trajectories(tmp_path / "new" / "steps.npz" / "steps.npz", arrays)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["steps.npz"]


def test_nothing_to_record_is_said():
    world = catalog.environment("maze_toy")
    with pytest.raises(BadInput, match="no trajectory"):
        Trajectories().arrays(world, run_episodes(world, catalog.policy("random", world), [0], timed_decisions=0))
