"""The end of a TD-MPC2 training (decoder, rounding to half precision, card), and its stored state to resume from."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from wmel.catalog import TRAINERS
from wmel.contract.trainer import TrainedModel, UnwrittenModel
from wmel.errors import BadInput, CannotWrite
from wmel.machine import versions_in_use
from wmel.models.tdmpc2.model import TDMPC2WithDecoder
from wmel.models.tdmpc2.network import SIZES, TDMPC2
from wmel.training.checkpoints import CARD, CHECKPOINTS, remove_checkpoint, remove_file, write_checkpoint, write_tensors
from wmel.training.stored_episodes import EpisodesFolder
from wmel.training.tdmpc2.learner import DivergenceError, TorchRng
from wmel.training.tdmpc2.trainer import CurvePoint, TDMPC2Trainer, discount_of

BATCH, LEARNING_RATE = 256, 1e-3  # of the decoder, as in the wmel 0.18 repository
DECODER_EPISODES = 10
Pair = tuple[np.ndarray, np.ndarray]  # observations [E,L+1,O] and actions [E,L,A]


def decoder_pairs(networks: TDMPC2WithDecoder, observations: np.ndarray, actions: np.ndarray) -> tuple[Tensor, Tensor]:
    """Latents and the observations that they should decode to, from episodes [E,L+1,O], [E,L,A].

    The latents are the encodings of all observations, and the one-step predictions of all but the first observation.
    Actions are in the units of the environment.
    """
    device = networks.low.device
    targets = torch.as_tensor(observations, dtype=torch.float32, device=device)
    scaled = networks.scale_actions(torch.as_tensor(actions, dtype=torch.float32, device=device))
    with torch.no_grad():
        latents = networks.agent.encode(targets)
        predicted = networks.agent.next(latents[:, :-1], scaled)
    pairs = [(latents, targets), (predicted, targets[:, 1:])]
    return torch.cat([latent.flatten(0, 1) for latent, _ in pairs]), torch.cat([one.flatten(0, 1) for _, one in pairs])


def fit_decoder(networks: TDMPC2WithDecoder, latents: Tensor, observations: Tensor, seed: int, steps: int) -> None:
    """Fits the decoder to latents [n,Z] and observations [n,O]."""
    generator = torch.Generator(device=latents.device).manual_seed(seed)
    optimiser = torch.optim.Adam(networks.decoder.parameters(), lr=LEARNING_RATE, fused=True)
    for _ in range(steps):
        rows = torch.randint(len(latents), (BATCH,), generator=generator, device=latents.device)
        loss = torch.nn.functional.mse_loss(networks.decoder(latents[rows]), observations[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()


def decoder_error(networks: TDMPC2WithDecoder, latents: Tensor, observations: Tensor) -> float:
    """The mean squared error of the decoder on latents [n,Z] and observations [n,O]."""
    with torch.no_grad():
        parts = zip(latents.split(1 << 16), observations.split(1 << 16), strict=True)
        squares = sum((networks.decoder(latent) - target).square().sum() for latent, target in parts)
    return float(squares) / observations.numel()


def build_networks(
    observation: int, low: np.ndarray, high: np.ndarray, steps: int, settings: TDMPC2Trainer
) -> TDMPC2WithDecoder:
    """Untrained networks for a width of observations, bounds of actions [A], and a length of episodes."""
    network = TDMPC2(observation, len(low), SIZES[settings.size], settings.activation, settings.latent_norm)
    bounds = (torch.tensor(bound, dtype=torch.float32) for bound in (low, high))  # copies: load_state_dict writes there
    return TDMPC2WithDecoder(network, *bounds, discount=discount_of(steps))


def restore_networks(
    blank: Callable[[], TDMPC2WithDecoder], weights: dict[str, Tensor], settings: TDMPC2Trainer, device: torch.device
) -> TDMPC2WithDecoder:
    """Networks with the weights of a training and an untrained decoder. Only the decoder requires gradients."""
    with TorchRng(settings.seed, device).active():
        networks = blank().to(device)
    networks.agent.load_state_dict(weights)
    if settings.half:
        round_to_half(networks.agent)
    networks.agent.requires_grad_(False).eval()
    return networks


@torch.no_grad()
def round_to_half(network: nn.Module) -> None:
    """Rounds the weights to half precision, so that a checkpoint in half precision is the same model."""
    for name, weight in network.named_parameters():
        if not weight.half().isfinite().all():
            raise BadInput(f"{name} has weights beyond the range of half precision: train without --half")
        weight.copy_(weight.half())


def stored_weights(trained: TrainedModel) -> dict[str, Tensor]:
    """The weights as a checkpoint stores them: parameters in half precision if the training rounded them."""
    network = trained.model.network
    halved = {name for name, _ in network.named_parameters()} if trained.card["fit"]["half"] else set()
    return {name: value.half() if name in halved else value for name, value in network.state_dict().items()}


def fit_and_measure_decoder(
    networks: TDMPC2WithDecoder, episodes: Pair, others: Pair, settings: TDMPC2Trainer
) -> dict[str, float | None]:
    """Fits the decoder to episodes. Returns its mean squared errors on these and on other episodes."""
    fitted, held_out = (decoder_pairs(networks, *some) for some in (episodes, others))
    fit_decoder(networks, *fitted, settings.seed, settings.decoder_steps)
    if settings.half:
        round_to_half(networks.decoder)
    return {
        "decoder_mse": _finite_or_none(decoder_error(networks, *fitted)),
        "held_out_decoder_mse": _finite_or_none(decoder_error(networks, *held_out)),
    }


def build_tdmpc2_card(
    described: dict[str, Any],
    settings: TDMPC2Trainer,
    device: torch.device,
    *,
    data: dict[str, Any],
    errors: dict[str, Any],
    kept: dict[str, Any],
    returns: np.ndarray | None,
    updates: int,
    steps: int,
    curve: list[CurvePoint],
    diverged: str | None = None,
    without: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The card of a trained model.

    `described` is the description of the environment, `steps` the length of its episodes, `kept` the origin of the
    weights, and `without` are settings that had no effect.
    """
    shape = {name: getattr(settings, name) for name in ("size", "activation", "latent_norm")}
    described = dict(described)
    policy_return = None if returns is None else {
        "mean": _finite_or_none(returns.mean()),
        "deviation": _finite_or_none(returns.std(ddof=1)),
        "episodes": len(returns),
    }  # fmt: skip
    return {
        "environment": described["environment"],
        "init": described.pop("init", None),
        "model": {**described, "kind": "tdmpc2", **shape},
        "trainer": TRAINERS.describe(settings),
        "data": data,
        "errors": errors,
        "kept": kept,
        "policy_return": policy_return,
        "fit": {
            **{name: value for name, value in settings.learning_settings.items() if name not in without},
            "discount": discount_of(steps),
            "device": device.type,
            "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
            "updates_taken": updates,
            "diverged": diverged,
        },
        "curve": [asdict(point) for point in curve],
        "versions": versions_in_use(),
    }


def _finite_or_none(value: float) -> float | None:
    """None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


SNAPSHOT_FILE = "unfinished.safetensors"
EPISODES = "episodes"
SHAPE_ERRORS = ("loading state_dict", "must match", "expected shape", "wrong size")  # messages of torch
SECONDS_BETWEEN_SAVES = 30.0


@dataclass(eq=False)
class TrainingSnapshot:
    """An unfinished training: its tensors by name, and all other data."""

    request: dict[str, Any]  # the settings and the data of the training
    tensors: dict[str, Tensor]
    updates: int
    episodes: int
    rounds: int  # complete rounds of episodes
    best_return: float | None
    curve: list[CurvePoint] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Writes the snapshot in place of an earlier one."""
        counts = {name: getattr(self, name) for name in ("updates", "episodes", "rounds", "best_return")}
        data = {"asked": self.request, **counts, "curve": [asdict(point) for point in self.curve]}
        write_tensors(folder / SNAPSHOT_FILE, self.tensors, {"unfinished": json.dumps(data)})

    def _check(self) -> None:
        """Raises ValueError for values that no training has written."""
        counts, numbers = (self.updates, self.episodes, self.rounds), [point.seconds for point in self.curve]
        numbers += [] if self.best_return is None else [self.best_return]
        if not all(type(count) is int and count >= 0 for count in counts) or self.updates > self.request.get(
            "updates", self.updates
        ):
            raise ValueError("counts")
        if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
            raise ValueError("numbers")

    @classmethod
    def read(cls, folder: Path, request: dict[str, Any]) -> "TrainingSnapshot | None":
        """The snapshot in a folder, or None. Raises BadInput for a snapshot with other settings or other data."""
        path = folder / SNAPSHOT_FILE
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                data, names = json.loads(file.metadata()["unfinished"]), list(file.keys())
                tensors = {name: file.get_tensor(name) for name in names}
            stored, curve = data.pop("asked"), [CurvePoint(**point) for point in data.pop("curve")]
            snapshot = cls(stored, tensors, curve=curve, **data)
            snapshot._check()
            differing = next((name for name in request if stored.get(name) != request[name]), None)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{path} is not a valid snapshot of a training: remove it to start again") from error
        if differing is not None:
            raise BadInput(
                f"{folder} contains an unfinished training with {differing.replace('_', ' ')} "
                f"{stored.get(differing)}, now {request[differing]}: use the same settings to resume it, or "
                f"remove {path} to start again"
            )
        return snapshot


@dataclass(eq=False)
class TrainingState:
    """The state of one training, stored in the folder of its checkpoint."""

    folder: Path
    checkpoints: int = 0  # number of intermediate checkpoints
    seconds: float = SECONDS_BETWEEN_SAVES
    resumed_from: int = 0  # updates of the snapshot that this process resumed
    saved: int | None = None  # updates of the latest snapshot
    _last_save: float = field(default_factory=time.monotonic)

    @property
    def episodes(self) -> EpisodesFolder:
        return EpisodesFolder(self.folder / EPISODES)

    def checkpoint_updates(self, updates: int) -> tuple[int, ...]:
        """The updates after which a checkpoint is written, from the first to the last."""
        return space_updates(updates, self.checkpoints)

    def resume(self, request: dict[str, Any], restore: Callable[[TrainingSnapshot], None]) -> bool:
        """Restores the unfinished training in the folder. Returns False if there is none, and a new one can begin.

        Raises BadInput for a finished training, which would be overwritten.
        """
        snapshot = TrainingSnapshot.read(self.folder, request)
        if snapshot is None:
            if (self.folder / CARD).exists():
                raise BadInput(f"{self.folder} contains a finished training: give another --output, or remove it first")
            for old in (self.folder / CHECKPOINTS).glob("*"):
                remove_checkpoint(old)
            return False
        try:
            restore(snapshot)
        except (KeyError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not any(words in str(error) for words in SHAPE_ERRORS):
                raise
            raise BadInput(f"{self.folder / SNAPSHOT_FILE} is damaged: remove it to start again") from error
        self.resumed_from = self.saved = snapshot.updates
        return True

    def save_if_due(self, snapshot: Callable[[], TrainingSnapshot]) -> None:
        """Writes a snapshot if the last one is at least `seconds` old."""
        if time.monotonic() - self._last_save >= self.seconds:
            current = snapshot()
            current.write(self.folder)
            self.saved, self._last_save = current.updates, time.monotonic()

    def save_checkpoint(self, updates: int, trained: TrainedModel) -> None:
        """Writes an intermediate checkpoint."""
        write_checkpoint(self.folder / CHECKPOINTS / f"{updates:07d}", stored_weights(trained), trained.card)

    def finish(self, trained: TrainedModel) -> None:
        """Writes the final checkpoint and removes the snapshot."""
        try:
            write_checkpoint(self.folder, stored_weights(trained), trained.card)
        except CannotWrite as error:
            raise UnwrittenModel(str(error), trained) from error
        remove_file(self.folder / SNAPSHOT_FILE)


@dataclass(frozen=True, eq=False)
class TrainingHooks:
    """What a training calls while it runs, and where it stores its state."""

    report: Callable[[CurvePoint], None] = lambda point: None  # with each new point of the training curve
    advance: Callable[[int], None] = lambda updates: None  # with the number of updates just done
    state: TrainingState | None = None  # None: no snapshots, episodes or intermediate checkpoints are written


def complete_training(
    training: Any,
    hooks: TrainingHooks,
    run_stored: Callable[[Any, TrainingState, TrainingHooks], None],
    build_model: Callable[[str | None], TrainedModel | None],
) -> TrainedModel:
    """Runs a training to its end, with its state stored if `hooks` has one.

    `build_model` returns the model of the training, given why it diverged, or None. Raises DivergenceError with that
    model for a loss that is not finite.
    """
    try:
        if hooks.state is None:
            training.run(hooks.report, advance=hooks.advance)
        else:
            run_stored(training, hooks.state, hooks)
    except DivergenceError as error:
        raise DivergenceError(str(error), build_model(str(error))) from error
    trained = build_model(None)
    assert trained is not None, "a training that did not diverge has a model"
    return trained


def space_updates(updates: int, checkpoints: int) -> tuple[int, ...]:
    """Numbers of updates from 1 to the last, evenly spaced in their logarithm, without duplicates."""
    spaced = np.geomspace(1, updates, checkpoints) if checkpoints > 1 else [updates] * checkpoints
    return tuple(sorted({round(float(one)) for one in spaced}))
