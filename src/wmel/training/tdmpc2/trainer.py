"""tdmpc2: TD-MPC2, trained online or from stored episodes, with the published coefficients as defaults."""

from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from wmel.contract.environment import Environment
from wmel.contract.trainer import ProgressListener, TrainedModel
from wmel.errors import BadInput
from wmel.models.tdmpc2.network import SIZES
from wmel.parts import check_settings, refuse_unknown_settings, setting
from wmel.settings import MAX_COUNT, MAX_THREADS

if TYPE_CHECKING:
    from wmel.models.tdmpc2.model import TDMPC2Model, TDMPC2WithDecoder

MAX_SEED = 10**9  # episode seeds are computed from the seed
MAX_CHECKPOINTS = 10_000
FORECAST_UPDATES = 2, 6  # of the two short trainings that a forecast extrapolates
ONLINE_SETTINGS = ("envs", "updates_per_step", "seed_steps")  # without effect on stored episodes
LOCATION_SETTINGS = ("data", "device", "checkpoints")  # do not decide what is learned from the same data


@dataclass(frozen=True)
class CurvePoint:
    """A point of a training curve: the counts and losses after some updates."""

    updates: int
    transitions: int
    seconds: float
    mean_return: float | None  # of the round that just ended
    losses: dict[str, float]


@refuse_unknown_settings
@dataclass(frozen=True)
class TDMPC2Trainer:
    """Trains online in a batch of environments, or offline from the stored episodes of another training."""

    size: Literal[tuple(SIZES)] = setting(1, "millions of weights")  # pyright: ignore[reportInvalidTypeForm]
    activation: Literal["mish", "relu"] = setting("mish", "of the hidden layers")
    latent_norm: Literal["simnorm", "layernorm", "none"] = setting("simnorm", "how latents are normalised")
    updates: int = setting(100_000, "gradient updates", at_least=1)
    envs: int = setting(64, "environments stepped in parallel", at_least=1, cap=MAX_COUNT)
    updates_per_step: int = setting(2, "updates per step of the parallel environments", at_least=1, cap=MAX_COUNT)
    seed_steps: int = setting(2_500, "transitions of random actions before the first update", at_least=1)
    batch: int = setting(256, "windows per update", at_least=1, cap=MAX_COUNT)
    horizon: int = setting(3, "steps of a window", at_least=1, cap=MAX_COUNT)
    decay: float = setting(0.5, "weight of a step of a window relative to the step before", above=0, at_most=1)
    learning_rate: float = setting(3e-4, "of Adam", above=0, below=1)
    encoder_share: float = setting(0.3, "learning rate of the encoder, relative to the others", above=0, below=inf)
    clip: float = setting(20.0, "maximum norm of a gradient", above=0, below=inf)
    follow: float = setting(0.01, "update rate of the target critics", above=0, at_most=1)
    consistency: float = setting(20.0, "weight of the consistency loss", at_least=0, below=inf)
    reward: float = setting(0.1, "weight of the reward loss", at_least=0, below=inf)
    value: float = setting(0.1, "weight of the value loss", at_least=0, below=inf)
    entropy: float = setting(1e-4, "weight of the policy's entropy", at_least=0, below=inf)
    decoder_steps: int = setting(
        5_000, "updates of the decoder, which is fitted after the training", at_least=1, cap=MAX_COUNT
    )
    half: bool = setting(False, "round the final weights to half precision")
    seed: int = setting(0, "of the episodes, the weights and the noise", at_least=0, at_most=MAX_SEED)
    threads: int = setting(1, "threads of the training", at_least=1, cap=MAX_THREADS)
    checkpoints: int = setting(
        0,
        "intermediate checkpoints, evenly spaced in the logarithm of the updates",
        at_least=0,
        at_most=MAX_CHECKPOINTS,
    )
    data: str | None = setting(None, "folder of stored episodes for offline training; none: train online")
    device: str = setting("cpu", "device of the training: cpu, cuda, cuda:1")

    kind: ClassVar[str] = "tdmpc2"
    rollouts: ClassVar[tuple[str, ...]] = ("latent", "decoded")

    def __post_init__(self):
        check_settings(self)
        for name in ONLINE_SETTINGS:
            if self.data is not None and getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise BadInput(f"{name} has no effect on stored episodes: leave it out")

    @property
    def learning_settings(self) -> dict[str, Any]:
        """The settings that decide what is learned from the same data."""
        return {name: value for name, value in asdict(self).items() if name not in LOCATION_SETTINGS}

    @property
    def checkpoint_updates(self) -> tuple[int, ...]:
        """The updates after which a checkpoint is written, from the first to the last."""
        from wmel.training.tdmpc2.resume import space_updates

        return space_updates(self.updates, self.checkpoints)

    def learns_from_stored(self) -> bool:
        return self.data is not None

    def resolve(self, environment: Environment) -> Self:
        from wmel.training.stored_episodes import EpisodesFolder
        from wmel.training.tdmpc2.online import require_action_box

        if self.data is None:
            require_action_box(environment)
        else:
            self._check_environment(EpisodesFolder(Path(self.data)).description(), environment)
        return self

    def train(self, environment: Environment | None, folder: Path, listener: ProgressListener) -> TrainedModel:
        """Trains in an environment, or from stored episodes without an environment."""
        from wmel.training.checkpoints import parse_device
        from wmel.training.tdmpc2.learner import DivergenceError
        from wmel.training.tdmpc2.resume import TrainingHooks, TrainingState

        device, state = parse_device(self.device), TrainingState(folder, self.checkpoints)
        train, name = self._training_function(environment)
        listener.begin(f"tdmpc2 in {name}", self.updates, "updates")
        done = 0

        def report(point: CurvePoint) -> None:
            listener.note(_format_point(point, self.updates))

        def advance(updates: int) -> None:
            nonlocal done
            if not done and state.resumed_from:
                listener.advance(state.resumed_from)
                listener.note(f"resumed from update {state.resumed_from}")
            done += updates
            listener.advance(updates)

        try:
            trained = train(self, device, TrainingHooks(report, advance, state))
        except DivergenceError as error:
            if error.best is None:
                raise BadInput(f"{error}; no weights were written, because none were evaluated before") from error
            state.finish(error.best)
            raise BadInput(f"{error}; the best weights before that were written to {folder}") from error
        except KeyboardInterrupt:
            if state.saved is not None:
                listener.note(f"the same command resumes from update {state.saved}")
            raise
        state.finish(trained)
        return trained

    def forecast(self, environment: Environment) -> float:
        """The approximate seconds of the updates, extrapolated from two short trainings, without the decoder."""
        few, more = (self._time_training(environment, updates) for updates in FORECAST_UPDATES)
        each = max(0.0, more - few) / (FORECAST_UPDATES[1] - FORECAST_UPDATES[0])
        return few + each * max(0, self.updates - FORECAST_UPDATES[0])

    def _time_training(self, environment: Environment, updates: int) -> float:
        """The seconds of a training with few updates. Its result is discarded."""
        import time

        from wmel.training.checkpoints import parse_device
        from wmel.training.stored_episodes import EpisodesFolder
        from wmel.training.tdmpc2.online import OnlineTraining
        from wmel.training.tdmpc2.train import OfflineTraining

        short, device = replace(self, updates=updates), parse_device(self.device)
        begin = time.perf_counter()
        if self.data is None:
            OnlineTraining(environment, short, device).run()
        else:
            OfflineTraining(EpisodesFolder(Path(self.data)).read(), short, device).run()
        return time.perf_counter() - begin

    def _training_function(self, environment: Environment | None) -> tuple[Any, str]:
        """The function that trains, and the name of its environment."""
        from functools import partial

        from wmel.training.stored_episodes import EpisodesFolder
        from wmel.training.tdmpc2.train import train_tdmpc2, train_tdmpc2_offline

        if self.data is None:
            if environment is None:
                raise BadInput("tdmpc2 requires an environment, or stored episodes in data")
            return partial(train_tdmpc2, environment), environment.spec.name
        episodes = EpisodesFolder(Path(self.data)).read()
        self._check_environment(episodes.described, environment)
        return partial(train_tdmpc2_offline, episodes), f"{episodes.described['environment']} (stored episodes)"

    def _check_environment(self, described: dict[str, Any], environment: Environment | None) -> None:
        """Raises BadInput for stored episodes of another environment."""
        stored = described["environment"]
        if environment is not None and environment.spec.name != stored:
            raise BadInput(f"the episodes in {self.data} are of {stored}, not of {environment.spec.name}")

    def blank(self, environment: Environment) -> "TDMPC2WithDecoder":
        from wmel.training.tdmpc2.train import blank_tdmpc2

        return blank_tdmpc2(environment, self)

    def model(self, environment: Environment, network: "TDMPC2WithDecoder") -> "TDMPC2Model":
        from wmel.training.tdmpc2.train import tdmpc2_model

        return tdmpc2_model(environment, network)

    def check(self, environment: Environment, described: dict[str, Any]) -> None:
        from wmel.training.tdmpc2.train import check_tdmpc2

        check_tdmpc2(environment, described)

    @classmethod
    def of_card(cls, described: dict[str, Any]) -> Self:
        """The trainer of a network with the size and the layers on the card of a checkpoint."""
        return cls(described["size"], described["activation"], described["latent_norm"])


def _format_point(point: CurvePoint, updates: int) -> str:
    mean_return = "" if point.mean_return is None else f"return {point.mean_return:.1f}, "
    losses = ", ".join(f"{name} {value:.3g}" for name, value in point.losses.items())
    rate = point.updates / point.seconds if point.seconds > 0 else 0.0
    left = f", {(updates - point.updates) / rate / 60:.1f} min left" if rate else ""
    return f"{point.updates} updates ({rate:.0f}/s{left}), {point.transitions} transitions: {mean_return}{losses}"


def discount_of(steps: int) -> float:
    """The discount factor for episodes of some length, by the rule of the published code."""
    return min(max((steps / 5 - 1) / (steps / 5), 0.95), 0.995)
