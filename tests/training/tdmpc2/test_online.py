import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.testing.wrapped import Wrapped
from wmel import catalog
from wmel.closed_loop.run import EPISODES_PER_SEED
from wmel.contract.environment import Box
from wmel.errors import BadInput, BadStep
from wmel.training.tdmpc2.learner import DivergenceError
from wmel.training.tdmpc2.online import TRAINING_STARTS, OnlineTraining
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

LENGTH, ENVS = 12, 4
SHORT = TDMPC2Trainer(updates=20, envs=ENVS, updates_per_step=2, seed_steps=30, batch=8)
CPU = torch.device("cpu")


def swingup(length: int = LENGTH):
    return catalog.environment("dmc:cartpole-swingup", max_steps=length)


def trained(world=None, settings=SHORT):
    """A training that is over, and what it told."""
    training, points = OnlineTraining(world or swingup(), settings, CPU), []
    training.run(points.append)
    return training, points


def weights(training: OnlineTraining) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in training.learner.network.parameters()])


@pytest.mark.parametrize(
    "change",
    [{}, {"updates": 1}, {"updates": 7, "updates_per_step": 3}, {"seed_steps": 1}, {"seed_steps": 100}, {"envs": 1},
     {"seed_steps": 48}, {"horizon": LENGTH, "updates": 4}, {"updates_per_step": 50}],
    ids=str,
)  # fmt: skip
def test_updates_and_transitions_are_counted(change):
    """Seeding takes its steps, at least a horizon; then every step of all environments brings its updates."""
    settings = replace(SHORT, **change)
    training, points = trained(settings=settings)
    waiting = max(math.ceil(settings.seed_steps / settings.envs), settings.horizon)
    steps = waiting + math.ceil(settings.updates / settings.updates_per_step)
    rounds = math.ceil(steps / LENGTH)
    assert [point.transitions for point in points] == [
        settings.envs * min(LENGTH * (round + 1), steps) for round in range(rounds)
    ]
    assert training.updates == points[-1].updates == settings.updates
    before = [max(0, LENGTH * (round + 1) - waiting) * settings.updates_per_step for round in range(rounds)]
    assert [point.updates for point in points] == [min(count, settings.updates) for count in before]
    done = [point.mean_return is not None for point in points]
    assert all(done[:-1]) and done[-1] is (steps % LENGTH == 0)
    assert all(math.isfinite(loss) for point in points for loss in point.losses.values())
    assert set(points[-1].losses) == {"consistency", "reward", "value", "policy", "total"}
    assert points[-1].losses["total"] > 0 and float(training.learner.non_finite_updates) == 0


def test_what_is_stored_is_what_the_environment_did():
    """EpisodeBatch again from the seeds of training episodes, ten thousand seeds away from those of a study."""
    settings = replace(SHORT, seed=3)
    training, points = trained(settings=settings)
    world, replay = training.environment, training.replay
    for round in range(replay.round):
        seeds = 10_003 * EPISODES_PER_SEED + round * ENVS + np.arange(ENVS)
        states, returns = world.reset(seeds), np.zeros(ENVS)
        np.testing.assert_allclose(replay.observations[round, 0], world.observe(states), rtol=1e-6, atol=1e-6)
        for step in range(LENGTH):
            acted = replay.actions[round, step].numpy()
            assert (np.abs(acted) <= 1).all()
            after = world.step(states, acted)
            rewards = world.quantities(states, acted, after)["reward"]
            states, returns = after, returns + rewards
            np.testing.assert_allclose(replay.rewards[round, step], rewards, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(replay.observations[round, step + 1], world.observe(after), rtol=1e-5, atol=1e-6)
        assert points[round].mean_return == pytest.approx(returns.mean(), rel=1e-6)


def test_seeding_acts_uniformly():
    training, _ = trained(settings=replace(SHORT, updates=1, envs=64, seed_steps=64 * LENGTH))
    acted = training.replay.actions[0].flatten().numpy()
    assert acted.min() < -0.98 and acted.max() > 0.98
    assert abs(acted.mean()) < 5 * math.sqrt(1 / 3 / len(acted)) and acted.var() == pytest.approx(1 / 3, rel=0.15)


class Wider(Wrapped):
    """Actions from 0 to 10, which act as those from -1 to 1 did."""

    @property
    def spec(self):
        return replace(self.world.spec, actions=Box(np.array([0.0]), np.array([10.0])))

    def step(self, states, actions):
        assert actions.min() >= 0 and actions.max() <= 10
        return self.world.step(states, actions / 5 - 1)


def test_actions_are_executed_in_their_own_units():
    plain, wide = trained()[0], trained(Wider(swingup()))[0]
    torch.testing.assert_close(wide.replay.observations[0], plain.replay.observations[0], rtol=1e-3, atol=1e-4)
    assert wide.replay.actions.abs().max() <= 1


@pytest.mark.parametrize(
    "cell", [{}, {"activation": "relu", "latent_norm": "layernorm"}, {"latent_norm": "none"}], ids=str
)
def test_the_same_seed_gives_the_same_bits_and_another_does_not(cell):
    one, same, other = (trained(settings=replace(SHORT, seed=seed, updates=6, **cell))[0] for seed in (0, 0, 1))
    assert torch.equal(weights(one), weights(same)) and torch.equal(one.replay.actions, same.replay.actions)
    assert not torch.equal(weights(one), weights(other))


def test_a_training_does_not_depend_on_what_else_is_made():
    alone, _ = trained(settings=replace(SHORT, updates=4))
    first, second = (OnlineTraining(swingup(), replace(SHORT, updates=4), CPU) for _ in range(2))
    first.run()
    second.run()
    assert torch.equal(weights(first), weights(alone)) and torch.equal(weights(second), weights(alone))


@pytest.mark.parametrize("world", ["dmc_cartpole", "maze_toy"])
def test_levels_are_refused(world):
    with pytest.raises(BadInput, match=world):
        OnlineTraining(catalog.environment(world), SHORT, CPU)


def test_episodes_shorter_than_the_horizon_are_refused():
    with pytest.raises(BadInput, match="shorter than the training horizon 3"):
        OnlineTraining(swingup(2), SHORT, CPU)


class Unrewarded(Wrapped):
    """What an environment says of a step, but no reward."""

    def quantities(self, states, actions, next_states):
        made = self.world.quantities(states, actions, next_states)
        return {name: numbers for name, numbers in made.items() if name != "reward"}


def test_a_world_without_reward_is_refused():
    with pytest.raises(BadInput, match="reward"):
        trained(Unrewarded(swingup()))


class Broken(Wrapped):
    """A reward that is no number."""

    def quantities(self, states, actions, next_states):
        made = self.world.quantities(states, actions, next_states)
        return {**made, "reward": made["reward"] * np.nan}


def test_a_loss_that_is_no_number_ends_the_training():
    with pytest.raises(BadInput, match="became NaN or infinite"):
        trained(Broken(swingup()))


def test_running_on_when_all_is_done_does_nothing():
    training, _ = trained()
    before = weights(training)
    training.run()
    assert torch.equal(weights(training), before)


class Indifferent(Wrapped):
    """The same reward whatever is done, as where a sparse one is never met."""

    def quantities(self, states, actions, next_states):
        return {"reward": np.zeros(len(states))}


def test_the_best_weights_are_none_that_never_learned():
    settings = replace(SHORT, seed_steps=ENVS * LENGTH, updates=2 * LENGTH)
    world = Indifferent(swingup())
    untrained = OnlineTraining(world, settings, CPU).learner.network.state_dict()
    _, best = trained(world, settings)[0].best()
    assert not all(torch.equal(best[name], value) for name, value in untrained.items())


@pytest.mark.slow
def test_it_soon_knows_more_than_nothing():
    """Who knows nothing is surprised by log(101); counted as the loss counts, a tenth of that is soon reached."""
    settings = TDMPC2Trainer(updates=200, envs=8, updates_per_step=2, seed_steps=400, batch=64)
    _, points = trained(swingup(100), settings)
    nothing = math.log(101) * (1 + 0.5 + 0.25) / 3
    last = points[-1].losses
    assert last["reward"] < 0.1 * nothing and last["value"] < 0.5 * nothing
    assert all(math.isfinite(loss) for loss in last.values())


class Failing(Wrapped):
    """A simulation that diverges at some step."""

    def __init__(self, world, steps: int):
        super().__init__(world)
        self.left = steps

    def step(self, states, actions):
        self.left -= 1
        if self.left < 0:
            raise BadStep("the simulation diverged")
        return self.world.step(states, actions)


def test_a_simulation_that_breaks_ends_the_training_with_the_best_weights():
    """One step asks for the reward, a round seeds, one is rated; then it breaks."""
    settings = replace(SHORT, updates=1000, seed_steps=ENVS * LENGTH, decoder_steps=2)
    training = OnlineTraining(Failing(swingup(), 1 + 2 * LENGTH + 3), settings, CPU)
    with pytest.raises(DivergenceError, match=r"\d+: the simulation diverged"):
        training.run()
    assert training.best()[0] is not None


def test_before_the_first_update_there_are_no_losses():
    _, points = trained(settings=replace(SHORT, seed_steps=ENVS * LENGTH))
    assert points[0].updates == 0 and points[0].losses == {} and points[-1].losses


def test_episodes_begin_anew_before_they_meet_those_a_model_is_measured_on():
    training = OnlineTraining(swingup(), SHORT, CPU)
    training.episodes = TRAINING_STARTS - ENVS // 2
    training.run()
    first = OnlineTraining(swingup(), SHORT, CPU)
    first.run()
    assert torch.equal(training.replay.observations[0, 0, ENVS // 2], first.replay.observations[0, 0, 0])
