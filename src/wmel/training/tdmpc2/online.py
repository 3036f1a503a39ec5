"""Online training: batched episodes are played while the learner updates."""

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
from wmel.training.data import TRAINING, gives_reward
from wmel.training.tdmpc2.draws import Draws, TrainingMoment
from wmel.training.tdmpc2.learner import Diverged, Learner, Updates, no_number
from wmel.training.tdmpc2.replay import Replay, prefixed, under
from wmel.training.tdmpc2.resume import Unfinished
from wmel.training.tdmpc2.trainer import TDMPC2Trainer, discount_of

STARTS = 50_000  # episodes begin as the first so many of their seed, again and again; models are measured on others


@dataclass(frozen=True, eq=False)
class Played:
    """Whole episodes in step with each other."""

    observations: np.ndarray  # [E,L+1,O]
    actions: np.ndarray  # [E,L,A] in their own units
    rewards: np.ndarray  # [E,L]

    @property
    def returns(self) -> np.ndarray:
        """[E]"""
        return self.rewards.sum(axis=1)


def played(environment: Environment, networks: TDMPC2WithDecoder, seeds: np.ndarray) -> Played:
    """One episode per seed, to its end."""
    states = environment.reset(seeds)
    seen, acted, earned = [environment.observe(states)], [], []
    middle, reach = (networks.low + networks.high) / 2, (networks.high - networks.low) / 2
    for _ in range(environment.spec.max_steps):
        with torch.no_grad():
            numbers = torch.as_tensor(seen[-1], dtype=torch.float32, device=networks.low.device)
            mean, _ = networks.agent.policy_distribution(networks.agent.encode(numbers))
            actions = (middle + reach * mean.tanh()).cpu().numpy()
        after = environment.step(states, actions)
        earned.append(environment.quantities(states, actions, after)["reward"])
        acted.append(actions)
        seen.append(environment.observe(after))
        states = after
    return Played(*(np.stack(part, axis=1) for part in (seen, acted, earned)))


class OnlineTraining:
    """Environments, replay and learner; `run` goes on until the updates asked for are done."""

    def __init__(
        self, environment: Environment, settings: TDMPC2Trainer, device: torch.device, stops: tuple[int, ...] = ()
    ):
        self.space = rewarded_actions(environment)
        self.environment, self.settings, self.device = environment, settings, device
        self.length, width = environment.spec.max_steps, len(environment.spec.observation)
        self.draws = Draws(settings.seed, device)
        with self.draws.going_on():
            network = TDMPC2(
                width, self.space.width, SIZES[settings.size], settings.activation, settings.latent_norm
            ).to(device)  # fmt: skip
        self.learner = Learner(network, settings, discount_of(self.length), capturable=device.type == "cuda")
        steps = -(-settings.updates // settings.updates_per_step) + -(-settings.seed_steps // settings.envs)
        rounds = -(-(steps + settings.horizon) // self.length) + 1
        size = (rounds, self.length, settings.envs)
        self.replay = Replay.blank(*size, width, self.space.width, settings.horizon, device)
        self.middle = torch.as_tensor((self.space.low + self.space.high) / 2, device=device)
        self.reach = torch.as_tensor((self.space.high - self.space.low) / 2, device=device)
        self.episodes, self.curve = 0, list[TrainingMoment]()
        self._stops = stops  # updates after which something is done with the weights as they are
        self._updates = Updates(self.learner, self.replay)
        self._best: tuple[float, dict[str, torch.Tensor]] | None = None

    @property
    def updates(self) -> int:
        return self._updates.done

    def run(
        self,
        tell: Callable[[TrainingMoment], None] = lambda moment: None,
        reached: Callable[[], None] = lambda: None,
        advance: Callable[[int], None] = lambda updates: None,
    ) -> None:
        """Play rounds of episodes, updating as they go.

        `tell` is called when a round ends, `reached` at each stop, `advance` with the updates just done.
        """
        self._reached, self._advance = reached, advance
        begin = time.perf_counter() - (self.curve[-1].seconds if self.curve else 0.0)
        while self.updates < self.settings.updates:
            try:
                with self.draws.going_on():
                    returns, learned = self._round()
            except BadStep as error:
                raise Diverged(f"the simulation broke by update {self.updates}: {error}") from error
            self._check(self.learner.broken.item() > 0 or not np.isfinite(returns).all())
            mean = float(returns.mean()) if self.replay.step == self.length else None
            if mean is not None and learned:
                self._rate(mean)
            losses = self.learner.named_losses() if self.updates else {}
            seconds = time.perf_counter() - begin
            self.curve.append(TrainingMoment(self.updates, self.transitions, seconds, mean, losses))
            tell(self.curve[-1])

    def unfinished(self, asked: dict[str, Any]) -> Unfinished:
        """Where it stands at the end of a round."""
        best, weights = self._best or (None, {})
        tensors = {
            **prefixed("learner", self.learner.tensors()),
            **prefixed("draws", self.draws.tensors()),
            **prefixed("best", weights),
        }
        rounds = self.replay.round + (self.replay.step == self.length)
        return Unfinished(asked, tensors, self.updates, self.episodes, rounds, best, self.curve)

    def go_on(self, start: Unfinished, round_of: Callable[[int], tuple[np.ndarray, ...]]) -> None:
        """Take up one that stopped, with the rounds of episodes it had played."""
        self.learner.load(under("learner", start.tensors))
        self.draws.load(under("draws", start.tensors))
        if start.best_return is not None:
            weights = {name: value.to(self.device) for name, value in under("best", start.tensors).items()}
            self._best = start.best_return, weights
        for place in range(start.rounds):
            self.replay.put(place, round_of(place))
        self._updates.done, self.episodes, self.curve = start.updates, start.episodes, list(start.curve)

    def best(self) -> tuple[float | None, dict[str, torch.Tensor]]:
        """The weights at the end of the round of episodes that returned most, and what it returned.

        Only rounds with updates from beginning to end are rated; where there was none, the last weights.
        """
        return self._best or (None, self.learner.network.state_dict())

    def _round(self) -> tuple[np.ndarray, bool]:
        """Returns [E] of one episode in every environment, and whether updates were done at every step."""
        first = (TRAINING + self.settings.seed) * EPISODES_PER_SEED
        states = self.environment.reset(first + (self.episodes + np.arange(self.settings.envs)) % STARTS)
        self.episodes += self.settings.envs
        seen = self._tensor(self.environment.observe(states))
        self.replay.begin(seen)
        returns, learned = np.zeros(self.settings.envs), True
        for _ in range(self.length):
            actions = self._actions(seen)
            executed = self._executed(actions)
            learned &= self._learn()
            after = self.environment.step(states, executed)
            rewards = self.environment.quantities(states, executed, after)["reward"]
            states, returns = after, returns + rewards
            seen = self._tensor(self.environment.observe(states))
            self.replay.add(actions, self._tensor(rewards), seen)
            if self.updates >= self.settings.updates:
                break
        return returns, learned

    @torch.no_grad()
    def _actions(self, seen: torch.Tensor) -> torch.Tensor:
        """Uniform while seeding, then drawn from the policy: [E,A] in (-1, 1)"""
        if self.transitions < self.settings.seed_steps:
            return torch.rand(self.settings.envs, self.space.width, device=self.device) * 2 - 1
        network = self.learner.network
        mean, log_deviation = network.policy_distribution(network.encode(seen))
        return (mean + torch.randn_like(mean) * log_deviation.exp()).tanh()

    def _executed(self, actions: torch.Tensor) -> np.ndarray:
        """Actions [E,A] in their own units, on the host; whether a loss broke travels with them, at no further wait."""
        own = self.middle + self.reach * actions
        numbers = torch.cat([own.flatten(), self.learner.broken[None]]).cpu().numpy()
        self._check(numbers[-1] > 0 or not np.isfinite(numbers).all())
        return numbers[:-1].reshape(own.shape)

    def _check(self, broken: bool) -> None:
        if broken:
            raise no_number(self.updates, self.learner.named_losses())

    def _learn(self) -> bool:
        """The updates of one step, or none while there is too little to learn from."""
        settings, replay = self.settings, self.replay
        if self.transitions < settings.seed_steps or (replay.round == 0 and replay.step < settings.horizon):
            return False
        before, wanted = self.updates, min(self.updates + settings.updates_per_step, settings.updates)
        for stop in self._stops:
            if self.updates < stop <= wanted:
                self._updates.until(stop, at_most=stop)
                self._reached()
        self._updates.until(wanted, at_most=min([stop for stop in self._stops if stop > wanted] or [settings.updates]))
        self._advance(self.updates - before)
        return True

    def _rate(self, mean_return: float) -> None:
        if math.isfinite(mean_return) and (self._best is None or mean_return >= self._best[0]):
            weights = {name: value.clone() for name, value in self.learner.network.state_dict().items()}
            self._best = mean_return, weights

    @property
    def transitions(self) -> int:
        """So far."""
        return (self.replay.round * self.length + self.replay.step) * self.settings.envs

    def _tensor(self, numbers: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(numbers, dtype=torch.float32).to(self.device, non_blocking=True)


def rewarded_actions(environment: Environment) -> Box:
    """The actions of an environment TD-MPC2 can learn in; others are refused."""
    name, space = environment.spec.name, environment.spec.actions
    if not isinstance(space, Box):
        raise BadInput(f"TD-MPC2 acts with numbers; the actions of {name} are levels")
    if not gives_reward(environment):
        raise BadInput(f"{name} gives no reward, which a tdmpc2 learns: train mlp instead")
    return space
