"""What of a TD-MPC2 training can be chosen; the published coefficients by default."""

from dataclasses import dataclass
from math import inf
from typing import Any, Literal

from wmel.errors import BadInput, is_number, require, require_share, require_whole
from wmel.models.tdmpc2.network import SIZES

WHOLE = ("updates", "envs", "updates_per_step", "seed_steps", "batch", "horizon", "decoder_steps", "threads")
MOST_SEED = 10**9  # those of episodes are made of it


@dataclass(frozen=True)
class TDMPC2Settings:
    size: int = 1
    activation: Literal["mish", "relu"] = "mish"
    latent_norm: Literal["simnorm", "layernorm", "none"] = "simnorm"
    updates: int = 100_000
    envs: int = 64
    updates_per_step: int = 2  # of all environments together
    seed_steps: int = 2_500  # transitions of random actions before the first update
    batch: int = 256
    horizon: int = 3
    decay: float = 0.5  # of what later steps of the horizon count
    learning_rate: float = 3e-4
    encoder_share: float = 0.3  # of the learning rate
    clip: float = 20.0
    follow: float = 0.01  # how fast target critics follow
    consistency: float = 20.0
    reward: float = 0.1
    value: float = 0.1
    entropy: float = 1e-4
    decoder_steps: int = 5_000  # of fitting the decoder afterwards; the documents'
    half: bool = False  # whether the finished weights are rounded to half precision
    seed: int = 0
    threads: int = 1

    def __post_init__(self):
        if self.size not in SIZES:
            raise BadInput(f"TD-MPC2 comes in sizes {', '.join(map(str, SIZES))}, got {self.size}")
        require(self.activation in ("mish", "relu"), "activation must be 'mish' or 'relu'", self.activation)
        known = ("simnorm", "layernorm", "none")
        require(self.latent_norm in known, f"latent_norm must be one of {', '.join(known)}", self.latent_norm)
        for name in WHOLE:
            require_whole(getattr(self, name), name.replace("_", " "))
        require(isinstance(self.half, bool), "half must be true or false", self.half)
        require_whole(self.seed, "seed", at_least=0)
        require(self.seed <= MOST_SEED, f"seed must be at most {MOST_SEED}", self.seed)
        require_share(self.learning_rate, "the learning rate")
        for name in ("decay", "follow"):
            value = getattr(self, name)
            require(is_number(value) and 0 < value <= 1, f"{name} must lie in (0, 1]", value)
        for name in ("encoder_share", "clip"):
            value = getattr(self, name)
            require(is_number(value) and 0 < value < inf, f"{name.replace('_', ' ')} must be positive", value)
        for name in ("consistency", "reward", "value", "entropy"):
            value = getattr(self, name)
            require(is_number(value) and 0 <= value < inf, f"the weight of {name} must not be negative", value)

    @classmethod
    def of_card(cls, described: dict[str, Any]) -> "TDMPC2Settings":
        """The size and the kind of layers, as the card of a checkpoint has them."""
        return cls(described["size"], described["activation"], described["latent_norm"])


def discount_of(steps: int) -> float:
    """The published rule: what is worth looking ahead for in an episode of so many decisions."""
    return min(max((steps / 5 - 1) / (steps / 5), 0.95), 0.995)
