"""Training TD-MPC2 from start to finish: online in an environment, or offline from stored episodes."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wmel.closed_loop.run import episode_seeds
from wmel.contract.environment import Box, Environment, Finite
from wmel.contract.trainer import TrainedModel
from wmel.errors import BadInput
from wmel.machine import limit_threads
from wmel.models.tdmpc2.model import TDMPC2Model, TDMPC2WithDecoder
from wmel.training.checkpoints import check_action_repeat, describe_environment, use_device
from wmel.training.data import TRAINING_SEED_OFFSET
from wmel.training.stored_episodes import Episodes
from wmel.training.tdmpc2.learner import Learner, TorchRng, UpdateLoop, divergence_error
from wmel.training.tdmpc2.online import TRAINING_STARTS, OnlineTraining, play_episodes
from wmel.training.tdmpc2.replay import Replay, add_prefix, explain_out_of_memory, select_prefix
from wmel.training.tdmpc2.resume import (
    DECODER_EPISODES,
    TrainingHooks,
    TrainingSnapshot,
    TrainingState,
    build_networks,
    build_tdmpc2_card,
    complete_training,
    fit_and_measure_decoder,
    restore_networks,
)
from wmel.training.tdmpc2.trainer import ONLINE_SETTINGS, CurvePoint, TDMPC2Trainer, discount_of

MEASURED_EPISODES = 64
BEST, LAST = "of the round of episodes that returned most", "the last: no round had updates from beginning to end"


def train_tdmpc2(
    environment: Environment,
    settings: TDMPC2Trainer,
    device: torch.device,
    hooks: TrainingHooks | None = None,
) -> TrainedModel:
    """Trains online, fits the decoder to episodes of the policy, and measures return and errors on other episodes.

    A point of the training curve is reported after each round. With `hooks.state`, an unfinished training is resumed.
    Raises DivergenceError for a loss that is not finite. The error contains the best model before, if there is one.
    """
    hooks = hooks or TrainingHooks()
    with limit_threads(settings.threads), use_device(device), explain_out_of_memory(settings):
        checkpoint_updates = () if hooks.state is None else hooks.state.checkpoint_updates(settings.updates)
        training = OnlineTraining(environment, settings, device, checkpoint_updates)
        return complete_training(training, hooks, _run_stored_online, lambda diverged: _best_model(training, diverged))


def _run_stored_online(training: OnlineTraining, state: TrainingState, hooks: TrainingHooks) -> None:
    """Resumes or begins a training, and stores its episodes, snapshots and checkpoints."""
    described = _describe(training.environment)
    request = {**described, **training.settings.learning_settings, "checkpoints": state.checkpoints}
    if not state.resume(request, lambda snapshot: training.restore(snapshot, state.episodes.round)):
        state.episodes.begin(described)

    def report(point: CurvePoint) -> None:
        replay = training.replay
        if replay.step == replay.length:
            state.episodes.add(replay.round, *replay.copy_round(replay.round))
            state.save_if_due(lambda: training.snapshot(request))
        hooks.report(point)

    training.run(
        report, lambda: state.save_checkpoint(training.updates, _current_model(training)), advance=hooks.advance
    )


def _best_model(training: OnlineTraining, diverged: str | None) -> TrainedModel | None:
    """The model of the best round, or of the last weights; None if these are not finite."""
    best, weights = training.best()
    if diverged is not None and best is None:
        return None
    return _build_model(training, weights, {"weights": LAST if best is None else BEST, "return": best}, diverged)


def _current_model(training: OnlineTraining) -> TrainedModel:
    weights = {name: value.clone() for name, value in training.learner.network.state_dict().items()}
    return _build_model(training, weights, {"weights": f"of update {training.updates}", "return": None}, None)


def _build_model(
    training: OnlineTraining, weights: dict[str, Tensor], kept: dict[str, Any], diverged: str | None
) -> TrainedModel:
    """A model with weights of a training and a fitted decoder, and its card."""
    return finish_model(
        training.environment,
        training.settings,
        training.device,
        weights,
        data={"transitions": training.transitions, "episodes": training.episodes},
        kept=kept,
        updates=training.updates,
        curve=training.curve,
        diverged=diverged,
    )


def finish_model(
    environment: Environment,
    settings: TDMPC2Trainer,
    device: torch.device,
    weights: dict[str, Tensor],
    **card_entries: Any,
) -> TrainedModel:
    """Fits the decoder to episodes of the policy, and measures return and errors on other episodes."""
    networks = restore_networks(lambda: blank_tdmpc2(environment, settings), weights, settings, device)
    count = DECODER_EPISODES + MEASURED_EPISODES
    seeds = episode_seeds(TRAINING_SEED_OFFSET + settings.seed, TRAINING_STARTS + count)[TRAINING_STARTS:]
    parts = seeds[:DECODER_EPISODES], seeds[DECODER_EPISODES:]
    fitted, others = (play_episodes(environment, networks, part) for part in parts)
    pairs = [(one.observations, one.actions) for one in (fitted, others)]
    errors = fit_and_measure_decoder(networks, pairs[0], pairs[1], settings)
    card = build_tdmpc2_card(
        _describe(environment),
        settings,
        device,
        errors=errors,
        returns=others.returns,
        steps=environment.spec.max_steps,
        **card_entries,
    )
    return TrainedModel(tdmpc2_model(environment, networks), card)


def _describe(environment: Environment) -> dict[str, Any]:
    return {**describe_environment(environment), "init": environment.spec.init}


def blank_tdmpc2(environment: Environment, settings: TDMPC2Trainer) -> TDMPC2WithDecoder:
    """Untrained networks of the right size for an environment."""
    spec, space = environment.spec, environment.spec.actions
    if isinstance(space, Box):
        low, high = space.low, space.high
    else:
        width = 1 if space.values is None else space.values.shape[1]
        low, high = -np.ones(width), np.ones(width)
    return build_networks(len(spec.observation), low, high, spec.max_steps, settings)


def tdmpc2_model(environment: Environment, networks: TDMPC2WithDecoder) -> TDMPC2Model:
    """The networks as a model of an environment."""
    return TDMPC2Model(networks.requires_grad_(False).eval())


def check_tdmpc2(environment: Environment, described: dict[str, Any]) -> None:
    """Raises BadInput for an environment with other observations or another width of actions."""
    check_action_repeat(environment, described)
    spec = environment.spec
    if described.get("observation") != list(spec.observation):
        raise BadInput(
            f"the checkpoint was trained on {described.get('environment')}, and {spec.name} has other observations: "
            f"{described.get('observation')} there, {list(spec.observation)} here"
        )
    space, actions = spec.actions, described.get("actions")
    bounds = actions.get("bounds") if isinstance(actions, dict) else None
    width = len(bounds[0]) if isinstance(bounds, list) and bounds and isinstance(bounds[0], list) else None
    values = space.values if isinstance(space, Finite) else None
    here = space.width if isinstance(space, Box) else None if values is None else values.shape[1]
    if width is None or width != here:
        raise BadInput(
            f"the checkpoint was trained on {described.get('environment')} with actions of width {width}; those of "
            f"{spec.name} have width {here}"
        )


UPDATES_BETWEEN_CHECKS, UPDATES_BETWEEN_REPORTS = 50, 500


class OfflineTraining:
    """Stored episodes and a learner. `run` trains until the number of updates is reached."""

    def __init__(self, episodes: Episodes, settings: TDMPC2Trainer, device: torch.device):
        if len(episodes.rewards) < 2:
            raise BadInput(
                "the stored data have 1 episode; at least 2 are required, to fit the decoder and to measure its error"
            )
        self.episodes, self.settings, self.device = episodes, settings, device
        self.length = episodes.rewards.shape[1]
        self.rng = TorchRng(settings.seed, device)
        with self.rng.active():
            network = self._blank().agent.to(device)
        self.learner = Learner(network, settings, discount_of(self.length), capturable=device.type == "cuda")
        arrays = episodes.observations, episodes.actions, episodes.rewards
        self.updates = UpdateLoop(self.learner, Replay.of(*arrays, settings.horizon, device))
        self.curve: list[CurvePoint] = []
        self.last_finite = 0, self._copy_weights()  # updates, and the weights after them

    def run(
        self,
        report: Callable[[CurvePoint], None] = lambda point: None,
        checkpoint_updates: tuple[int, ...] = (),
        on_checkpoint: Callable[[], None] = lambda: None,
        advance: Callable[[int], None] = lambda updates: None,
    ) -> None:
        """Runs the updates.

        `report` is called every UPDATES_BETWEEN_REPORTS updates and at the end, `on_checkpoint` after each of
        `checkpoint_updates`, and `advance` with the number of updates just done.
        """
        begin, last = time.perf_counter() - (self.curve[-1].seconds if self.curve else 0.0), self.settings.updates
        while self.updates.done < last:
            before = self.updates.done
            next_check = before - before % UPDATES_BETWEEN_CHECKS + UPDATES_BETWEEN_CHECKS
            after = min(last, next_check, *(one for one in checkpoint_updates if one > before))
            with self.rng.active():
                self.updates.run_until(after, at_most=after)
            advance(after - before)
            losses = self.learner.named_losses()
            if self.learner.non_finite_updates.item() > 0:
                raise divergence_error(after, losses)
            self.last_finite = after, self._copy_weights()
            point = CurvePoint(after, self.episodes.rewards.size, time.perf_counter() - begin, None, losses)
            if after in checkpoint_updates:
                on_checkpoint()
            if after % UPDATES_BETWEEN_REPORTS == 0 or after == last:
                self.curve.append(point)
                report(point)

    def build_model(self, diverged: str | None = None) -> TrainedModel:
        """A model with the last finite weights and a decoder fitted to stored episodes, and its card."""
        updates, weights = self.last_finite
        networks = restore_networks(self._blank, weights, self.settings, self.device)
        order = np.random.default_rng(self.settings.seed).permutation(len(self.episodes.rewards))
        observations, actions = self.episodes.observations, self.episodes.unscaled_actions
        half = min(DECODER_EPISODES, len(order) // 2)
        pairs = [(observations[part], actions[part]) for part in (order[:half], order[half : 2 * half])]
        errors = fit_and_measure_decoder(networks, pairs[0], pairs[1], self.settings)
        card = build_tdmpc2_card(
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
            without=ONLINE_SETTINGS,
        )
        return TrainedModel(TDMPC2Model(networks.requires_grad_(False).eval()), card)

    def snapshot(self, request: dict[str, Any]) -> TrainingSnapshot:
        """The current state of the training."""
        tensors = {**add_prefix("learner", self.learner.tensors()), **add_prefix("draws", self.rng.tensors())}
        return TrainingSnapshot(request, tensors, self.updates.done, 0, 0, None, self.curve)

    def restore(self, snapshot: TrainingSnapshot) -> None:
        """Restores the state from a snapshot."""
        self.learner.load(select_prefix("learner", snapshot.tensors))
        self.rng.load(select_prefix("draws", snapshot.tensors))
        self.updates.done, self.curve = snapshot.updates, list(snapshot.curve)
        self.last_finite = snapshot.updates, self._copy_weights()

    def _copy_weights(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.learner.network.state_dict().items()}

    def _blank(self) -> TDMPC2WithDecoder:
        low, high = self.episodes.bounds
        return build_networks(self.episodes.observations.shape[-1], low, high, self.length, self.settings)


def train_tdmpc2_offline(
    episodes: Episodes,
    settings: TDMPC2Trainer,
    device: torch.device,
    hooks: TrainingHooks | None = None,
) -> TrainedModel:
    """Trains from stored episodes. With `hooks.state`, an unfinished training is resumed.

    Raises DivergenceError for a loss that is not finite. The error contains the model of the last finite weights.
    """
    hooks = hooks or TrainingHooks()
    with limit_threads(settings.threads), use_device(device), explain_out_of_memory(settings, online=False):
        training = OfflineTraining(episodes, settings, device)
        return complete_training(training, hooks, _run_stored_offline, training.build_model)


def _run_stored_offline(training: OfflineTraining, state: TrainingState, hooks: TrainingHooks) -> None:
    """Resumes or begins a training, and stores its snapshots and checkpoints."""
    request: dict[str, Any] = {"data": training.episodes.sha256, **training.settings.learning_settings}
    request["checkpoints"] = state.checkpoints
    state.resume(request, training.restore)

    def report(point: CurvePoint) -> None:
        state.save_if_due(lambda: training.snapshot(request))
        hooks.report(point)

    def save_checkpoint() -> None:
        state.save_checkpoint(training.updates.done, training.build_model())

    training.run(report, state.checkpoint_updates(training.settings.updates), save_checkpoint, hooks.advance)
