"""tdmpc2: TD-MPC2, which learns as it plays or from stored episodes; the published coefficients by default."""

from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from wmel.contract.environment import Environment
from wmel.contract.trainer import ProgressListener, TrainedModel
from wmel.errors import BadInput
from wmel.models.tdmpc2.network import SIZES
from wmel.parts import check_settings, refuse_unknown_settings, setting

if TYPE_CHECKING:
    from wmel.models.tdmpc2.model import TDMPC2Model, TDMPC2WithDecoder
    from wmel.training.tdmpc2.draws import TrainingMoment

MOST_SEED = 10**9  # the seeds of episodes are made of it
MOST_CHECKPOINTS = 10_000
UPDATES_TRIED = 2, 6  # of trainings by which the time of one is forecast
PLAYING = ("envs", "updates_per_step", "seed_steps")  # settings that stored episodes have no use for
PLACES = ("data", "device", "checkpoints")  # what is learned from, where, and what is kept: not how


@refuse_unknown_settings
@dataclass(frozen=True)
class TDMPC2Trainer:
    """TrainedModel online in batched MuJoCo, or offline from the episodes another training kept."""

    size: Literal[tuple(SIZES)] = setting(1, "millions of weights")  # pyright: ignore[reportInvalidTypeForm]
    activation: Literal["mish", "relu"] = setting("mish", "of the hidden layers")
    latent_norm: Literal["simnorm", "layernorm", "none"] = setting("simnorm", "how latents are normalised")
    updates: int = setting(100_000, "steps of learning", at_least=1)
    envs: int = setting(64, "episodes played at a time", at_least=1)
    updates_per_step: int = setting(2, "updates for each decision of all episodes together", at_least=1)
    seed_steps: int = setting(2_500, "transitions of random actions before the first update", at_least=1)
    batch: int = setting(256, "windows per update", at_least=1)
    horizon: int = setting(3, "steps of a window", at_least=1)
    decay: float = setting(0.5, "what a later step of a window counts, of the one before", above=0, at_most=1)
    learning_rate: float = setting(3e-4, "of Adam", above=0, below=1)
    encoder_share: float = setting(0.3, "learning rate of the encoder, as a share", above=0, below=inf)
    clip: float = setting(20.0, "largest norm of a gradient", above=0, below=inf)
    follow: float = setting(0.01, "how fast target critics follow", above=0, at_most=1)
    consistency: float = setting(20.0, "weight of the consistency loss", at_least=0, below=inf)
    reward: float = setting(0.1, "weight of the reward loss", at_least=0, below=inf)
    value: float = setting(0.1, "weight of the value loss", at_least=0, below=inf)
    entropy: float = setting(1e-4, "weight of the policy's entropy", at_least=0, below=inf)
    decoder_steps: int = setting(5_000, "steps of fitting its decoder afterwards", at_least=1)
    half: bool = setting(False, "round the finished weights to half precision")
    seed: int = setting(0, "of the episodes, the weights and the noise", at_least=0, at_most=MOST_SEED)
    threads: int = setting(1, "threads to learn with", at_least=1)
    checkpoints: int = setting(
        0, "checkpoints on the way, evenly in the logarithm of the updates", at_least=0, at_most=MOST_CHECKPOINTS
    )
    data: str | None = setting(None, "folder of stored episodes to learn from, instead of playing")
    device: str = setting("cpu", "where it learns: cpu, cuda, cuda:1")

    kind: ClassVar[str] = "tdmpc2"
    rollouts: ClassVar[tuple[str, ...]] = ("latent", "decoded")

    def __post_init__(self):
        check_settings(self)
        for name in PLAYING:
            if self.data is not None and getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise BadInput(f"stored episodes are as they were played: leave out {name}")

    @property
    def learning(self) -> dict[str, Any]:
        """The settings that decide what is learned from the same data."""
        return {name: value for name, value in asdict(self).items() if name not in PLACES}

    @property
    def checkpoint_updates(self) -> tuple[int, ...]:
        """From the first update to the last."""
        from wmel.training.tdmpc2.resume import spaced_updates

        return spaced_updates(self.updates, self.checkpoints)

    def learns_from_stored(self) -> bool:
        return self.data is not None

    def resolve(self, environment: Environment) -> Self:
        from wmel.training.stored_episodes import EpisodesFolder
        from wmel.training.tdmpc2.online import rewarded_actions

        if self.data is None:
            rewarded_actions(environment)
        else:
            self._check_played(EpisodesFolder(Path(self.data)).description(), environment)
        return self

    def train(self, environment: Environment | None, folder: Path, listener: ProgressListener) -> TrainedModel:
        """Play in an environment, or learn from stored episodes, which need none."""
        from wmel.training.checkpoints import usable_device
        from wmel.training.tdmpc2.learner import Diverged
        from wmel.training.tdmpc2.resume import Keeper

        device, keeper = usable_device(self.device), Keeper(folder, self.checkpoints)
        train, name = self._source(environment)
        listener.begin(f"tdmpc2 in {name}", self.updates, "updates")
        done = 0

        def advance(updates: int) -> None:
            nonlocal done
            if not done and keeper.begun:
                listener.advance(keeper.begun)
                listener.note(f"going on from update {keeper.begun}")
            done += updates
            listener.advance(updates)

        try:
            made = train(self, device, lambda moment: listener.note(_words(moment, self.updates)), keeper, advance)
        except Diverged as error:
            if error.best is None:
                raise BadInput(f"{error}; no weights are written: none were rated before") from error
            keeper.finish(error.best)
            raise BadInput(f"{error}; the best weights before that are kept in {folder}") from error
        except KeyboardInterrupt:
            if keeper.saved is not None:
                listener.note(f"the same command goes on from update {keeper.saved}")
            raise
        keeper.finish(made)
        return made

    def forecast(self, environment: Environment) -> float:
        """Seconds of learning, by a line through two short trainings; fitting the decoder comes on top."""
        few, more = (self._try(environment, updates) for updates in UPDATES_TRIED)
        each = max(0.0, more - few) / (UPDATES_TRIED[1] - UPDATES_TRIED[0])
        return few + each * max(0, self.updates - UPDATES_TRIED[0])

    def _try(self, environment: Environment, updates: int) -> float:
        """Seconds of a training with so many updates that nothing is kept of."""
        import time

        from wmel.training.checkpoints import usable_device
        from wmel.training.stored_episodes import EpisodesFolder
        from wmel.training.tdmpc2.offline import OfflineTraining
        from wmel.training.tdmpc2.online import OnlineTraining

        short, device = replace(self, updates=updates), usable_device(self.device)
        begin = time.perf_counter()
        if self.data is None:
            OnlineTraining(environment, short, device, ()).run()
        else:
            OfflineTraining(EpisodesFolder(Path(self.data)).read(), short, device).run()
        return time.perf_counter() - begin

    def _source(self, environment: Environment | None) -> tuple[Any, str]:
        """How to train, and the name of what is learned."""
        from functools import partial

        from wmel.training.stored_episodes import EpisodesFolder
        from wmel.training.tdmpc2.offline import train_tdmpc2_offline
        from wmel.training.tdmpc2.train import train_tdmpc2

        if self.data is None:
            if environment is None:
                raise BadInput("say which environment is to be learned, or give data")
            return partial(train_tdmpc2, environment), environment.spec.name
        episodes = EpisodesFolder(Path(self.data)).read()
        self._check_played(episodes.described, environment)
        return partial(train_tdmpc2_offline, episodes), f"{episodes.described['environment']} (stored episodes)"

    def _check_played(self, described: dict[str, Any], environment: Environment | None) -> None:
        """Refuse stored episodes of another environment."""
        played = described["environment"]
        if environment is not None and environment.spec.name != played:
            raise BadInput(f"the episodes in {self.data} were played in {played}, not in {environment.spec.name}")

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
        """The size and the kind of layers, as the card of a checkpoint has them."""
        return cls(described["size"], described["activation"], described["latent_norm"])


def _words(moment: "TrainingMoment", wanted: int) -> str:
    returned = "" if moment.mean_return is None else f"return {moment.mean_return:.1f}, "
    losses = ", ".join(f"{name} {value:.3g}" for name, value in moment.losses.items())
    rate = moment.updates / moment.seconds if moment.seconds > 0 else 0.0
    left = f", {(wanted - moment.updates) / rate / 60:.1f} min left" if rate else ""
    return f"{moment.updates} updates ({rate:.0f}/s{left}), {moment.transitions} transitions: {returned}{losses}"


def discount_of(steps: int) -> float:
    """The published rule: what is worth looking ahead for in an episode of so many decisions."""
    return min(max((steps / 5 - 1) / (steps / 5), 0.95), 0.995)
