"""Training a TD-MPC2 in an environment: learn, then a decoder, then measure, then the card."""

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
from wmel.training.checkpoints import check_action_repeat, current, trained_for
from wmel.training.data import TRAINING
from wmel.training.tdmpc2.draws import TrainingMoment
from wmel.training.tdmpc2.finish import DECODER_EPISODES, card_of_tdmpc2, decoder_of, networks_for, with_weights
from wmel.training.tdmpc2.learner import Diverged
from wmel.training.tdmpc2.online import STARTS, OnlineTraining, played
from wmel.training.tdmpc2.replay import enough_memory
from wmel.training.tdmpc2.resume import Keeper
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

MEASURED_EPISODES = 64
BEST, LAST = "of the round of episodes that returned most", "the last: no round had updates from beginning to end"


def train_tdmpc2(
    environment: Environment,
    settings: TDMPC2Trainer,
    device: torch.device,
    tell: Callable[[TrainingMoment], None] = lambda moment: None,
    keeper: Keeper | None = None,
    advance: Callable[[int], None] = lambda updates: None,
) -> TrainedModel:
    """Learn online, fit the decoder to the policy's own episodes, and measure its return and errors on others.

    `tell` is called when a round of episodes ends, `advance` with the updates just done.
    With a keeper, episodes and checkpoints on the way are kept, and one that was killed goes on. Raises Diverged where
    a loss is no number; the error holds what the best weights so far make, if there are any.
    """
    with limit_threads(settings.threads), current(device), enough_memory(settings):
        stops = () if keeper is None else keeper.stops(settings.updates)
        training = OnlineTraining(environment, settings, device, stops)
        told = tell if keeper is None else _kept(training, keeper, tell)
        try:
            training.run(
                told,
                lambda: None if keeper is None else keeper.checkpoint(training.updates, _now(training)),
                advance,
            )
        except Diverged as error:
            rated = training.best()[0] is not None
            raise Diverged(str(error), _best(training, str(error)) if rated else None) from error
        return _best(training, None)


def _kept(
    training: OnlineTraining, keeper: Keeper, tell: Callable[[TrainingMoment], None]
) -> Callable[[TrainingMoment], None]:
    """Take up what a keeper has of an unfinished training; then, when a round ends, keep it and tell of it."""
    described = _described(training.environment)
    asked = {**described, **training.settings.learning, "checkpoints": keeper.checkpoints}
    if not keeper.take_up(asked, lambda start: training.go_on(start, keeper.episodes.round)):
        keeper.episodes.begin(described)

    def told(moment: TrainingMoment) -> None:
        replay = training.replay
        if replay.step == replay.length:
            keeper.episodes.add(replay.round, *replay.taken(replay.round))
            keeper.note(lambda: training.unfinished(asked))
        tell(moment)

    return told


def _best(training: OnlineTraining, diverged: str | None) -> TrainedModel:
    best, weights = training.best()
    return _finished(training, weights, {"weights": LAST if best is None else BEST, "return": best}, diverged)


def _now(training: OnlineTraining) -> TrainedModel:
    weights = {name: value.clone() for name, value in training.learner.network.state_dict().items()}
    return _finished(training, weights, {"weights": f"of update {training.updates}", "return": None}, None)


def _finished(
    training: OnlineTraining, weights: dict[str, Tensor], kept: dict[str, Any], diverged: str | None
) -> TrainedModel:
    """Weights of a training with a decoder, and their card."""
    return measured(
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


def measured(
    environment: Environment,
    settings: TDMPC2Trainer,
    device: torch.device,
    weights: dict[str, Tensor],
    **said: Any,
) -> TrainedModel:
    """Weights with a decoder fitted to episodes of their policy, measured on others; `said` is for the card."""
    networks = with_weights(lambda: blank_tdmpc2(environment, settings), weights, settings, device)
    wanted = DECODER_EPISODES + MEASURED_EPISODES
    seeds = episode_seeds(TRAINING + settings.seed, STARTS + wanted)[STARTS:]
    own, others = (played(environment, networks, some) for some in (seeds[:DECODER_EPISODES], seeds[DECODER_EPISODES:]))
    errors = decoder_of(networks, (own.observations, own.actions), (others.observations, others.actions), settings)
    described, steps = _described(environment), environment.spec.max_steps
    card = card_of_tdmpc2(described, settings, device, errors=errors, returns=others.returns, steps=steps, **said)
    return TrainedModel(tdmpc2_model(environment, networks), card)


def _described(environment: Environment) -> dict[str, Any]:
    return {**trained_for(environment), "init": environment.spec.init}


def blank_tdmpc2(environment: Environment, settings: TDMPC2Trainer) -> TDMPC2WithDecoder:
    """Networks of the right size for what an environment observes and does."""
    spec, space = environment.spec, environment.spec.actions
    if isinstance(space, Box):
        low, high = space.low, space.high
    else:
        width = 1 if space.values is None else space.values.shape[1]
        low, high = -np.ones(width), np.ones(width)
    return networks_for(len(spec.observation), low, high, spec.max_steps, settings)


def tdmpc2_model(environment: Environment, networks: TDMPC2WithDecoder) -> TDMPC2Model:
    """The networks as a model of an environment."""
    return TDMPC2Model(networks.requires_grad_(False).eval())


def check_tdmpc2(environment: Environment, described: dict[str, Any]) -> None:
    """Refuse an environment that observes something else, or whose actions have another width."""
    check_action_repeat(environment, described)
    spec = environment.spec
    if described.get("observation") != list(spec.observation):
        raise BadInput(
            f"the checkpoint was trained on {described.get('environment')}, and {spec.name} observes something else: "
            f"{described.get('observation')} there, {list(spec.observation)} here"
        )
    space, said = spec.actions, described.get("actions")
    bounds = said.get("bounds") if isinstance(said, dict) else None
    width = len(bounds[0]) if isinstance(bounds, list) and bounds and isinstance(bounds[0], list) else None
    values = space.values if isinstance(space, Finite) else None
    here = space.width if isinstance(space, Box) else None if values is None else values.shape[1]
    if width is None or width != here:
        raise BadInput(
            f"the checkpoint was trained on {described.get('environment')} with actions of {width} numbers; those of "
            f"{spec.name} have {here}"
        )
