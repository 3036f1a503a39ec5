"""Training a TD-MPC2 on stored episodes, with no environment."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wmel.contract.trainer import TrainedModel
from wmel.errors import BadInput
from wmel.machine import limit_threads
from wmel.models.tdmpc2.model import TDMPC2Model, TDMPC2WithDecoder
from wmel.training.checkpoints import current
from wmel.training.stored_episodes import Episodes
from wmel.training.tdmpc2.draws import Draws, TrainingMoment
from wmel.training.tdmpc2.finish import DECODER_EPISODES, card_of_tdmpc2, decoder_of, networks_for, with_weights
from wmel.training.tdmpc2.learner import Diverged, Learner, Updates, no_number
from wmel.training.tdmpc2.replay import Replay, enough_memory, prefixed, under
from wmel.training.tdmpc2.resume import Keeper, Unfinished
from wmel.training.tdmpc2.trainer import PLAYING, TDMPC2Trainer, discount_of

UPDATES_AT_A_TIME, UPDATES_BETWEEN_LOOKS = 50, 500


class OfflineTraining:
    """Stored episodes and a learner; `run` goes on until the updates asked for are done."""

    def __init__(self, episodes: Episodes, settings: TDMPC2Trainer, device: torch.device):
        if len(episodes.rewards) < 2:
            raise BadInput("one stored episode is too little: a decoder is fitted to some and measured on others")
        self.episodes, self.settings, self.device = episodes, settings, device
        self.length = episodes.rewards.shape[1]
        self.draws = Draws(settings.seed, device)
        with self.draws.going_on():
            network = self._blank().agent.to(device)
        self.learner = Learner(network, settings, discount_of(self.length), capturable=device.type == "cuda")
        arrays = episodes.observations, episodes.actions, episodes.rewards
        self.updates = Updates(self.learner, Replay.of(*arrays, settings.horizon, device))
        self.curve: list[TrainingMoment] = []
        self.sound = 0, self._weights()  # updates, and the weights after them

    def run(
        self,
        tell: Callable[[TrainingMoment], None] = lambda moment: None,
        stops: tuple[int, ...] = (),
        reached: Callable[[], None] = lambda: None,
        advance: Callable[[int], None] = lambda updates: None,
    ) -> None:
        """Update; `tell` is called now and then, `advance` with the updates just done, `reached` at each stop."""
        begin, last = time.perf_counter() - (self.curve[-1].seconds if self.curve else 0.0), self.settings.updates
        while self.updates.done < last:
            before = self.updates.done
            pause = before - before % UPDATES_AT_A_TIME + UPDATES_AT_A_TIME
            wanted = min(last, pause, *(stop for stop in stops if stop > before))
            with self.draws.going_on():
                self.updates.until(wanted, at_most=wanted)
            advance(wanted - before)
            losses = self.learner.named_losses()
            if self.learner.broken.item() > 0:
                raise no_number(wanted, losses)
            self.sound = wanted, self._weights()
            moment = TrainingMoment(wanted, self.episodes.rewards.size, time.perf_counter() - begin, None, losses)
            if wanted in stops:
                reached()
            if wanted % UPDATES_BETWEEN_LOOKS == 0 or wanted == last:
                self.curve.append(moment)
                tell(moment)

    def made(self, diverged: str | None = None) -> TrainedModel:
        """The last sound weights with a decoder of stored episodes, and their card."""
        updates, weights = self.sound
        networks = with_weights(self._blank, weights, self.settings, self.device)
        order = np.random.default_rng(self.settings.seed).permutation(len(self.episodes.rewards))
        seen, acted = self.episodes.observations, self.episodes.own_actions
        half = min(DECODER_EPISODES, len(order) // 2)
        some, others = order[:half], order[half : 2 * half]
        errors = decoder_of(networks, (seen[some], acted[some]), (seen[others], acted[others]), self.settings)
        card = card_of_tdmpc2(
            self.episodes.described,
            self.settings,
            self.device,
            data={
                "transitions": self.episodes.rewards.size,
                "episodes": len(self.episodes.rewards),
                "sha256": self.episodes.sha256,
            },
            errors=errors,
            kept={"weights": f"of update {updates}", "return": None},
            returns=None,
            updates=updates,
            steps=self.length,
            curve=self.curve,
            diverged=diverged,
            without=PLAYING,
        )
        return TrainedModel(TDMPC2Model(networks.requires_grad_(False).eval()), card)

    def unfinished(self, asked: dict[str, Any]) -> Unfinished:
        """Where it stands."""
        tensors = {**prefixed("learner", self.learner.tensors()), **prefixed("draws", self.draws.tensors())}
        return Unfinished(asked, tensors, self.updates.done, 0, 0, None, self.curve)

    def go_on(self, start: Unfinished) -> None:
        """Take up one that stopped."""
        self.learner.load(under("learner", start.tensors))
        self.draws.load(under("draws", start.tensors))
        self.updates.done, self.curve = start.updates, list(start.curve)
        self.sound = start.updates, self._weights()

    def _weights(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.learner.network.state_dict().items()}

    def _blank(self) -> TDMPC2WithDecoder:
        low, high = self.episodes.bounds
        return networks_for(self.episodes.observations.shape[-1], low, high, self.length, self.settings)


def train_tdmpc2_offline(
    episodes: Episodes,
    settings: TDMPC2Trainer,
    device: torch.device,
    tell: Callable[[TrainingMoment], None] = lambda moment: None,
    keeper: Keeper | None = None,
    advance: Callable[[int], None] = lambda updates: None,
) -> TrainedModel:
    """Learn from stored episodes; the last weights are kept. Diverged where a loss is no number."""
    with limit_threads(settings.threads), current(device), enough_memory(settings, playing=False):
        training = OfflineTraining(episodes, settings, device)
        try:
            if keeper is None:
                training.run(tell, advance=advance)
            else:
                _run_kept(training, keeper, tell, advance)
        except Diverged as error:
            raise Diverged(str(error), training.made(str(error))) from error
        return training.made()


def _run_kept(
    training: OfflineTraining, keeper: Keeper, tell: Callable[[TrainingMoment], None], advance: Callable[[int], None]
) -> None:
    asked: dict[str, Any] = {"data": training.episodes.sha256, **training.settings.learning}
    asked["checkpoints"] = keeper.checkpoints
    keeper.take_up(asked, training.go_on)

    def told(moment: TrainingMoment) -> None:
        keeper.note(lambda: training.unfinished(asked))
        tell(moment)

    stops = keeper.stops(training.settings.updates)
    training.run(told, stops, lambda: keeper.checkpoint(training.updates.done, training.made()), advance)
