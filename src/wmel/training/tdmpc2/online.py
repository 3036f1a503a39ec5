"""Online training: the learner updates while the policy acts in a batch of environments."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from wmel.closed_loop.run import EPISODES_PER_SEED
from wmel.contract.environment import Box, Environment
from wmel.errors import BadInput, BadStep
from wmel.models.tdmpc2.model import TDMPC2WithDecoder
from wmel.models.tdmpc2.network import SIZES, TDMPC2
from wmel.training.data import TRAINING_SEED_OFFSET, has_reward
from wmel.training.tdmpc2.learner import DivergenceError, Learner, TorchRng, UpdateLoop, divergence_error
from wmel.training.tdmpc2.replay import Replay, add_prefix, select_prefix
from wmel.training.tdmpc2.resume import TrainingSnapshot
from wmel.training.tdmpc2.trainer import CurvePoint, TDMPC2Trainer, discount_of

TRAINING_STARTS = 50_000  # training uses the first start states of its seed in turn; models are measured on later ones


@dataclass(frozen=True, eq=False)
class EpisodeBatch:
    """Complete episodes of equal length."""

    observations: np.ndarray  # [E,L+1,O]
    actions: np.ndarray  # [E,L,A] in the units of the environment
    rewards: np.ndarray  # [E,L]

    @property
    def returns(self) -> np.ndarray:
        """[E]"""
        return self.rewards.sum(axis=1)


def play_episodes(environment: Environment, networks: TDMPC2WithDecoder, seeds: np.ndarray) -> EpisodeBatch:
    """Runs one complete episode for each seed, with the mean actions of the policy."""
    states = environment.reset(seeds)
    observations, actions, rewards = [environment.observe(states)], [], []
    centre, half_range = (networks.low + networks.high) / 2, (networks.high - networks.low) / 2
    for _ in range(environment.spec.max_steps):
        with torch.no_grad():
            inputs = torch.as_tensor(observations[-1], dtype=torch.float32, device=networks.low.device)
            mean, _ = networks.agent.policy_distribution(networks.agent.encode(inputs))
            actions.append((centre + half_range * mean.tanh()).cpu().numpy())
        after = environment.step(states, actions[-1])
        rewards.append(environment.quantities(states, actions[-1], after)["reward"])
        observations.append(environment.observe(after))
        states = after
    return EpisodeBatch(*(np.stack(part, axis=1) for part in (observations, actions, rewards)))


class OnlineTraining:
    """Environments, a replay buffer and a learner. `run` trains until the number of updates is reached.

    `checkpoint_updates` are updates after which `run` calls `on_checkpoint`.
    """

    def __init__(
        self,
        environment: Environment,
        settings: TDMPC2Trainer,
        device: torch.device,
        checkpoint_updates: tuple[int, ...] = (),
    ):
        self.space = require_action_box(environment)
        self.environment, self.settings, self.device = environment, settings, device
        self.length, width = environment.spec.max_steps, len(environment.spec.observation)
        self.rng = TorchRng(settings.seed, device)
        with self.rng.active():
            network = TDMPC2(
                width, self.space.width, SIZES[settings.size], settings.activation, settings.latent_norm
            ).to(device)  # fmt: skip
        self.learner = Learner(network, settings, discount_of(self.length), capturable=device.type == "cuda")
        steps = -(-settings.updates // settings.updates_per_step) + -(-settings.seed_steps // settings.envs)
        rounds = -(-(steps + settings.horizon) // self.length) + 1
        size = (rounds, self.length, settings.envs)
        self.replay = Replay.blank(*size, width, self.space.width, settings.horizon, device)
        self.centre = torch.as_tensor((self.space.low + self.space.high) / 2, device=device)
        self.half_range = torch.as_tensor((self.space.high - self.space.low) / 2, device=device)
        self.episodes, self.curve = 0, list[CurvePoint]()
        self._checkpoint_updates = checkpoint_updates
        self._updates = UpdateLoop(self.learner, self.replay)
        self._best: tuple[float, dict[str, torch.Tensor]] | None = None

    @property
    def updates(self) -> int:
        return self._updates.done

    def run(
        self,
        report: Callable[[CurvePoint], None] = lambda point: None,
        on_checkpoint: Callable[[], None] = lambda: None,
        advance: Callable[[int], None] = lambda updates: None,
    ) -> None:
        """Runs rounds of episodes with updates at every step.

        `report` is called after each round, `on_checkpoint` after each of `checkpoint_updates`, and `advance` with the
        number of updates just done.
        """
        self._on_checkpoint, self._advance = on_checkpoint, advance
        begin = time.perf_counter() - (self.curve[-1].seconds if self.curve else 0.0)
        while self.updates < self.settings.updates:
            try:
                with self.rng.active():
                    returns, updated = self._run_round()
            except BadStep as error:
                raise DivergenceError(f"the simulation failed by update {self.updates}: {error}") from error
            self._raise_if(self.learner.non_finite_updates.item() > 0 or not np.isfinite(returns).all())
            mean = float(returns.mean()) if self.replay.step == self.length else None
            if mean is not None and updated:
                self._update_best(mean)
            losses = self.learner.named_losses() if self.updates else {}
            seconds = time.perf_counter() - begin
            self.curve.append(CurvePoint(self.updates, self.transitions, seconds, mean, losses))
            report(self.curve[-1])

    def snapshot(self, request: dict[str, Any]) -> TrainingSnapshot:
        """The state of the training after a round."""
        best, weights = self._best or (None, {})
        tensors = {
            **add_prefix("learner", self.learner.tensors()),
            **add_prefix("draws", self.rng.tensors()),
            **add_prefix("best", weights),
        }
        rounds = self.replay.round + (self.replay.step == self.length)
        return TrainingSnapshot(request, tensors, self.updates, self.episodes, rounds, best, self.curve)

    def restore(self, snapshot: TrainingSnapshot, read_round: Callable[[int], tuple[np.ndarray, ...]]) -> None:
        """Restores the state from a snapshot and from the stored rounds of episodes."""
        tensors = snapshot.tensors
        self.learner.load(select_prefix("learner", tensors))
        self.rng.load(select_prefix("draws", tensors))
        if snapshot.best_return is not None:
            weights = {name: value.to(self.device) for name, value in select_prefix("best", tensors).items()}
            self._best = snapshot.best_return, weights
        for place in range(snapshot.rounds):
            self.replay.load_round(place, read_round(place))
        self._updates.done, self.episodes, self.curve = snapshot.updates, snapshot.episodes, list(snapshot.curve)

    def best(self) -> tuple[float | None, dict[str, torch.Tensor]]:
        """The highest mean return of a round of episodes, and the weights after this round.

        Only rounds with updates at every step count. Without such a round, returns None and the last weights.
        """
        return self._best or (None, self.learner.network.state_dict())

    def _run_round(self) -> tuple[np.ndarray, bool]:
        """The returns [E] of one episode in every environment, and whether there were updates at every step."""
        first = (TRAINING_SEED_OFFSET + self.settings.seed) * EPISODES_PER_SEED
        states = self.environment.reset(first + (self.episodes + np.arange(self.settings.envs)) % TRAINING_STARTS)
        self.episodes += self.settings.envs
        observations = self._tensor(self.environment.observe(states))
        self.replay.begin_round(observations)
        returns, updated = np.zeros(self.settings.envs), True
        for _ in range(self.length):
            actions = self._sample_actions(observations)
            executed = self._unscale_on_host(actions)
            updated &= self._update()
            after = self.environment.step(states, executed)
            rewards = self.environment.quantities(states, executed, after)["reward"]
            states, returns = after, returns + rewards
            observations = self._tensor(self.environment.observe(states))
            self.replay.add_step(actions, self._tensor(rewards), observations)
            if self.updates >= self.settings.updates:
                break
        return returns, updated

    @torch.no_grad()
    def _sample_actions(self, observations: torch.Tensor) -> torch.Tensor:
        """Actions [E,A] in (-1, 1): uniform during the first `seed_steps` transitions, then of the policy."""
        if self.transitions < self.settings.seed_steps:
            return torch.rand(self.settings.envs, self.space.width, device=self.device) * 2 - 1
        network = self.learner.network
        mean, log_deviation = network.policy_distribution(network.encode(observations))
        return (mean + torch.randn_like(mean) * log_deviation.exp()).tanh()

    def _unscale_on_host(self, actions: torch.Tensor) -> np.ndarray:
        """Actions [E,A] in the units of the environment. The same transfer checks for losses that are not finite."""
        unscaled = self.centre + self.half_range * actions
        numbers = torch.cat([unscaled.flatten(), self.learner.non_finite_updates[None]]).cpu().numpy()
        self._raise_if(numbers[-1] > 0 or not np.isfinite(numbers).all())
        return numbers[:-1].reshape(unscaled.shape)

    def _raise_if(self, diverged: bool) -> None:
        if diverged:
            raise divergence_error(self.updates, self.learner.named_losses())

    def _update(self) -> bool:
        """Runs the updates of one step. Returns False if the replay buffer does not have enough data yet."""
        settings, replay = self.settings, self.replay
        if self.transitions < settings.seed_steps or (replay.round == 0 and replay.step < settings.horizon):
            return False
        before, after = self.updates, min(self.updates + settings.updates_per_step, settings.updates)
        for checkpoint in self._checkpoint_updates:
            if self.updates < checkpoint <= after:
                self._updates.run_until(checkpoint, at_most=checkpoint)
                self._on_checkpoint()
        next_checkpoint = min([one for one in self._checkpoint_updates if one > after] or [settings.updates])
        self._updates.run_until(after, at_most=next_checkpoint)
        self._advance(self.updates - before)
        return True

    def _update_best(self, mean_return: float) -> None:
        if math.isfinite(mean_return) and (self._best is None or mean_return >= self._best[0]):
            weights = {name: value.clone() for name, value in self.learner.network.state_dict().items()}
            self._best = mean_return, weights

    @property
    def transitions(self) -> int:
        """The number of transitions so far."""
        return (self.replay.round * self.length + self.replay.step) * self.settings.envs

    def _tensor(self, numbers: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(numbers, dtype=torch.float32).to(self.device, non_blocking=True)


def require_action_box(environment: Environment) -> Box:
    """The action space of an environment. Raises BadInput if its actions are finite or it has no reward."""
    name, space = environment.spec.name, environment.spec.actions
    if not isinstance(space, Box):
        raise BadInput(f"tdmpc2 requires continuous actions; those of {name} are finite")
    if not has_reward(environment):
        raise BadInput(f"tdmpc2 learns a reward, and {name} has none: train mlp instead")
    return space
